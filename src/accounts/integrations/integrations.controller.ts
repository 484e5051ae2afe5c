import { Body, Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ApplicationAuth, ApplicationId } from '../../platform/auth/access.decorators.ts';
import { successView } from '../../platform/wire/wire.schema.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiBetaErrors } from '../../platform/http/errors/error.schema.ts';
import { toIntegrationEnvelope, toIntegrationListView } from './integrations.mapper.ts';
import {
  type CreateIntegration,
  createIntegrationSchema,
  integrationEnvelope,
  integrationListView,
  type ListIntegrations,
  listIntegrationsSchema,
  toIntegrationChange,
  toNewIntegration,
  type UpdateIntegration,
  updateIntegrationSchema,
} from './integrations.schema.ts';
import { IntegrationsService } from './integrations.service.ts';

@ApiTags('integrations')
@ApplicationAuth()
@Controller('connect/integrations')
export class IntegrationsController {
  constructor(private readonly integrations: IntegrationsService) {}

  @Get()
  @Endpoint({ summary: 'List integrations, oldest first', response: integrationListView })
  async list(
    @ApplicationId() applicationId: string,
    @Query({ schema: listIntegrationsSchema }) query: ListIntegrations,
  ) {
    const { provider } = query;
    return toIntegrationListView(
      await this.integrations.list(applicationId, query, provider),
      query,
    );
  }

  @Post()
  @ApiBetaErrors(409)
  @Endpoint({
    summary: 'Register a provider',
    description:
      'One integration per provider. A second one is refused with 409 `integration.already_exists`.',
    response: integrationEnvelope,
  })
  async create(
    @ApplicationId() applicationId: string,
    @Body({ schema: createIntegrationSchema }) body: CreateIntegration,
  ) {
    return toIntegrationEnvelope(
      await this.integrations.create(applicationId, toNewIntegration(body)),
    );
  }

  @Get(':provider')
  @ApiBetaErrors(404)
  @Endpoint({ summary: 'Read an integration by provider or id', response: integrationEnvelope })
  async get(@ApplicationId() applicationId: string, @Param('provider') key: string) {
    return toIntegrationEnvelope(await this.integrations.get(applicationId, key));
  }

  @Patch(':provider')
  @ApiBetaErrors(404)
  @Endpoint({
    summary: 'Change an integration by provider or id',
    description:
      'Send any subset of the fields; settings are changed one by one. New scopes apply to grants without scopes of their own, as far as their users have agreed to them.',
    response: integrationEnvelope,
  })
  async update(
    @ApplicationId() applicationId: string,
    @Param('provider') key: string,
    @Body({ schema: updateIntegrationSchema }) body: UpdateIntegration,
  ) {
    return toIntegrationEnvelope(
      await this.integrations.update(applicationId, key, toIntegrationChange(body)),
    );
  }

  @Delete(':provider')
  @ApiBetaErrors(404)
  @Endpoint({
    summary: 'Remove an integration by provider or id',
    description:
      'Its grants stay connected, but grants that signed in by OAuth get no fresh tokens. To connect new accounts, register the provider again.',
    response: successView,
  })
  async remove(@ApplicationId() applicationId: string, @Param('provider') key: string) {
    await this.integrations.remove(applicationId, key);
    return { success: true };
  }
}
