import { Injectable } from '@nestjs/common';
import type { ConnectedAccount } from '../accounts/grants/provider-accounts.ts';
import type {
  FailedMessage,
  MailChanges,
  MailPort,
  ReadMessage,
  RemoteMessage,
  Stall,
  SyncPassRequest,
} from '../providers/port/connector.ts';
import { BudgetExhaustedError } from '../platform/budgets/budget-exhausted-error.ts';
import { Database } from '../platform/database/sql.ts';
import { Clock } from '../platform/base/time/clock.ts';
import { type Batch, BatchStore, type StoredBatch } from './messages/batch-store.ts';
import { FolderMirror, type FollowedFolders } from './folders/folder-mirror.ts';
import { idsInFolder, mirroredIds, recognise } from '../mail/messages/mirror/mirrored-messages.ts';
import {
  contentOf,
  failedOf,
  type FetchedMessages,
  fetchRaws,
  type FreshMessage,
  isDated,
  NOT_FOUND,
} from './messages/fetched-messages.ts';
import { isAfterCrash, MessageReader } from './messages/message-reader.ts';
import type { IncomingMessage } from './messages/mirror-plan.ts';
import { type MirrorClaim, MirrorRepository, type MirrorState } from './mirror.repository.ts';
import { type ReadFailure, recordUnread } from './failures/sync-failures.ts';

/**
 * Messages fetched and stored at a time. The first batch is smaller so that the first page appears
 * sooner; larger batches make history cheaper.
 */
const FIRST_BATCH = 100;
const BATCH = 250;
/** Batch size after a worker crashed while it had claimed the mailbox. */
const BATCH_AFTER_CRASH = 10;
/** Most contents that are requested from a provider at once. */
const MOST_IDS = 100;
/** Seconds until a batch is read again whose contents the provider has not returned. */
const RETRY_AFTER_SECONDS = 10;

/** Controls a run from outside and reports its progress. */
export interface RunControl {
  /** Messages received before this time are skipped; `null` reads all messages. */
  since: Date | null;
  /** Called between batches; `false` stops the run early. */
  goOn(): boolean;
  /**
   * Called after each stored batch. `present` is true once all recent changes are stored; only
   * history may be missing. `changed` is true if the batch changed the mirror.
   */
  onStored(present: boolean, changed: boolean): Promise<void>;
  /** Called if a part of the mailbox cannot be read now. The run then ends. */
  onStall(stall: Stall): void;
  /** Called if a batch has to be read again (`StoredBatch.outdated`). The run then ends. */
  onOutdated(): void;
}

interface Run {
  account: ConnectedAccount;
  mail: MailPort;
  claim: MirrorClaim;
  state: MirrorState;
  since: Date | null;
  /** When the run began. */
  beganAt: Date;
  /** Messages received before this time are history; `null` if every message is new. */
  newsSince: Date | null;
  /**
   * True if a worker crashed while it had claimed this mailbox. Messages are then read one at a
   * time, and batches are small.
   */
  afterCrash: boolean;
}

/** Differences that an audit has found and that are to be repaired. */
export interface Repair {
  /** Messages that are missing in the mirror, with their content, or in the wrong folders. */
  messages: readonly RemoteMessage[];
  /** Provider ids of messages that the provider no longer has. */
  removed: readonly string[];
  /** Whether further differences follow. Until then, a removed message may be half of a move. */
  more: boolean;
  newsSince: Date | null;
  /** When the provider was asked for the messages. */
  requestedAt: Date;
  hasVanished: boolean;
}

/** Result of reading a batch. */
interface ReadBatch {
  incoming: IncomingMessage[];
  failures: ReadFailure[];
}

/** Brings the mirror of one mailbox up to date: messages, threads, folders and files. */
@Injectable()
export class MailboxSync {
  constructor(
    private readonly database: Database,
    private readonly repository: MirrorRepository,
    private readonly folders: FolderMirror,
    private readonly reader: MessageReader,
    private readonly batches: BatchStore,
    private readonly clock: Clock,
  ) {}

