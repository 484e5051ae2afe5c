import { Module } from '@nestjs/common';
import { GrantsModule } from '../grants/grants.module.ts';
import { ProvidersModule } from '../providers/providers.module.ts';
import { MessagesController } from './messages.controller.ts';
import { MessagesRepository } from './messages.repository.ts';
import { MessagesService } from './messages.service.ts';

/** Reading messages. */
@Module({
  imports: [GrantsModule, ProvidersModule],
  controllers: [MessagesController],
  providers: [MessagesService, MessagesRepository],
})
export class MessagesModule {}
