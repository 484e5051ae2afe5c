import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import { ApplicationSecretAuth, ApplicationId } from '../../platform/auth/access.decorators.ts';
import { successView } from '../../platform/wire/wire.schema.ts';
import { metadataFilter } from '../../platform/database/metadata-filter.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import {
  toApplicationAccountView,
  toChangedAccountView,
  toTokenInfoView,
} from './accounts.mapper.ts';
import {
  applicationAccountsView,
  applicationAccountView,
  changedAccountView,
  doneView,
  type ListAccounts,
  listAccountsSchema,
  type RevokeAll,
  revokeAllSchema,
  type TokenInfoRequest,
  tokenInfoSchema,
  tokenInfoView,
  type UpdateAccount,
  updateAccountSchema,
} from './accounts.schema.ts';
import { ApplicationAccountsService } from './application-accounts.service.ts';

@ApiTags('accounts')
@ApiParam({ name: 'client_id' })
@ApplicationSecretAuth()
@ApiErrors(404)
@Controller('a/:client_id/accounts')
export class ApplicationAccountsController {
  constructor(
    private readonly accounts: ApplicationAccountsService,
    private readonly connectors: ConnectorRegistry,
  ) {}

  @Get()
  @Endpoint({
    summary: "List the application's accounts, oldest first",
    response: applicationAccountsView,
  })
  async list(
    @ApplicationId() applicationId: string,
    @Query({ schema: listAccountsSchema }) query: ListAccounts,
  ) {
    const accounts = await this.accounts.list(applicationId, query, metadataFilter(query));
    return accounts.map((account) => toApplicationAccountView(account, this.connectors));
  }

  @Get(':id')
  @Endpoint({ summary: 'Read an account', response: applicationAccountView })
  async get(@ApplicationId() applicationId: string, @Param('id') id: string) {
    return toApplicationAccountView(await this.accounts.get(applicationId, id), this.connectors);
  }

  @Put(':id')
  @Endpoint({ summary: 'Replace the metadata of an account', response: applicationAccountView })
  async update(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Body({ schema: updateAccountSchema }) { metadata }: UpdateAccount,
  ) {
    return toApplicationAccountView(
      await this.accounts.setMetadata(applicationId, id, metadata),
      this.connectors,
    );
  }

  @Delete(':id')
  @Endpoint({ summary: 'Disconnect an account', response: successView })
  async remove(@ApplicationId() applicationId: string, @Param('id') id: string) {
    await this.accounts.remove(applicationId, id);
    return { success: true };
  }

  @Post(':id/upgrade')
  @Endpoint({ summary: 'Reactivate a cancelled account', response: changedAccountView })
  async upgrade(@ApplicationId() applicationId: string, @Param('id') id: string) {
    return toChangedAccountView(await this.accounts.upgrade(applicationId, id), this.connectors);
  }

  @Post(':id/downgrade')
  @Endpoint({
    summary: 'Cancel an account',
    description:
      'Its data stays. Its tokens are refused with 403 until the account is upgraded again.',
    response: changedAccountView,
  })
  async downgrade(@ApplicationId() applicationId: string, @Param('id') id: string) {
    return toChangedAccountView(await this.accounts.downgrade(applicationId, id), this.connectors);
  }

  @Post(':id/revoke-all')
  @Endpoint({
    summary: 'Revoke all access tokens of an account, except one if named',
    response: doneView,
  })
  async revokeAll(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Body({ schema: revokeAllSchema }) { keep_access_token }: RevokeAll,
  ) {
    await this.accounts.revokeAll(applicationId, id, keep_access_token ?? undefined);
    return { success: 'true' };
  }

  @Post(':id/token-info')
  @Endpoint({ summary: 'Read the state and scopes of a token', response: tokenInfoView })
  async tokenInfo(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Body({ schema: tokenInfoSchema }) { access_token }: TokenInfoRequest,
  ) {
    return toTokenInfoView(await this.accounts.tokenInfo(applicationId, id, access_token));
  }
}
