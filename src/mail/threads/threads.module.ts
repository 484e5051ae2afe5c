import { Module } from '@nestjs/common';
import { MessagesModule } from '../messages/messages.module.ts';
import { ThreadsController } from './threads.controller.ts';
import { ThreadsRepository } from './threads.repository.ts';
import { ThreadsService } from './threads.service.ts';

/** Reading and changing threads. */
@Module({
  imports: [MessagesModule],
  controllers: [ThreadsController],
  providers: [ThreadsService, ThreadsRepository],
  exports: [ThreadsService],
})
export class ThreadsModule {}
