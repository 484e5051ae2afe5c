import { Module } from '@nestjs/common';
import { ApplicationsModule } from '../applications/applications.module.ts';
import { AuthModule } from '../auth/auth.module.ts';
import { GrantsModule } from '../grants/grants.module.ts';
import { ProvidersModule } from '../providers/providers.module.ts';
import { AuthorizationCodes } from './authorization-codes.ts';
import { ConnectController } from './connect.controller.ts';
import { ConnectService } from './connect.service.ts';
import { OauthController } from './oauth.controller.ts';

/** How accounts authenticate and how tokens are given back. */
@Module({
  imports: [ApplicationsModule, AuthModule, GrantsModule, ProvidersModule],
  controllers: [ConnectController, OauthController],
  providers: [AuthorizationCodes, ConnectService],
})
export class ConnectModule {}
