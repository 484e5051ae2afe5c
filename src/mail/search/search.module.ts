import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { MoveRunner } from '../../platform/moves/move-runner.ts';
import { MovesModule } from '../../platform/moves/moves.module.ts';
import { BodyObjectsModule } from '../messages/objects/body-objects.module.ts';
import { MessagesModule } from '../messages/messages.module.ts';
import { ThreadsModule } from '../threads/threads.module.ts';
import { MessageSearchController } from './message-search.controller.ts';
import { MOVE_OF_DOCUMENTS } from '../messages/search-documents/move-documents.ts';
import { DOCUMENTS_OF_ACCOUNT } from '../messages/search-documents/store-document.ts';
import { TextBacklogRunner } from './text-backlog.ts';
import { SearchRepository } from './search.repository.ts';
import { SearchService } from './search.service.ts';
import { ThreadSearchController } from './thread-search.controller.ts';

/**
 * Searching mailboxes. The application must import this module before messages and threads, so that
 * `search` is not routed as an id.
 */
@Module({
  imports: [BodyObjectsModule, GrantsModule, MessagesModule, MovesModule, ThreadsModule],
  controllers: [MessageSearchController, ThreadSearchController],
  providers: [SearchService, SearchRepository, TextBacklogRunner],
})
export class SearchModule {
  constructor(accounts: AccountListeners, moves: MoveRunner) {
    accounts.add(DOCUMENTS_OF_ACCOUNT);
    moves.add(MOVE_OF_DOCUMENTS);
  }
}
