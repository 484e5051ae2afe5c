import { Module } from '@nestjs/common';
import { ProvidersModule } from '../providers/providers.module.ts';
import { RelayRoutes } from './relay-routes.ts';
import { RelayRoutesService } from './relay-routes.service.ts';
import { RelayRepository } from './relay.repository.ts';

/** The third-party mailing service of an application (spec 4.3 rule 8). */
@Module({
  imports: [ProvidersModule],
  providers: [RelayRepository, { provide: RelayRoutes, useClass: RelayRoutesService }],
  exports: [RelayRoutes],
})
export class RelayModule {}
