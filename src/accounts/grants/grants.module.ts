import { Inject, Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { IntegrationsModule } from '../integrations/integrations.module.ts';
import { OperatorMailModule } from '../operator-mail/operator-mail.module.ts';
import { OauthModule } from '../oauth/oauth.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { AccessTokensService } from './tokens/access-tokens.service.ts';
import { AccountListeners } from './account-listeners.ts';
import { AddressChecks } from './proofs/address-checks.ts';
import { AddressLoopRepository } from './proofs/address-loop.repository.ts';
import { AddressLoops } from './proofs/address-loops.ts';
import { AddressProofs } from './proofs/address-proofs.ts';
import { CredentialCheck } from './credentials/credential-check.ts';
import { GrantConnectionsService } from './moves/grant-connections.service.ts';
import { GrantTokensController } from './tokens/grant-tokens.controller.ts';
import { GrantTokensService } from './tokens/grant-tokens.service.ts';
import { GrantsController } from './grants.controller.ts';
import { GrantsService } from './grants.service.ts';
import { OauthCredentials } from './credentials/oauth-credentials.ts';
import { ProviderAccounts } from './provider-accounts.ts';
import { setSignInAddresses } from './sign-in-again.ts';
import { TokenRefresh } from './credentials/token-refresh.ts';
import { TokenStore } from './credentials/token-store.ts';

/**
 * Connected accounts: connecting, changing and removing them, with their credentials and access
 * tokens.
 */
@Module({
  imports: [IntegrationsModule, OauthModule, OperatorMailModule, ProvidersModule],
  controllers: [GrantsController, GrantTokensController],
  providers: [
    AccessTokensService,
    AccountListeners,
    AddressChecks,
    AddressLoopRepository,
    AddressLoops,
    AddressProofs,
    CredentialCheck,
    GrantConnectionsService,
    GrantsService,
    GrantTokensService,
    OauthCredentials,
    ProviderAccounts,
    TokenRefresh,
    TokenStore,
  ],
  exports: [
    AccessTokensService,
    AccountListeners,
    CredentialCheck,
    GrantConnectionsService,
    GrantsService,
    GrantTokensService,
    ProviderAccounts,
    TokenRefresh,
  ],
})
export class GrantsModule {
  constructor(@Inject(APP_CONFIG) config: AppConfig) {
    setSignInAddresses(config);
  }
}
