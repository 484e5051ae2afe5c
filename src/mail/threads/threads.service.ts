import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Listing } from '../../platform/database/listing.ts';
import { ReadDatabase } from '../../platform/database/replicas/read-database.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { ListedContents } from '../listed-contents/listed-contents.ts';
import { MessageEvents } from '../message-events/message-events.ts';
import { type MessageChange, MessageChangesService } from '../messages/message-changes.service.ts';
import type { StoredThread, ThreadListRequest, ThreadRecord } from './thread-filter.ts';
import { ThreadsRepository } from './threads.repository.ts';

/** Most listed messages of a thread that one request fetches; the newest ones. */
const MOST_COMPLETED = 100;

/**
 * A thread after a change, and the id of the job that carries the change of its newest message to
 * the provider; `undefined` if nothing was to be changed.
 */
export interface ChangedThread {
  thread: ThreadRecord;
  jobId: string | undefined;
}

/**
 * Threads of an account. Reads come from the mirror; a change is made to each message of the
 * thread.
 */
@Injectable()
export class ThreadsService {
  constructor(
    private readonly repository: ThreadsRepository,
    private readonly reads: ReadDatabase,
    private readonly changes: MessageChangesService,
    private readonly events: MessageEvents,
    private readonly listed: ListedContents,
  ) {}

  /** Newest last message first. */
  async list(
    account: AccountPrincipal,
    request: ThreadListRequest,
  ): Promise<Listing<ThreadRecord>> {
    const listing = await this.repository.list(account.accountId, request);
    if (listing.view !== 'items') return listing;
    return { view: 'items', items: await this.#withEvents(account, listing.items) };
  }

  /**
   * Returns the threads of the account with these ids, in the order of `ids`. Unknown ids are left
   * out.
   * @param view.sql where to read; default: the primary
   * @throws {PageTooLargeError}
   */
  async findMany(
    account: AccountPrincipal,
    ids: readonly string[],
    view: { expanded: boolean; sql?: Sql },
  ): Promise<ThreadRecord[]> {
    if (ids.length === 0) return [];
    const stored = await this.repository.findMany(account.accountId, ids, view);
    const threads = await this.#withEvents(account, stored);
    const found = new Map(threads.map((thread) => [thread.id, thread]));
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  /**
   * A thread. In the expanded view the contents of listed messages are fetched, as far as the
   * provider can deliver them now.
   * @throws {NotFoundError} also for a thread that has only drafts
   */
  async get(
    account: AccountPrincipal,
    id: string,
    view: { expanded: boolean },
  ): Promise<ThreadRecord> {
    const thread = isId(id) ? await this.#find(account, id.toLowerCase(), view) : undefined;
    if (!thread) throw new NotFoundError('thread', id);
    const listed = thread.messages.filter((message) => message.listed);
    if (listed.length === 0) return thread;
    const newest = listed.slice(-MOST_COMPLETED).map((message) => message.id);
    await this.listed.tryToComplete(account.accountId, newest);
    // A message that was sent from here takes its thread along.
    return (await this.#find(account, id.toLowerCase(), view)) ?? thread;
  }

  async #find(
    account: AccountPrincipal,
    id: string,
    view: { expanded: boolean },
  ): Promise<ThreadRecord | undefined> {
    return (await this.findMany(account, [id], { ...view, sql: this.reads }))[0];
  }

  /**
   * Changes all messages of a thread.
   * @throws {NotFoundError}
   * @throws {InvalidInputError} if a folder or label does not exist, or the rules forbid the
   *   change
   * @throws {ForbiddenError} if flags change and no scope allows it
   * @throws {UnsupportedProviderError}
   */
  async update(
    account: AccountPrincipal,
    id: string,
    change: Omit<MessageChange, 'metadata'>,
  ): Promise<ChangedThread> {
    const { jobId, thread: stored } = await this.changes.updateThread(account, id, change, (sql) =>
      this.repository.find(account.accountId, id, { expanded: false, sql }),
    );
    const [thread] = await this.#withEvents(account, stored ? [stored] : []);
    if (!thread) throw new NotFoundError('thread', id);
    return { thread, jobId };
  }

  /** Adds events to the messages of threads; threads without messages are returned as they are. */
  async #withEvents(
    account: AccountPrincipal,
    threads: readonly StoredThread[],
  ): Promise<ThreadRecord[]> {
    const messages = await this.events.addTo(
      account,
      threads.flatMap((thread) => thread.messages),
      { isOneItem: threads.length === 1 },
    );
    const byId = new Map(messages.map((message) => [message.id, message]));
    return threads.map((thread) => ({
      ...thread,
      messages: thread.messages.flatMap(({ id }) => byId.get(id) ?? []),
    }));
  }
}