  /**
   * Reads all changes from the stored cursor to the current state, and then the history. Each batch
   * is stored in one transaction with its cursor, so an interrupted run continues where it stopped.
   * The next batch is fetched while the current one is read and stored.
   * @returns true if everything the provider has is stored; false if the run stopped early or a
   *   batch was outdated
   * @throws {ProviderError}
   * @throws {ClaimLostError}
   */
  async run(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    state: MirrorState,
    control: RunControl,
  ): Promise<boolean> {
    let { cursor, hasVanished } = state;
    const afterCrash = isAfterCrash(state);
    // The account may have been current without mail, while its token did not cover mail.
    const newsSince = state.wasCurrent && state.cursor !== null ? null : state.connectedAt;
    let requestedAt = this.clock.now();
    const begun = { since: control.since, beganAt: requestedAt, newsSince, afterCrash };
    const run: Run = { account, mail, claim, state, ...begun };
    let next = control.goOn() ? this.#fetch(run, cursor, Promise.resolve()) : null;
    while (next) {
      const changes: MailChanges = await next;
      const stored = this.#store(run, changes, { cursor, hasVanished, requestedAt });
      cursor = changes.cursor;
      requestedAt = this.clock.now();
      const further = changes.more && !changes.stalled && control.goOn();
      // After a crash, fetch no batch ahead: a message that crashes the worker must be in the only
      // batch it has.
      next = further && !afterCrash ? this.#fetch(run, cursor, stored) : null;
      try {
        const { outdated, changed, ...result } = await stored;
        ({ hasVanished } = result);
        if (outdated) {
          // The next run starts at the stored cursor.
          await next?.catch(() => undefined);
          control.onOutdated();
          return false;
        }
        await control.onStored(changes.present || !changes.more, changed);
        if (changes.stalled) {
          control.onStall(changes.stalled);
          return !changes.more;
        }
      } catch (error) {
        // Wait for the fetch: no connection may still be in use when the run has ended.
        await next?.catch(() => undefined);
        throw error;
      }
      if (!changes.more) return true;
      if (further && afterCrash) {
        requestedAt = this.clock.now();
        next = this.#fetch(run, cursor, Promise.resolve());
      }
    }
    return false;
  }

  /**
   * Stores differences that an audit has found, as if a sync pass had reported them. The cursor
   * stays.
   */
  async repair(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    state: MirrorState,
    repair: Repair,
  ): Promise<StoredBatch> {
    const { newsSince, requestedAt, hasVanished, more, messages, removed } = repair;
    const run: Run = {
      account,
      mail,
      claim,
      state,
      since: null,
      beganAt: requestedAt,
      newsSince,
      afterCrash: isAfterCrash(state),
    };
    const cursor = await this.repository.cursor(claim);
    const changes: MailChanges = {
      cursor: cursor ?? '',
      more,
      present: !more,
      folders: null,
      renamed: [],
      messages,
      removed,
    };
    return this.#store(run, changes, { cursor, hasVanished, requestedAt });
  }

