import { Module } from '@nestjs/common';
import { ApplicationsModule } from '../applications/applications.module.ts';
import { GrantsModule } from '../grants/grants.module.ts';
import { IntegrationsModule } from '../integrations/integrations.module.ts';
import { OauthModule } from '../oauth/oauth.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { AuthorizationCodes } from './oauth/authorization-codes.ts';
import { ChosenServers } from './sign-in/chosen-servers.ts';
import { ConnectController } from './connect.controller.ts';
import { ConnectService } from './connect.service.ts';
import { ConnectAuthController } from './links/connect-auth.controller.ts';
import { LoginRequests } from './links/login-requests.ts';
import { LoginStartsService } from './links/login-starts.service.ts';
import { OauthAuthorizeService } from './oauth/oauth-authorize.service.ts';
import {
  OauthAuthorizeController,
  OauthController,
  OauthTokenController,
} from './oauth/oauth.controller.ts';
import { ProviderOffers } from './sign-in/provider-offers.ts';
import { SignInCallbackController, SignInController } from './sign-in/sign-in.controller.ts';
import { SignInCredentialsService } from './sign-in/sign-in-credentials.service.ts';
import { SignInOauthService } from './sign-in/sign-in-oauth.service.ts';
import { SignInVisits } from './sign-in/sign-in-visits.ts';
import { SignInService } from './sign-in/sign-in.service.ts';

/** Sign-in of accounts, and exchange of codes for tokens. */
@Module({
  imports: [ApplicationsModule, GrantsModule, IntegrationsModule, OauthModule, ProvidersModule],
  controllers: [
    ConnectController,
    ConnectAuthController,
    OauthAuthorizeController,
    OauthTokenController,
    OauthController,
    SignInController,
    SignInCallbackController,
  ],
  providers: [
    AuthorizationCodes,
    ChosenServers,
    ConnectService,
    LoginRequests,
    LoginStartsService,
    OauthAuthorizeService,
    ProviderOffers,
    SignInService,
    SignInCredentialsService,
    SignInOauthService,
    SignInVisits,
  ],
  exports: [LoginStartsService],
})
export class ConnectModule {}
