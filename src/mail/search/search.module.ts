import { Module } from '@nestjs/common';
import { BodyObjectsModule } from '../messages/objects/body-objects.module.ts';
import { MessagesModule } from '../messages/messages.module.ts';
import { ThreadsModule } from '../threads/threads.module.ts';
import { MessageSearchController } from './message-search.controller.ts';
import { TextBacklogRunner } from './text-backlog.ts';
import { SearchRepository } from './search.repository.ts';
import { SearchService } from './search.service.ts';
import { ThreadSearchController } from './thread-search.controller.ts';

/**
 * Searching mailboxes. The application must import this module before messages and threads, so that
 * `search` is not routed as an id.
 */
@Module({
  imports: [BodyObjectsModule, MessagesModule, ThreadsModule],
  controllers: [MessageSearchController, ThreadSearchController],
  providers: [SearchService, SearchRepository, TextBacklogRunner],
})
export class SearchModule {}
