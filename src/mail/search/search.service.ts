import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import type { Page } from '../../platform/database/listing.ts';
import { ReadDatabase } from '../../platform/database/replicas/read-database.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import type { MessageRecord } from '../messages/filters/message-filter.ts';
import { MessagesService } from '../messages/messages.service.ts';
import type { ThreadRecord } from '../threads/thread-filter.ts';
import { ThreadsService } from '../threads/threads.service.ts';
import { parseSearchQuery } from './search-query.ts';
import { type Found, SearchRepository } from './search.repository.ts';

/** A search text and the requested page. */
export interface SearchRequest {
  text: string;
  page: Page;
}

/** Searches messages and threads in the mirror (docs/search.md). */
@Injectable()
export class SearchService {
  constructor(
    private readonly repository: SearchRepository,
    private readonly reads: ReadDatabase,
    private readonly messages: MessagesService,
    private readonly threads: ThreadsService,
    private readonly clock: Clock,
  ) {}

  /** Best match first. Drafts are found only if the query asks for them. */
  async findMessages(account: AccountPrincipal, request: SearchRequest): Promise<MessageRecord[]> {
    const ids = await this.#ids(account.accountId, 'messages', request);
    return this.messages.findMany(account, ids, this.reads);
  }

  /**
   * Threads of matching messages, without duplicates, in the order of their best matches.
   * @param request.expanded true to include the messages of the threads
   */
  async findThreads(
    account: AccountPrincipal,
    request: SearchRequest & { expanded: boolean },
  ): Promise<ThreadRecord[]> {
    const ids = await this.#ids(account.accountId, 'threads', request);
    return this.threads.findMany(account, ids, {
      expanded: request.expanded,
      sql: this.reads,
    });
  }

  async #ids(accountId: string, found: Found, { text, page }: SearchRequest): Promise<string[]> {
    const now = this.clock.now();
    const query = parseSearchQuery(text, now);
    // A query without words, such as emoji only, matches no message.
    if (query.groups.length === 0 || page.limit === 0) return [];
    for (let reach = 1; ; reach *= 8) {
      const { ids, more } = await this.repository.find(accountId, query, {
        found,
        page,
        now,
        reach,
      });
      // The page may still be incomplete: many matches may belong to few threads, or have the words
      // of a phrase in another order.
      if (ids.length === page.limit || !more) return ids;
    }
  }
}
