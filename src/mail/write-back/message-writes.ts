import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Database, idsOf, type Sql } from '../../platform/database/sql.ts';
import { scheduleChangedSync } from '../../accounts/sync-schedule/schedule-sync.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import {
  type FailedWrite,
  type ProviderWrite,
  type ProviderWriteHandler,
  ProviderWrites,
  type WriteOutcome,
} from '../../accounts/provider-writes/provider-writes.ts';
import {
  openWritesUntil,
  storePreviousValues,
} from '../../accounts/provider-writes/open-writes.ts';
import type { MailboxPort } from '../../providers/port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import {
  lockMessage,
  type MessagePayload,
  type MessageState,
  sameState,
  STATE_KEYS,
  writeMessages,
} from '../messages/message-state.ts';
import { removeDuplicates } from '../messages/mirror/remove-messages.ts';
import { storeProviderId } from '../messages/mirror/store-messages.ts';
import { vanish } from '../messages/mirror/vanished-messages.ts';
import { retryAfterSync } from './retry-after-sync.ts';
import type { Message } from '../messages/message.entity.ts';
import type { Folder } from '../folders/folder.entity.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

const READ = `
  select provider_id as "providerId", created_at as "createdAt" from message where id = $1 and account_id = $2`;

/**
 * Shortest and longest time after which a change of a sent message looks again for the provider's
 * copy. The sync pass that finds the copy makes the change due at once, but it passes over a change
 * that is running at that moment.
 */
const COPY_WAIT_MS = { least: 5_000, most: 60_000 };
/** A younger message asks for a sync pass each time, an older one once in this time. */
const ASK_EVERY_MS = 15 * 60_000;

// `busyUntil`: earliest time at which the open provider writes of a folder may have ended, for a
// folder that is still being created.
const FOLDERS = `
  select f.id, f.provider_id as "providerId",
    ${openWritesUntil('f.id')} as "busyUntil"
  from folder f where f.account_id = $1 and f.id = any($2::uuid[])`;

interface WrittenMessage extends RowOf<Message, 'providerId'> {
  /** When it was added to the mirror. */
  createdAt: Date;
}

const REMOVED: WriteOutcome = {
  kind: 'superseded',
  reason: 'The message was removed before this change had reached the provider',
};

/** Carries changes of messages to their provider, and reverts changes that the provider refuses. */
@Injectable()
export class MessageWrites implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly writes: ProviderWrites,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.writes.register('update_message', 'mailbox', this.#update, { failed: revert });
  }

  /** Writes only the requested keys: the provider may have newer values of all others. */
  readonly #update: ProviderWriteHandler<MailboxPort> = async (port, account, write) => {
    const { unread, starred, folders } = write.payload as unknown as MessagePayload;
    const message = await this.#find(account, write);
    if (!message) return REMOVED;
    const { providerId } = message;
    if (providerId === null) return this.#awaitCopy(account, message);
    const targets = folders ? await this.#targets(account, folders) : [];
    if (targets instanceof Date) return { kind: 'waits', until: targets };
    try {
      if (unread !== undefined || starred !== undefined)
        await port.setFlags(account, providerId, {
          ...(unread === undefined ? {} : { unread }),
          ...(starred === undefined ? {} : { starred }),
        });
      if (!folders) return { kind: 'written' };
      const moved = await port.setFolders(account, providerId, targets);
      return {
        kind: 'written',
        store: (sql, at) => store(sql, account, write, moved.providerId, at),
      };
    } catch (error) {
      if (!(error instanceof ProviderError) || error.code !== 'not-found') throw error;
      const now = await this.#find(account, write);
      if (!now) return REMOVED;
      const missed = {
        accountId: account.accountId,
        tried: providerId,
        current: now.providerId,
        error,
      };
      return retryAfterSync(this.database, write, missed);
    }
  };

  async #find(
    { accountId }: ConnectedAccount,
    { objectId }: ProviderWrite,
  ): Promise<WrittenMessage | undefined> {
    return (await this.database.query<WrittenMessage>(READ, [objectId, accountId]))[0];
  }

  /**
   * The provider has not reported the copy of a message that was sent from here. The change waits
   * for it, ever longer. If there is none, the message is removed in the end (ADR 0119).
   */
  async #awaitCopy(
    { accountId }: ConnectedAccount,
    { createdAt }: WrittenMessage,
  ): Promise<WriteOutcome> {
    const now = this.clock.now().getTime();
    const age = Math.max(now - createdAt.getTime(), 0);
    const { least, most } = COPY_WAIT_MS;
    if (age < ASK_EVERY_MS || age % ASK_EVERY_MS < most)
      await scheduleChangedSync(this.database, [accountId]);
    const wait = Math.min(Math.max(age, least), most);
    return { kind: 'waits', until: new Date(now + wait) };
  }

  /**
   * @returns provider ids of the folders, or the earliest time at which all of them may exist at
   *   the provider
   */
  async #targets(
    { accountId }: ConnectedAccount,
    ids: readonly string[],
  ): Promise<string[] | Date> {
    const rows = await this.database.query<
      RowOf<Folder, 'id' | 'providerId'> & { busyUntil: Date | null }
    >(FOLDERS, [accountId, ids]);
    if (rows.length < ids.length)
      throw new ProviderError('rejected', 'A folder of this message has been deleted');
    const absent = rows.filter(({ providerId }) => providerId === null);
    if (absent.some(({ busyUntil }) => !busyUntil))
      throw new ProviderError(
        'rejected',
        'A folder of this message could not be created at the provider',
      );
    const busy = absent.flatMap(({ busyUntil }) => busyUntil?.getTime() ?? []);
    if (busy.length > 0) return new Date(Math.max(...busy));
    return rows.flatMap(({ providerId }) => providerId ?? []);
  }
}

