import { Module } from '@nestjs/common';
import { IntegrationsController } from './integrations.controller.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { OauthIntegrations } from './oauth-integrations.ts';
import { IntegrationsService } from './integrations.service.ts';

/** Providers that an application has registered. */
@Module({
  imports: [ProvidersModule],
  controllers: [IntegrationsController],
  providers: [IntegrationsService, OauthIntegrations],
  exports: [OauthIntegrations],
})
export class IntegrationsModule {}
