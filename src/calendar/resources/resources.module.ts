import { Module } from '@nestjs/common';
import { ResourcesController } from './resources.controller.ts';
import { ResourcesRepository } from './resources.repository.ts';

/** Meeting rooms that events can invite. */
@Module({ controllers: [ResourcesController], providers: [ResourcesRepository] })
export class ResourcesModule {}