/** Stores the provider id that the message has after the move. */
async function store(
  sql: Sql,
  account: ConnectedAccount,
  { objectId }: ProviderWrite,
  providerId: string,
  at: Date,
): Promise<void> {
  await removeDuplicates(sql, account, objectId, [providerId], at);
  await storeProviderId(sql, account.accountId, objectId, providerId);
}

const APPLICATION = `select application_id as "applicationId" from "grant" where id = $1`;
/**
 * Reverts the requested keys of a change that the provider refused, unless they were changed again
 * since. A later write that is still open gets the values from before this change.
 */
async function revert(sql: Sql, { jobId, objectId, accountId, payload }: FailedWrite, at: Date) {
  const asked = payload as unknown as MessagePayload;
  const message = await lockMessage(sql, accountId, objectId);
  const [owner] = await sql.query<RowOf<Grant, 'applicationId'>>(APPLICATION, [accountId]);
  if (!message || !owner) return;
  const later = await storePreviousValues(
    sql,
    'update_message',
    [{ objectId, before: asked.before }],
    jobId,
  );
  const restored: Partial<MessageState> = {};
  for (const key of STATE_KEYS) {
    if (asked[key] === undefined || asked.before[key] === undefined) continue;
    if (later.some((one) => one.key === key)) continue;
    const shown =
      key === 'folders' ? await withoutDeleted(sql, accountId, asked.folders) : asked[key];
    if (sameState(message[key], shown) && !sameState(message[key], asked.before[key]))
      Object.assign(restored, { [key]: asked.before[key] });
  }
  if (Object.keys(restored).length === 0) return;
  const owning = { accountId, applicationId: owner.applicationId };
  const dedupe = `message:${objectId}:put-back:${jobId}`;
  await writeMessages(sql, owning, [{ message: { ...message, ...restored }, dedupe }], at);
  // The folder that it was in was deleted, with its messages: the next sync pass removes it, too,
  // unless it finds it elsewhere.
  const { folders } = restored;
  if (folders && (await withoutDeleted(sql, accountId, folders)).length === 0)
    await vanish(sql, accountId, [objectId], at);
}

const PRESENT = `select id from folder where account_id = $1 and id = any($2::uuid[])`;

/** Leaves out deleted folders: no write moved the messages that were in them. */
async function withoutDeleted(
  sql: Sql,
  accountId: string,
  folders: readonly string[] = [],
): Promise<string[]> {
  const present = new Set(idsOf(await sql.query<{ id: string }>(PRESENT, [accountId, folders])));
  return folders.filter((id) => present.has(id));
}
