import { Body, Controller, Delete, Get, Param, Post } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import { ApplicationId, ApplicationSecretAuth } from '../../auth/access.decorators.ts';
import { Endpoint } from '../../http/endpoint.decorator.ts';
import { ApiErrors } from '../../http/errors/error.schema.ts';
import { successView } from '../../wire/wire.schema.ts';
import { toCreatedWebhookSecretView, toWebhookSecretView } from './webhook-secrets.mapper.ts';
import {
  type CreateWebhookSecret,
  createdWebhookSecretView,
  createWebhookSecretSchema,
  webhookSecretsView,
} from './webhook-secrets.schema.ts';
import { WebhookSecretsService } from './webhook-secrets.service.ts';

@ApiTags('webhooks')
@ApiParam({ name: 'client_id' })
@ApplicationSecretAuth()
@Controller('a/:client_id/webhooks/:id/secrets')
export class WebhookSecretsController {
  constructor(private readonly secrets: WebhookSecretsService) {}

  @Get()
  @ApiErrors(404)
  @Endpoint({
    summary: 'List the valid signing secrets of a webhook, without their values',
    description: 'Oldest first, at most 5. While there are none, the client secret signs.',
    response: webhookSecretsView,
  })
  async list(@ApplicationId() applicationId: string, @Param('id') id: string) {
    return (await this.secrets.list(applicationId, id)).map(toWebhookSecretView);
  }

  @Post()
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Create a signing secret of a webhook, which replaces the earlier ones',
    description:
      'The new secret signs `webhook-signature` at once. The secrets before it sign as well for `previous_expires_in` seconds, so that a receiver with either can check deliveries. With the first secret of a webhook this holds for the client secret. `X-Nylas-Signature` is always made with the client secret.',
    response: createdWebhookSecretView,
  })
  async create(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Body({ schema: createWebhookSecretSchema }) body: CreateWebhookSecret,
  ) {
    const created = await this.secrets.create(applicationId, id, body.previous_expires_in);
    return toCreatedWebhookSecretView(created);
  }

  @Delete(':secret_id')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Delete a signing secret of a webhook',
    description: 'It signs nothing more. After the last one, the client secret signs again.',
    response: successView,
  })
  async delete(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Param('secret_id') secretId: string,
  ) {
    await this.secrets.delete(applicationId, id, secretId);
    return { success: true };
  }
}
