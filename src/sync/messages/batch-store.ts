import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../platform/changes/change-log.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { BodyUploads } from '../../mail/messages/objects/body-uploads.ts';
import { storeEventIds } from '../../mail/messages/mirror/store-event-ids.ts';
import { dropMessages } from '../../mail/messages/mirror/remove-messages.ts';
import { expiredOf, unvanish, vanish } from '../../mail/messages/mirror/vanished-messages.ts';
import { sentByUs, storedCopyKey, unmirroredSent } from '../../mail/outbox/sent-by-us.ts';
import type { MailChanges, MailPort } from '../../providers/port/connector.ts';
import { harvestContacts } from '../collections/contact-harvest.ts';
import { UNREADABLE } from '../../mail/parsing/mime-parser.ts';
import { notificationsOf } from '../../mail/tracking/mirrored-mail.ts';
import { MailedInvitations } from '../../calendar/rsvp/mailed-invitations.ts';
import { Tracker } from '../../mail/tracking/tracker.ts';
import { hurryWritesOf } from '../../accounts/provider-writes/hurried-writes.ts';
import { knowledgeOf, knowledgeOfSent } from './batch-knowledge.ts';
import { EditedContents } from './edited-contents.ts';
import type { StandardFolders } from '../folders/folder-mirror.ts';
import { changesOf, type MirrorOwner } from './mirror-changes.ts';
import {
  type IncomingMessage,
  isListed,
  isUnreported,
  type Knowledge,
  type MirrorPlan,
  type NewMessage,
  planBatch,
} from './mirror-plan.ts';
import { type MirrorClaim, MirrorRepository } from '../mirror.repository.ts';
import { clearMessages } from './unclear-copies.ts';
import { writePlan, type Written } from './mirror-writes.ts';
import { isRefusedValue, refusedAmong } from '../failures/refused-values.ts';
import { type ReadFailure, recordFailures } from '../failures/sync-failures.ts';

/** A batch of mailbox changes that has been read and is ready to be stored. */
export interface Batch {
  changes: MailChanges;
  incoming: readonly IncomingMessage[];
  failures: readonly ReadFailure[];
  folders: StandardFolders;
  newsSince: Date | null;
  /**
   * True if earlier batches left vanished messages that may be among the messages of this batch.
   */
  hasVanished: boolean;
  /** When this batch was requested from the provider. */
  requestedAt: Date;
  /** Cursor at which this batch begins; `null` for the very first batch. */
  cursor: string | null;
  /** The port from which the batch comes. */
  mail: Pick<MailPort, 'readMessages' | 'marksSent'>;
}

/** Result of storing a batch. */
export interface StoredBatch {
  /** True if the account has vanished messages that may still reappear. */
  hasVanished: boolean;
  /** True if the mirror was changed, or a message could not be read. */
  changed: boolean;
  /**
   * True if one of our own provider writes ended after the batch was requested. The batch may show
   * the objects of these writes as they were before, so their changes were left out. The cursor was
   * set back to the start of the batch: run another sync pass, which reads the batch again.
   */
  outdated: boolean;
}

/** Ends the transaction of a batch that is not to be stored. */
class TrialEnded extends Error {
  override name = 'TrialEnded';
}

/** The batch with what is known of some messages without their contents. */
function withoutContents(batch: Batch, some: readonly IncomingMessage[], reason: string): Batch {
  const { incoming, failures, mail } = batch;
  const again = mail.readMessages !== undefined;
  const listed = { kind: 'listed', headers: null, snippet: null, failed: reason } as const;
  const set = new Set(some);
  return {
    ...batch,
    incoming: incoming.map((one) =>
      set.has(one)
        ? { remote: again ? { ...one.remote, content: listed } : one.remote, parsed: UNREADABLE }
        : one,
    ),
    failures: [
      ...failures,
      ...some.map(({ remote: { providerId } }) => ({ providerId, reason, again })),
    ],
  };
}

/**
 * A message that disappears from its folder is normally deleted here at once, because a provider
 * reports both halves of a move in one batch. In these cases it is marked as vanished instead, and
 * keeps its id if it reappears:
 * - It has an open provider write, or one that has just ended.
 * - A folder is being read in which it may turn up.
 * - More batches follow, and the recent changes are not complete yet.
 * - More batches follow, and at least this many messages disappear in one batch, for example
 *   because a folder was recreated.
 */
const MANY_GONE = 50;
/**
 * When a vanished message is deleted. While a folder is being read in which it may turn up, it is
 * kept (`MailChanges.mayTurnUp`); a day at most, in case the server never lets the folder be read.
 * While more batches follow for other reasons it is kept for `WAIT_MS`; the last batch deletes it.
 * A message with an open provider write is kept until the write ends, but for `LONGEST_WAIT_MS` at
 * most.
 */
