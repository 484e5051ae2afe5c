import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../../platform/auth/scopes.ts';
import {
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
} from '../../platform/base/errors/domain-error.ts';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { openProviderWrites } from '../../accounts/provider-writes/provider-jobs.ts';
import { MessageEvents } from '../message-events/message-events.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { MessageRecord } from './filters/message-filter.ts';
import { foldersAfter } from './message-folders.ts';
import {
  type LockedMessage,
  lockMessage,
  lockThread,
  type MessagePayload,
  sameState,
  STATE_KEYS,
  writeMessages,
} from './message-state.ts';
import { MessagesRepository } from './messages.repository.ts';

/** Changes to a message. Absent fields keep their values. */
export interface MessageChange {
  unread?: boolean | undefined;
  starred?: boolean | undefined;
  folderId?: string | undefined;
  labelIds?: readonly string[] | undefined;
  /** Replaces the complete metadata. */
  metadata?: Record<string, string> | undefined;
}

/**
 * A message after a change, and the id of the job that carries the change to the provider;
 * `undefined` if nothing was to be changed.
 */
export interface ChangedMessage {
  message: MessageRecord;
  jobId: string | undefined;
}

/** Longer threads cannot be changed as a whole. */
const MOST_MESSAGES = 1_000;

/** Changes messages: in the mirror at once, and at the provider by a provider write. */
@Injectable()
export class MessageChangesService {
  constructor(
    private readonly database: Database,
    private readonly repository: MessagesRepository,
    private readonly events: MessageEvents,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  /**
   * Changes one message. A change without fields does nothing.
   * @throws {NotFoundError}
   * @throws {InvalidInputError} if a folder or label does not exist, or the rules forbid the
   *   change
   * @throws {ForbiddenError} if flags or metadata change and no scope allows it
   * @throws {UnsupportedProviderError}
   */
  async update(
    account: AccountPrincipal,
    id: string,
    change: MessageChange,
  ): Promise<ChangedMessage> {
    this.connectors.requireMailbox(account.provider);
    assertScopes(account, change);
    if (!isId(id)) throw new NotFoundError('message', id);
    const at = this.clock.now();
    const written = await this.database.transaction(async (sql) => {
      const before = await lockMessage(sql, account.accountId, id);
      if (!before) throw new NotFoundError('message', id);
      if (before.draft)
        throw new InvalidInputError(`id: ${id} is a draft, which is changed by PUT /drafts/${id}`);
      const jobId = await this.#change(sql, account, [before], change, { asThread: false }, at);
      return { jobId, message: await this.repository.findPacked(sql, account.accountId, id) };
    });
    const stored = await this.repository.unpack(written.message ? [written.message] : []);
    const [message] = await this.events.addTo(account, stored, { isOneItem: true });
    if (!message) throw new NotFoundError('message', id);
    return { message, jobId: written.jobId };
  }

  /**
   * Changes all messages of a thread in one transaction. Each message gets the flags; its folders
   * or labels follow the rules of `foldersAfter`. Every changed message has a provider write of its
   * own, so the others still succeed if the provider refuses one.
   * A change without fields does nothing.
   * @param read reads the caller's result in the same transaction, after the change
   * @returns the job of the newest message, or `undefined` if nothing was to be changed, and the
   *   result of `read`
   * @throws {NotFoundError} also for a thread without messages
   * @throws {InvalidInputError} if a folder or label does not exist, the rules forbid the change,
   *   or the thread has more than `MOST_MESSAGES` messages
   * @throws {ForbiddenError} if flags change and no scope allows it
   * @throws {UnsupportedProviderError}
   */
  async updateThread<T>(
    account: AccountPrincipal,
    threadId: string,
    change: Omit<MessageChange, 'metadata'>,
    read: (sql: Sql) => Promise<T>,
  ): Promise<{ jobId: string | undefined; thread: T }> {
    this.connectors.requireMailbox(account.provider);
    assertScopes(account, change);
    if (!isId(threadId)) throw new NotFoundError('thread', threadId);
    const at = this.clock.now();
    return this.database.transaction(async (sql) => {
      const messages = await lockThread(sql, account.accountId, threadId);
      if (messages.length === 0) throw new NotFoundError('thread', threadId);
      if (messages.length > MOST_MESSAGES)
        throw new InvalidInputError(
          `id: the thread has more than ${MOST_MESSAGES} messages: change its messages one by one`,
        );
      const newestFirst = messages.toSorted((a, b) => b.date.getTime() - a.date.getTime());
      const jobId = await this.#change(sql, account, newestFirst, change, { asThread: true }, at);
      return { jobId, thread: await read(sql) };
    });
  }

  /** @returns id of the job of the first message; `undefined` if the change has no fields */
  async #change(
    sql: Sql,
    account: AccountPrincipal,
    messages: readonly LockedMessage[],
    change: MessageChange,
    { asThread }: { asThread: boolean },
    at: Date,
  ): Promise<string | undefined> {
    const folders = await foldersAfter(sql, account, messages, change, { asThread });
    const isMove = folders.size > 0;
    if (!isMove && !changesFlags(change)) return undefined;
    const changes = messages.map((before) => {
      const after: LockedMessage = {
        ...before,
        unread: change.unread ?? before.unread,
        starred: change.starred ?? before.starred,
        metadata: change.metadata ?? before.metadata,
        folders: folders.get(before.id) ?? before.folders,
      };
      // The id is made while the message row is locked. Provider writes run in the order of their
      // ids, which is therefore the order of the changes.
      return { jobId: newId(), before, after };
    });
    const [first] = changes;
    if (!first) throw new TypeError('there is nothing to change');
    const changed = changes.filter(({ before, after }) => !isDeepStrictEqual(before, after));
    await openProviderWrites(
      sql,
      // The first message is written even if the mirror already has the requested state: the
      // provider may have another one.
      [first, ...changed.filter((one) => one !== first)].map(({ jobId, before, after }) => ({
        id: jobId,
        accountId: account.accountId,
        action: 'update_message',
        object: 'message',
        objectId: before.id,
        payload: { ...payloadOf(before, after, change) },
        at,
      })),
    );
    await writeMessages(
      sql,
      account,
      changed.map(({ jobId, before, after }) => {
        // Subscribers are not notified of changes to metadata, which belong to the application
        // itself.
        const notify = STATE_KEYS.some((key) => !sameState(before[key], after[key]));
        return { message: after, dedupe: notify ? `message:${after.id}:updated:${jobId}` : null };
      }),
      at,
    );
    return first.jobId;
  }
}

