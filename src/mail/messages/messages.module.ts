import { Module } from '@nestjs/common';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { MessageChangesService } from './message-changes.service.ts';
import { MessagesController } from './messages.controller.ts';
import { MessagesRepository } from './messages.repository.ts';
import { MessagesService } from './messages.service.ts';

/** Reading and changing messages. */
@Module({
  imports: [GrantsModule, ProvidersModule],
  controllers: [MessagesController],
  providers: [MessagesService, MessageChangesService, MessagesRepository],
  exports: [MessagesService, MessageChangesService],
})
export class MessagesModule {}