const WAIT_MS = 5 * 60_000;
/** How long vanished messages are kept while a folder is being read in which they may turn up. */
const UNREAD_FOLDER_MS = 24 * 60 * 60_000;
const LONGEST_WAIT_MS = 60 * 60_000;
/** How long a request that has sent a message waits until it may change the mirror. */
const SENT_WAIT_MS = 2_000;

/** Stores one batch of a mailbox sync pass together with its cursor, in one transaction. */
@Injectable()
export class BatchStore {
  readonly #log = new Logger(BatchStore.name);

  constructor(
    private readonly repository: MirrorRepository,
    private readonly tracker: Tracker,
    private readonly invitations: MailedInvitations,
    private readonly contents: EditedContents,
    private readonly uploads: BodyUploads,
    private readonly clock: Clock,
  ) {}

  /**
   * Stores the batch and records its changes in the change log. Messages that the database refuses
   * are stored without their contents, and recorded as failures.
   * @throws {ClaimLostError} if another worker has claimed the mailbox; nothing is stored
   */
  async store(account: ConnectedAccount, claim: MirrorClaim, batch: Batch): Promise<StoredBatch> {
    try {
      return await this.#store(account, claim, batch, false);
    } catch (error) {
      if (!isRefusedValue(error)) throw error;
      const read = batch.incoming.filter(({ parsed }) => parsed !== null);
      const without = (some: readonly IncomingMessage[]) =>
        withoutContents(batch, some, `The message cannot be stored: ${error.message}`);
      const refused = await refusedAmong(read, (some) => {
        const others = read.filter((one) => !some.includes(one));
        return this.#isAccepted(account, claim, without(others));
      });
      if (refused.length === 0) throw error;
      return this.#store(account, claim, without(refused), false);
    }
  }

  /**
   * Adds messages that have just been sent, as a sync pass adds the provider's copies of them, but
   * without the provider's ids. A sync pass recognises the copies and completes the messages.
   * Messages that the mirror has already are left out.
   * @param sent their contents; the key and `remote.providerId` are the id of the row of the outbox
   * @throws the driver's error if the mirror cannot be changed within `SENT_WAIT_MS`
   */
  async addSent(
    account: ConnectedAccount,
    sent: ReadonlyMap<string, IncomingMessage>,
    folders: StandardFolders,
  ): Promise<void> {
    const { accountId, email } = account;
    const owner: MirrorOwner = { account, newsSince: null, at: this.clock.now() };
    const work = async (sql: Sql) => {
      const missing = await unmirroredSent(sql, accountId, [...sent.keys()]);
      const incoming = [...sent].flatMap(([id, one]) => (missing.has(id) ? one : []));
      if (incoming.length === 0) return;
      const knowledge = await knowledgeOfSent(sql, account, incoming, missing);
      const plan = planBatch(incoming, knowledge, { email, ...folders });
      this.#withoutMarks(plan, knowledge);
      for (const message of plan.added) message.providerId = null;
      const stored = await writePlan(sql, accountId, plan, owner.at);
      await recordChanges(sql, await this.#consequences(sql, owner, plan, stored, folders));
    };
    await this.repository.withMailbox(accountId, work, SENT_WAIT_MS);
  }

  async #isAccepted(account: ConnectedAccount, claim: MirrorClaim, batch: Batch): Promise<boolean> {
    try {
      await this.#store(account, claim, batch, true);
    } catch (error) {
      if (error instanceof TrialEnded) return true;
      if (!isRefusedValue(error)) throw error;
    }
    return false;
  }

