import { Module } from '@nestjs/common';
import { ProvidersModule } from '../providers/providers.module.ts';
import { AccessTokens } from './access-tokens.service.ts';
import { CredentialCheck } from './credential-check.ts';
import { GrantConnections } from './grant-connections.service.ts';
import { GrantsController } from './grants.controller.ts';
import { GrantsService } from './grants.service.ts';
import { ProviderAccounts } from './provider-accounts.ts';

/** Connected accounts: making, changing and removing them, their credentials and access tokens. */
@Module({
  imports: [ProvidersModule],
  controllers: [GrantsController],
  providers: [AccessTokens, CredentialCheck, GrantConnections, GrantsService, ProviderAccounts],
  exports: [AccessTokens, CredentialCheck, GrantConnections, GrantsService, ProviderAccounts],
})
export class GrantsModule {}
