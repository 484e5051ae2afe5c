import { Injectable, Logger } from '@nestjs/common';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import {
  findListed,
  giveUpListed,
  type ListedMessage,
  nextListed,
} from '../../mail/messages/listed-messages.ts';
import { vanish } from '../../mail/messages/mirror/vanished-messages.ts';
import { type ChangeRecord, recordChanges } from '../../platform/changes/change-log.ts';
import { Database, idsOf, type Sql } from '../../platform/database/sql.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import type { FailedMessage, MailPort } from '../../providers/port/connector.ts';
import { ContentStore, type FetchedContent, type FetchedContents } from './content-store.ts';
import { FolderMirror, type StandardFolders } from '../folders/folder-mirror.ts';
import { FailedMessages } from '../failures/failed-messages.ts';
import { failuresOf, type FetchedMessages } from './fetched-messages.ts';
import {
  CRASHED,
  isAfterCrash,
  MessageReader,
  type ReadableMessage,
  type ReadMessages,
} from './message-reader.ts';
import { type MirrorClaim, MirrorRepository, type MirrorState } from '../mirror.repository.ts';
import { isRefusedValue } from '../failures/refused-values.ts';
import {
  forgetFailures,
  type ReadFailure,
  recordFailures,
  waitingFailures,
} from '../failures/sync-failures.ts';

/** Messages fetched and stored at a time: news waits for no more than these. */
const BATCH = 50;
const BATCH_AFTER_CRASH = 10;
/** A run ends after this many batches in a row of which the provider returned nothing. */
const MOST_FAILED = 3;

/** Contents that are ready to be stored, and what is to be done with the other messages. */
export interface PreparedContents extends FetchedContents {
  /** Messages that the provider no longer has. */
  gone: ListedMessage[];
  /** Messages that cannot be read at all. They keep what the mirror knows of them. */
  unreadable: ListedMessage[];
  /** Messages on which the provider failed. They stay listed and are requested again later. */
  failed: FailedMessage[];
  folders: StandardFolders;
}

/** Completes the listed messages of a mailbox (ADR 0077). */
@Injectable()
export class ListedMessages {
  readonly #log = new Logger(ListedMessages.name);

  constructor(
    private readonly database: Database,
    private readonly repository: MirrorRepository,
    private readonly folders: FolderMirror,
    private readonly reader: MessageReader,
    private readonly contents: ContentStore,
    private readonly failed: FailedMessages,
    private readonly clock: Clock,
  ) {}

  /**
   * Completes listed messages, newest first, until none is left, and reads messages again on which
   * the provider failed. Stops between batches if the mailbox has changed, so that news does not
   * wait.
   * @param goOn called before each batch; `false` stops the run
   * @returns true if no listed message is left that can be requested now
   * @throws {ProviderError} if the provider cannot deliver any message now
   * @throws {ClaimLostError}
   */
  async complete(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    state: MirrorState,
    goOn: () => boolean,
  ): Promise<boolean> {
    const { accountId } = account;
    const afterCrash = isAfterCrash(state);
    const limit = afterCrash ? BATCH_AFTER_CRASH : BATCH;
    const canGoOn = async () => goOn() && !(await this.repository.isAskedAgain(claim));
    if (!(await this.failed.retry(account, mail, claim, state, canGoOn))) return false;
    for (let failed = 0; ;) {
      const next = await this.#next(accountId, limit);
      if (next.length === 0 || !mail.readMessages) return true;
      if (!(await canGoOn())) return false;
      const providerIds = providerIdsOf(next);
      const request = { providerIds, content: true, priority: 'history' } as const;
      const fetched = await mail.readMessages(account, request);
      if (!providerIds.some((id) => fetched.has(id)))
        throw new ProviderError('temporary', 'the provider returned no content');
      const prepared = await this.prepare(account, next, fetched, (messages) =>
        afterCrash
          ? this.reader.readCarefully(messages, claim, state)
          : this.reader.read(messages, accountId),
      );
      await this.store(account, prepared, (work) =>
        this.repository.withClaim(claim, null, async (sql) => {
          await work(sql);
          await this.repository.clearReading(sql, claim);
        }),
      );
      const [failure] = prepared.failed;
      failed = failure && prepared.failed.length === fetched.size ? failed + 1 : 0;
      if (failure && failed === MOST_FAILED) throw new ProviderError('temporary', failure.reason);
    }
  }

