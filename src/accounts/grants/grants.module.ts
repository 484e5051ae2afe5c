import { Module } from '@nestjs/common';
import { IntegrationsModule } from '../integrations/integrations.module.ts';
import { OauthModule } from '../oauth/oauth.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { AccessTokens } from './access-tokens.service.ts';
import { AccountListeners } from './account-listeners.ts';
import { AddressChecks } from './address-checks.ts';
import { AddressLoopRepository } from './address-loop.repository.ts';
import { AddressLoops } from './address-loops.ts';
import { AddressProofs } from './address-proofs.ts';
import { CredentialCheck } from './credential-check.ts';
import { GrantConnections } from './grant-connections.service.ts';
import { GrantTokensController } from './grant-tokens.controller.ts';
import { GrantTokens } from './grant-tokens.service.ts';
import { GrantsController } from './grants.controller.ts';
import { GrantsService } from './grants.service.ts';
import { OauthCredentials } from './oauth-credentials.ts';
import { ProviderAccounts } from './provider-accounts.ts';
import { TokenRefresh } from './token-refresh.ts';
import { TokenStore } from './token-store.ts';

/**
 * Connected accounts: connecting, changing and removing them, with their credentials and access
 * tokens.
 */
@Module({
  imports: [IntegrationsModule, OauthModule, ProvidersModule],
  controllers: [GrantsController, GrantTokensController],
  providers: [
    AccessTokens,
    AccountListeners,
    AddressChecks,
    AddressLoopRepository,
    AddressLoops,
    AddressProofs,
    CredentialCheck,
    GrantConnections,
    GrantsService,
    GrantTokens,
    OauthCredentials,
    ProviderAccounts,
    TokenRefresh,
    TokenStore,
  ],
  exports: [
    AccessTokens,
    AccountListeners,
    CredentialCheck,
    GrantConnections,
    GrantsService,
    GrantTokens,
    ProviderAccounts,
    TokenRefresh,
  ],
})
export class GrantsModule {}
