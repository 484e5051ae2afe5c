import { Module } from '@nestjs/common';
import { ResourcesController } from './resources.controller.ts';
import { ResourcesRepository } from './resources.repository.ts';

/** Rooms that meetings can be held in. */
@Module({ controllers: [ResourcesController], providers: [ResourcesRepository] })
export class ResourcesModule {}
