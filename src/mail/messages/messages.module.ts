import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { MoveRunner } from '../../platform/moves/move-runner.ts';
import { MovesModule } from '../../platform/moves/moves.module.ts';
import { ContentMove } from './contents/content-move.ts';
import { MessageChangesService } from './message-changes.service.ts';
import { ListedContentsModule } from '../listed-contents/listed-contents.module.ts';
import { MessageEventsModule } from '../message-events/message-events.module.ts';
import { MessagesController } from './messages.controller.ts';
import { MESSAGES_OF_ACCOUNT, MessagesRepository } from './messages.repository.ts';
import { MessagesService } from './messages.service.ts';

/** Reading and changing messages. */
@Module({
  imports: [GrantsModule, ListedContentsModule, MessageEventsModule, MovesModule, ProvidersModule],
  controllers: [MessagesController],
  providers: [MessagesService, MessageChangesService, MessagesRepository],
  exports: [MessagesService, MessageChangesService],
})
export class MessagesModule {
  constructor(accounts: AccountListeners, moves: MoveRunner) {
    accounts.add(MESSAGES_OF_ACCOUNT);
    moves.add(new ContentMove());
  }
}