  /** Listed messages that can be requested now. */
  async #next(accountId: string, limit: number): Promise<ListedMessage[]> {
    const waiting = await waitingFailures(this.database, accountId, this.clock.now());
    const except = waiting.flatMap(({ due, providerId }) => (due ? [] : [providerId]));
    return nextListed(this.database, accountId, limit, except);
  }

  /**
   * Keeps what is known of a listed message that crashed a worker.
   * @param providerId the message that the worker was reading; it need not be listed
   * @throws {ClaimLostError}
   */
  async giveUp(account: ConnectedAccount, claim: MirrorClaim, providerId: string): Promise<void> {
    const message = await findListed(this.database, account.accountId, providerId);
    if (!message) return;
    await this.repository.withClaim(claim, null, (sql) =>
      this.#giveUp(sql, account, [message], [{ providerId, reason: CRASHED }], this.clock.now()),
    );
  }

  /** Parses the contents that a provider has returned. Messages without a result stay listed. */
  async prepare(
    { accountId }: ConnectedAccount,
    requested: readonly ListedMessage[],
    fetched: FetchedMessages,
    read: (messages: readonly ReadableMessage[]) => Promise<ReadMessages>,
  ): Promise<PreparedContents> {
    const found = requested.flatMap((message) => {
      const got = fetched.get(message.providerId);
      return got?.content
        ? [{ ...message, content: got.content, receivedAt: got.state?.receivedAt }]
        : [];
    });
    const { parsed, failures } = await read(found);
    const failed = new Set(failures.map(({ providerId }) => providerId));
    const prepared: PreparedContents = {
      contents: [],
      failures,
      gone: requested.filter(({ providerId }) => fetched.get(providerId) === null),
      unreadable: [],
      failed: failuresOf(fetched),
      folders: await this.folders.standard(accountId),
    };
    const contents: FetchedContents['contents'][number][] = [];
    for (const { id, providerId, receivedAt } of found) {
      const message = parsed.get(providerId);
      if (!message) continue;
      // Without a header block, less is known now than the listing had.
      if (failed.has(providerId) && message.headers === null)
        prepared.unreadable.push({ id, providerId });
      else contents.push({ id, providerId, parsed: message, receivedAt });
    }
    return { ...prepared, contents };
  }

  /**
   * Stores prepared contents. A message that is gone is removed by the next sync pass, unless it
   * reappears elsewhere. Messages that the database refuses stay listed and are requested again
   * later.
   * @param transact runs work in a transaction that has locked the mailbox
   * @returns the messages that the database refused
   */
  async store(
    account: ConnectedAccount,
    prepared: PreparedContents,
    transact: (work: (sql: Sql) => Promise<void>) => Promise<void>,
  ): Promise<FailedMessage[]> {
    const store = (some: PreparedContents) => transact((sql) => this.#store(sql, account, some));
    try {
      await store(prepared);
      return [];
    } catch (error) {
      if (!isRefusedValue(error)) throw error;
    }
    const { contents } = prepared;
    const alone = new Set(providerIdsOf(contents));
    const failures = prepared.failures.filter(({ providerId }) => !alone.has(providerId));
    await store({ ...prepared, contents: [], failures });
    const refused: FailedMessage[] = [];
    for (const one of contents) refused.push(...(await this.#storeAlone(one, prepared, store)));
    return refused;
  }

  async #storeAlone(
    content: FetchedContent,
    { folders, failures: all }: PreparedContents,
    store: (some: PreparedContents) => Promise<void>,
  ): Promise<FailedMessage[]> {
    const nothing = { contents: [], failures: [], gone: [], unreadable: [], failed: [], folders };
    const { providerId } = content;
    const failures = all.filter((one) => one.providerId === providerId);
    try {
      await store({ ...nothing, contents: [content], failures });
      return [];
    } catch (error) {
      if (!isRefusedValue(error)) throw error;
      const reason = `The message cannot be stored: ${error.message}`;
      const failed = [{ providerId, reason }];
      await store({ ...nothing, failed });
      return failed;
    }
  }

  async #store(sql: Sql, account: ConnectedAccount, prepared: PreparedContents): Promise<void> {
    const { accountId } = account;
    const at = this.clock.now();
    const { gone, unreadable, failures, failed, folders } = prepared;
    const fetched = [...gone, ...unreadable, ...prepared.contents];
    await forgetFailures(sql, accountId, providerIdsOf(fetched));
    await recordFailures(
      sql,
      accountId,
      failed.map((one) => ({ ...one, again: true })),
      at,
    );
    await this.contents.store(sql, account, prepared, folders, at);
    await this.#giveUp(sql, account, unreadable, failures, at);
    await vanish(sql, accountId, idsOf(gone), at);
    for (const { providerId, reason } of [...failures, ...failed]) {
      this.#log.warn(
        `message ${providerId} of account ${accountId} could not be read; the mirror keeps what is known of it: ${reason}`,
      );
    }
  }

  async #giveUp(
    sql: Sql,
    { accountId, applicationId }: ConnectedAccount,
    messages: readonly ListedMessage[],
    failures: readonly ReadFailure[],
    at: Date,
  ): Promise<void> {
    const given = await giveUpListed(sql, accountId, idsOf(messages), at);
    const ids = new Set(messages.map(({ providerId }) => providerId));
    const own = failures.filter(({ providerId }) => ids.has(providerId));
    await recordFailures(sql, accountId, own, at);
    const base = { applicationId, accountId, event: 'modify', at, webhook: null } as const;
    await recordChanges(
      sql,
      given.map(({ id, draft }): ChangeRecord => {
        return { ...base, object: draft ? 'draft' : 'message', objectId: id };
      }),
    );
  }
}

const providerIdsOf = (messages: readonly { providerId: string }[]): string[] =>
  messages.map(({ providerId }) => providerId);
