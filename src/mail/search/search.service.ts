import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import type { Page } from '../../platform/database/listing.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import type { MessageRecord } from '../messages/message-filter.ts';
import { MessagesService } from '../messages/messages.service.ts';
import type { ThreadRecord } from '../threads/thread-filter.ts';
import { ThreadsService } from '../threads/threads.service.ts';
import { parseSearchQuery } from './search-query.ts';
import { type Found, SearchRepository } from './search.repository.ts';

/** A text that is looked for, and which part of the answer is wanted. */
export interface SearchRequest {
  text: string;
  page: Page;
}

/** Looks for messages and threads in the mirror (api facts 5.1, 5.2; docs/search.md). */
@Injectable()
export class SearchService {
  constructor(
    private readonly repository: SearchRepository,
    private readonly messages: MessagesService,
    private readonly threads: ThreadsService,
    private readonly clock: Clock,
  ) {}

  /** Best first. Drafts are found only where they are asked for. */
  async findMessages(
    { accountId }: AccountPrincipal,
    request: SearchRequest,
  ): Promise<MessageRecord[]> {
    return this.messages.findMany(accountId, await this.#ids(accountId, 'messages', request));
  }

  /**
   * Threads of such messages, each once, that of the best message first.
   * @param expanded whether their messages are wanted, too
   */
  async findThreads(
    { accountId }: AccountPrincipal,
    request: SearchRequest & { expanded: boolean },
  ): Promise<ThreadRecord[]> {
    return this.threads.findMany(
      accountId,
      await this.#ids(accountId, 'threads', request),
      request,
    );
  }

  async #ids(accountId: string, found: Found, { text, page }: SearchRequest): Promise<string[]> {
    const now = this.clock.now();
    const query = parseSearchQuery(text, now);
    // What has no words, such as emoji alone, is in no message.
    if (query.groups.length === 0 || page.limit === 0) return [];
    for (let reach = 1; ; reach *= 8) {
      const { ids, more } = await this.repository.find(accountId, query, {
        found,
        page,
        now,
        reach,
      });
      // Many messages may be of few threads, and many have the words of a phrase.
      if (ids.length === page.limit || !more) return ids;
    }
  }
}
