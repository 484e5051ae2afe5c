import { Module } from '@nestjs/common';
import { OauthClients } from './oauth-clients.ts';

/** The client side of OAuth 2.0. */
@Module({ providers: [OauthClients], exports: [OauthClients] })
export class OauthModule {}