  /** @throws {TrialEnded} for a trial: nothing is stored */
  async #store(
    account: ConnectedAccount,
    claim: MirrorClaim,
    batch: Batch,
    isTrial: boolean,
  ): Promise<StoredBatch> {
    const { accountId, email } = account;
    const { changes, folders, newsSince } = batch;
    const failures = [...batch.failures];
    const owner: MirrorOwner = { account, newsSince, at: this.clock.now() };
    const result = await this.repository.withClaim(claim, changes.cursor, async (sql) => {
      const knowledge = await knowledgeOf(sql, account, batch);
      const { incoming, unclear } = await clearMessages(sql, accountId, batch, knowledge);
      failures.push(...unclear);
      const plan = planBatch(incoming, knowledge, { email, ...folders });
      this.#withoutMarks(plan, knowledge);
      const stored = await writePlan(sql, accountId, plan, owner.at);
      const complete = plan.added.filter(({ remote }) => !isListed(remote));
      await this.uploads.add(sql, accountId, idsOf(complete), owner.at);
      const seen = [...knowledge.known.values(), ...plan.changed.map(({ known }) => known)];
      if (batch.hasVanished) await unvanish(sql, accountId, idsOf(seen));
      const gone = await this.#removeGone(sql, account, batch, { knowledge, plan, at: owner.at });
      const changed = await this.#consequences(sql, owner, plan, stored, folders);
      await recordFailures(sql, accountId, failures, owner.at);
      await recordChanges(sql, [...changed, ...gone.removed]);
      await this.contents.ofDrafts(sql, owner, plan.drafts, folders);
      await this.#completeSent(sql, owner, plan, batch);
      const outdated = knowledge.outdated || plan.missing.length > 0;
      if (outdated) await this.repository.resetCursor(sql, claim, batch.cursor);
      if (isTrial) throw new TrialEnded();
      const { added, drafts, merged } = plan;
      const written = [added, plan.changed, drafts, merged, gone.removed, failures];
      return {
        hasVanished: gone.hasVanished,
        changed: written.some(({ length }) => length > 0),
        outdated,
      };
    });
    for (const { providerId, reason } of failures) {
      this.#log.warn(
        `message ${providerId} of account ${accountId} could not be read; the mirror keeps what is known of it: ${reason}`,
      );
    }
    return result;
  }

  /**
   * Everything that follows from new messages once, when they are added to the mirror: contacts,
   * invitations, and notifications about tracked mail.
   * @returns the records for the change log, with those of the plan itself
   */
  async #consequences(
    sql: Sql,
    owner: MirrorOwner,
    plan: MirrorPlan,
    stored: Written,
    folders: StandardFolders,
  ): Promise<ChangeRecord[]> {
    // What follows from the content of a listed message follows when it is completed.
    const complete = plan.added.filter(({ remote }) => !isListed(remote));
    const harvested = await harvestContacts(sql, owner, complete, folders);
    const invited = await this.invitations.applyBatch(sql, owner, complete, folders);
    await storeEventIds(sql, owner.account.accountId, invited.events);
    return [
      ...changesOf(plan, stored, owner),
      ...harvested,
      ...invited.changes,
      ...(await trackingChanges(sql, owner, complete)),
    ];
  }

  /**
   * Completes sent messages whose copies the provider has reported: they get the content of the
   * copy if it differs, and changes that were made meanwhile are written now.
   */
  async #completeSent(
    sql: Sql,
    owner: MirrorOwner,
    plan: MirrorPlan,
    { failures, folders }: Batch,
  ): Promise<void> {
    const unreadable = new Set(failures.map(({ providerId }) => providerId));
    const readable = plan.copies.filter(({ remote }) => !unreadable.has(remote.providerId));
    await this.contents.ofSent(sql, owner, readable, folders);
    const reported = plan.changed.filter(({ known }) => isUnreported(known));
    await hurryWritesOf(
      sql,
      reported.map(({ known }) => known.id),
    );
  }

  /**
   * Removes our tracking pixel and links from messages we sent. Otherwise a user who opens the sent
   * copy would be counted as a reader.
   */
  #withoutMarks({ added }: MirrorPlan, { sent }: Knowledge): void {
    for (const message of added) {
      const { messageIdHeader, providerId } = message;
      if (sent.has(messageIdHeader ?? '') || sent.has(storedCopyKey(providerId ?? '')))
        message.body = this.tracker.withoutMarks(message.body);
    }
  }

  async #removeGone(
    sql: Sql,
    account: ConnectedAccount,
    { changes, hasVanished }: Batch,
    { knowledge, plan, at }: { knowledge: Knowledge; plan: MirrorPlan; at: Date },
  ): Promise<{ removed: ChangeRecord[]; hasVanished: boolean }> {
    const { accountId } = account;
    const found = new Set(plan.changed.map((change) => change.known.id));
    const removed = new Set(changes.removed);
    const gone = knowledge.unplaced.filter(
      ({ id, providerId }) => !found.has(id) && removed.has(providerId ?? ''),
    );
    const { mayTurnUp = false } = changes;
    const isLarge = gone.length >= MANY_GONE;
    const patient = mayTurnUp || (changes.more && (!changes.present || isLarge));
    const waitedFor = gone.filter(({ id }) => patient || knowledge.writes.has(id));
    await vanish(sql, accountId, idsOf(waitedFor), at);
    const now = gone.filter((one) => !waitedFor.includes(one)).map(({ id }) => id);
    const ago = (ms: number) => new Date(at.getTime() - (mayTurnUp ? UNREAD_FOLDER_MS : ms));
    const before = ago(changes.more ? WAIT_MS : 0);
    const latest = ago(LONGEST_WAIT_MS);
    const waiting = hasVanished || waitedFor.length > 0;
    const expired = waiting ? await expiredOf(sql, accountId, before, latest) : [];
    return {
      removed: await dropMessages(sql, account, [...now, ...expired], at),
      hasVanished: waiting,
    };
  }
}

/** Changes of tracked mail, such as replies and bounces, that newly received messages cause. */
function trackingChanges(
  sql: Sql,
  { account, newsSince, at }: MirrorOwner,
  added: readonly NewMessage[],
) {
  const news = added.filter(
    ({ draft, remote }) => !draft && (!newsSince || remote.receivedAt >= newsSince),
  );
  const arrived = news.map((message) => ({ ...message, receivedAt: message.remote.receivedAt }));
  const findSentByUs = (headers: readonly string[]) => sentByUs(sql, account.accountId, headers);
  return notificationsOf(sql, account, arrived, findSentByUs, at);
}
