import { Module } from '@nestjs/common';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { ResourcesController } from './resources.controller.ts';
import { ResourcesRepository } from './resources.repository.ts';
import { ResourcesService } from './resources.service.ts';

/** Meeting rooms that events can invite. */
@Module({
  imports: [GrantsModule, ProvidersModule],
  controllers: [ResourcesController],
  providers: [ResourcesRepository, ResourcesService],
})
export class ResourcesModule {}