  #fetch(
    { account, mail, since, beganAt, afterCrash }: Run,
    cursor: string | null,
    stored: Promise<unknown>,
  ): Promise<MailChanges> {
    const limit = afterCrash ? BATCH_AFTER_CRASH : cursor === null ? FIRST_BATCH : BATCH;
    const known = async (folderId: string) => {
      await stored;
      return idsInFolder(this.database, account.accountId, folderId);
    };
    const recognised: SyncPassRequest['recognise'] = async (removed, messages) => {
      await stored;
      return recognise(this.database, account.accountId, removed, messages);
    };
    const request = { cursor, limit, since, beganAt, known, recognise: recognised };
    const fetched = mail.listChanges(account, request).then((changes) => {
      // Start parsing while the previous batch is still being stored.
      if (!afterCrash)
        this.reader.readAhead(
          changes.messages.flatMap(({ content }) => content ?? []),
          account.accountId,
        );
      return changes;
    });
    // The fetch may fail while the previous batch is still being stored. The failure must not count
    // as unhandled: the stored batch is awaited first.
    fetched.catch(() => undefined);
    return fetched;
  }

  async #store(
    run: Run,
    changes: MailChanges,
    { cursor, hasVanished, requestedAt }: Pick<Batch, 'cursor' | 'hasVanished' | 'requestedAt'>,
  ): Promise<StoredBatch> {
    const { account, claim } = run;
    await this.#noteFolders(run, changes);
    if (!hasVanished && isEmpty(changes)) {
      // Servers without change counters (no CONDSTORE) report flag changes without moving the
      // cursor. Other cursors move without a change.
      if (changes.cursor !== cursor) await this.repository.moveCursor(claim, changes.cursor);
      return { hasVanished, outdated: false, changed: false };
    }
    // Folders come first, because a renamed folder changes the provider ids of its messages.
    const follows = changes.folders !== null || changes.renamed.length > 0;
    const {
      standard: folders,
      setAside,
      outdated,
    } = await this.#followFolders(run, changes, requestedAt);
    const mayTurnUp = hasVanished || setAside;
    if (outdated) return { hasVanished: mayTurnUp, outdated, changed: follows };
    const { incoming, failures } = await this.#read(run, changes);
    const stored = await this.batches.store(account, claim, {
      changes,
      incoming,
      failures,
      folders,
      newsSince: run.newsSince,
      hasVanished: mayTurnUp,
      requestedAt,
      cursor,
      mail: run.mail,
    });
    return { ...stored, changed: stored.changed || follows };
  }

  async #noteFolders({ account, claim }: Run, { read = [], unread = [] }: MailChanges) {
    if (read.length + unread.length === 0) return;
    const at = this.clock.now();
    await this.repository.withClaim(claim, null, (sql) =>
      recordUnread(sql, account.accountId, { read, unread }, at),
    );
  }

  async #followFolders(
    { account, claim }: Run,
    changes: MailChanges,
    requestedAt: Date,
  ): Promise<FollowedFolders> {
    return changes.folders || changes.renamed.length > 0
      ? this.folders.follow(account, claim, changes, requestedAt)
      : {
          standard: await this.folders.standard(account.accountId),
          setAside: false,
          outdated: false,
        };
  }

  /**
   * Reads the messages of a batch. A message that cannot be parsed is stored with as much as could
   * be read, and recorded as a failure. So is a message on which the provider failed.
   */
  async #read(
    run: Run,
    { messages, failed = [] }: Pick<MailChanges, 'messages' | 'failed'>,
  ): Promise<ReadBatch> {
    const { accountId } = run.account;
    const mirrored = await mirroredIds(
      this.database,
      accountId,
      messages.map(({ providerId }) => providerId),
    );
    const batch: ReadBatch = { incoming: [], failures: [] };
    const unknown: RemoteMessage[] = [];
    for (const remote of messages) {
      const isKnown = mirrored.has(remote.providerId) && remote.mayBeEdited !== true;
      if (isKnown || remote.messageIdHeader !== undefined)
        batch.incoming.push({ remote, parsed: null });
      else unknown.push(remote);
    }
    const { fresh, failed: unread } = await this.#withContents(run, unknown);
    const readable = fresh.map(({ remote: { providerId }, content }) => ({ providerId, content }));
    const { parsed, failures } = run.afterCrash
      ? await this.reader.readCarefully(readable, run.claim, run.state)
      : await this.reader.read(readable, accountId);
    for (const { remote } of fresh)
      batch.incoming.push({ remote, parsed: parsed.get(remote.providerId) ?? null });
    batch.failures.push(...failures, ...failedOf(fresh, [...failed, ...unread]));
    return batch;
  }

  /**
   * Reads the contents of messages that the mirror lacks, although only new flags of them were
   * reported. Messages older than the sync horizon are left out. Messages that the provider does
   * not find are requested again.
   */
  async #withContents(
    run: Run,
    messages: readonly RemoteMessage[],
  ): Promise<{ fresh: FreshMessage[]; failed: FailedMessage[] }> {
    const { account, mail, since } = run;
    const isWanted = ({ receivedAt }: RemoteMessage) => since === null || receivedAt >= since;
    const without = messages.filter(({ content }) => content === null);
    const fetched = mail.readMessages
      ? await this.#readContents(run, without)
      : await fetchRaws(account, mail, without.filter(isWanted));
    const fresh: FreshMessage[] = [];
    const failed: FailedMessage[] = [];
    for (const remote of messages) {
      const got = fetched.get(remote.providerId);
      // The provider may not have known the time of receipt before.
      const exact = { ...remote, receivedAt: got?.state?.receivedAt ?? remote.receivedAt };
      const content = remote.content ?? contentOf(got);
      // A change may be reported before it can be read.
      if (got === null && remote.content === null)
        failed.push({ providerId: remote.providerId, reason: NOT_FOUND });
      // Without a time, a message cannot be shown yet.
      else if (got?.failed !== undefined && !isDated(exact))
        failed.push({ providerId: remote.providerId, reason: got.failed });
      else if (content && (remote.content || isWanted(exact)))
        fresh.push({ remote: { ...exact, content }, content });
    }
    return { fresh, failed };
  }

  /**
   * @throws {BudgetExhaustedError} if the provider does not return all of them now: the batch is
   *   then read again
   */
  async #readContents(
    { account, mail }: Run,
    messages: readonly RemoteMessage[],
  ): Promise<FetchedMessages> {
    const all = new Map<string, ReadMessage | null>();
    let left = messages.map(({ providerId }) => providerId);
    while (mail.readMessages && left.length > 0) {
      const providerIds = left.slice(0, MOST_IDS);
      const request = { providerIds, content: true, priority: 'interactive' } as const;
      for (const [id, read] of await mail.readMessages(account, request)) all.set(id, read);
      const before = left.length;
      left = left.filter((id) => !all.has(id));
      if (left.length === before) throw new BudgetExhaustedError(RETRY_AFTER_SECONDS);
    }
    return all;
  }
}

/** Whether a provider reports no change, except perhaps of its cursor. */
const isEmpty = ({ folders, renamed, messages, removed, failed = [] }: MailChanges): boolean =>
  folders === null && renamed.length + messages.length + removed.length + failed.length === 0;
