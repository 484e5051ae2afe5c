import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { THREADS_OF_ACCOUNT } from '../threading/refresh-threads.ts';
import { ListedContentsModule } from '../listed-contents/listed-contents.module.ts';
import { MessageEventsModule } from '../message-events/message-events.module.ts';
import { MessagesModule } from '../messages/messages.module.ts';
import { ThreadsController } from './threads.controller.ts';
import { ThreadsRepository } from './threads.repository.ts';
import { ThreadsService } from './threads.service.ts';

/** Reading and changing threads. */
@Module({
  imports: [GrantsModule, ListedContentsModule, MessageEventsModule, MessagesModule],
  controllers: [ThreadsController],
  providers: [ThreadsService, ThreadsRepository],
  exports: [ThreadsService],
})
export class ThreadsModule {
  constructor(accounts: AccountListeners) {
    accounts.add(THREADS_OF_ACCOUNT);
  }
}
