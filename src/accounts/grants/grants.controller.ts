import { Body, Controller, Delete, Get, Headers, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ApplicationAuth, ApplicationId } from '../../platform/auth/access.decorators.ts';
import { successView } from '../../platform/wire/wire.schema.ts';
import { ClientAddress } from '../../platform/http/client-address.decorator.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiBetaErrors } from '../../platform/http/errors/error.schema.ts';
import { UnknownFields } from '../../platform/http/names/unknown-names.guard.ts';
import type { ReportUnknown } from '../../platform/wire/body-fields.ts';
import { GrantConnectionsService } from './moves/grant-connections.service.ts';
import {
  toGrantEnvelope,
  toGrantListView,
  toGrantView,
  toNewGrantEnvelope,
} from './grants.mapper.ts';
import {
  type CreateGrant,
  createGrantSchema,
  grantEnvelope,
  grantListView,
  grantView,
  type ListGrants,
  listGrantsSchema,
  newGrantEnvelope,
  syncGrantSchema,
  toConnectOptions,
  toCredentials,
  toGrantChange,
  toGrantFilter,
  type UpdateGrant,
  updateGrantSchema,
} from './grants.schema.ts';
import type { Grant } from './grant.entity.ts';
import { GrantsService } from './grants.service.ts';

@ApiTags('grants')
@ApplicationAuth()
@Controller('connect/grants')
export class GrantsController {
  constructor(
    private readonly grants: GrantsService,
    private readonly connections: GrantConnectionsService,
  ) {}

  @Get()
  @Endpoint({ summary: 'List grants, oldest first', response: grantListView })
  async list(
    @ApplicationId() applicationId: string,
    @Query({ schema: listGrantsSchema }) query: ListGrants,
  ) {
    return toGrantListView(
      await this.grants.list(applicationId, query, toGrantFilter(query)),
      query,
    );
  }

  @Post()
  @ApiBetaErrors(403)
  @Endpoint({
    summary: 'Connect an account with credentials',
    description:
      'The provider needs an integration. Carillon asks the provider before it stores anything. The response contains an access token, which is shown only once. An account that is already connected is authenticated again: it keeps its id and gets a new token. For `imap`, `settings.refresh_token` signs in by OAuth if the integration has OAuth settings.',
    response: newGrantEnvelope,
  })
  async create(
    @ApplicationId() applicationId: string,
    @Body({ schema: createGrantSchema }) body: CreateGrant,
    @Headers('user-agent') userAgent: string | undefined,
    @ClientAddress() ip: string,
    @UnknownFields() report: ReportUnknown,
  ) {
    const options = toConnectOptions(body, { userAgent, ip });
    return toNewGrantEnvelope(
      await this.connections.authenticate(applicationId, toCredentials(body), options, report),
    );
  }

  @Get(':id')
  @ApiBetaErrors(404)
  @Endpoint({ summary: 'Read a grant', response: grantEnvelope })
  async get(@ApplicationId() applicationId: string, @Param('id') id: string) {
    return this.#shown(await this.grants.get(applicationId, id));
  }

  @Patch(':id')
  @ApiBetaErrors(403, 404, 409)
  @Endpoint({
    summary: 'Change settings, metadata or scopes',
    description:
      'New settings are verified with the provider. If they contain a password or token, they count as a new authentication. Fewer scopes apply at once. More scopes than the user has agreed to make the grant `invalid` until the user authenticates again.',
    response: grantEnvelope,
  })
  async update(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Body({ schema: updateGrantSchema }) body: UpdateGrant,
  ) {
    return this.#shown(await this.grants.update(applicationId, id, toGrantChange(body)));
  }

  @Delete(':id')
  @ApiBetaErrors(404)
  @Endpoint({
    summary: 'Disconnect an account',
    description:
      'Tokens of the account stop working at once. Its mirror, scheduled messages and reminders are deleted. Nothing changes at the provider, except that the tokens of an account that signed in by OAuth are revoked.',
    response: successView,
  })
  async remove(@ApplicationId() applicationId: string, @Param('id') id: string) {
    await this.grants.remove(applicationId, id);
    return { success: true };
  }

  @Post(':id/sync')
  @ApiBetaErrors(404)
  @Endpoint({ summary: "Sync the account's mailbox now", response: grantView })
  async sync(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Query({ schema: syncGrantSchema }) _query: unknown,
  ) {
    return toGrantView(await this.grants.requestSync(applicationId, id));
  }

  @Get(':id/sync')
  @ApiBetaErrors(404)
  @Endpoint({
    summary: "Sync the account's mailbox now (same as POST)",
    aliasOf: 'Grants_sync',
    response: grantView,
  })
  syncByGet(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Query({ schema: syncGrantSchema }) query: unknown,
  ) {
    return this.sync(applicationId, id, query);
  }

  #shown(grant: Grant) {
    return toGrantEnvelope(grant, this.grants.shownSettings(grant));
  }
}