/** True if the change names flags or metadata. */
function changesFlags({ unread, starred, metadata }: MessageChange): boolean {
  return [unread, starred, metadata].some((value) => value !== undefined);
}

/** Changing flags and metadata needs more scopes than moving a message. */
function assertScopes({ scopes }: AccountPrincipal, change: MessageChange): void {
  if (!changesFlags(change)) return;
  if (allows(scopes, SCOPES_FOR.modifyMail)) return;
  throw new ForbiddenError(
    'scope.missing',
    `Changing unread, starred or metadata needs one of the scopes ${SCOPES_FOR.modifyMail.join(', ')}, which the account has not granted.`,
  );
}

/**
 * Payload of the provider write. Requested flags are always included, folders only if they change.
 * Clients send the folders they have read along with every change; writing those would undo a move
 * made elsewhere meanwhile.
 */
function payloadOf(
  before: LockedMessage,
  after: LockedMessage,
  asked: MessageChange,
): MessagePayload {
  const payload: MessagePayload = { before: {} };
  for (const key of STATE_KEYS) {
    const isAsked =
      key === 'folders' ? !sameState(before[key], after[key]) : asked[key] !== undefined;
    if (!isAsked) continue;
    Object.assign(payload, { [key]: after[key] });
    Object.assign(payload.before, { [key]: before[key] });
  }
  return payload;
}
