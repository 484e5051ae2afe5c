import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { ConflictError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Listing, PageOfView } from '../../platform/database/listing.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { giveSlotBack } from '../../platform/work/gates/rate-gates.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type {
  FirstResponse,
  IdempotentRequest,
} from '../../platform/idempotency/idempotency-keys.ts';
import { IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.ts';
import { transitionJobs } from '../../job-statuses/jobs.ts';
import { OutgoingMessages } from '../composing/outgoing-messages.ts';
import { cancellationReason } from './steer/cancellation-reason.ts';
import type { OutboxItem } from './accept/outbox-content.ts';
import { OutboxIntake } from './accept/outbox-intake.ts';
import { OutboxPreparation, type OutboxRequest } from './accept/outbox-preparation.ts';
import {
  type EditedMessage,
  type NewOutboxMessage,
  OutboxRepository,
  type StoredItem,
  type WaitingSchedule,
} from './outbox.repository.ts';
import { assertVersion, type VersionGuard } from './accept/version-guard.ts';

export type { NewOutboxMessage };

/** States of a message that is still to be sent. */
const OPEN: readonly string[] = ['pending', 'delayed'];

/** How often an edit starts over because of concurrent changes. */
const MOST_TRIES = 5;

/** The message is being sent, may have been sent, or is finished. Nothing was changed. */
export class OutboxMessageNotEditableError extends ConflictError {
  constructor(status: string) {
    const state = OPEN.includes(status) ? 'is being sent or has been attempted' : `is ${status}`;
    super('outbox.not-editable', `The message ${state} and can no longer be changed.`);
  }
}

/**
 * Accepts, edits and cancels messages. Each change is committed before its method returns, except
 * in `acceptInvitations`.
 */
@Injectable()
export class OutboxService {
  constructor(
    private readonly repository: OutboxRepository,
    private readonly preparation: OutboxPreparation,
    private readonly outgoing: OutgoingMessages,
    private readonly intake: OutboxIntake,
    private readonly keys: IdempotencyKeys,
    private readonly clock: Clock,
  ) {}

  /**
   * Accepts a message to be sent now or later.
   * @throws {InvalidInputError} naming the field
   */
  async create(account: AccountPrincipal, request: OutboxRequest): Promise<OutboxItem> {
    const { accountId } = account;
    const checked = await this.preparation.check(account, request);
    return this.preparation.compose(checked, async (compose) => {
      const message = await compose();
      if (message.alongside)
        await this.repository.transaction(accountId, (sql) => this.#insert(sql, message));
      else await this.intake.accept(message);
      return accepted(message);
    });
  }

  /**
   * Accepts a message under an idempotency key.
   * @param toAnswer makes the response; repeated requests get the same one
   * @throws {InvalidInputError} @throws {IdempotencyKeyReusedError}
   */
  async createOnce(
    call: IdempotentRequest,
    account: AccountPrincipal,
    request: OutboxRequest,
    toAnswer: (item: OutboxItem) => FirstResponse,
  ): Promise<{ answer: FirstResponse; replayed: boolean }> {
    const known = await this.keys.find(call);
    if (known) return { answer: known, replayed: true };
    const checked = await this.preparation.check(account, request);
    return this.preparation.compose(checked, (compose) =>
      this.keys.once(call, async () => {
        const message = await compose();
        return { answer: toAnswer(accepted(message)), store: (sql) => this.#insert(sql, message) };
      }),
    );
  }

  async #insert(sql: Sql, message: NewOutboxMessage): Promise<void> {
    await this.repository.insert(message, sql);
    await this.outgoing.storeAlongside(sql, message.accountId, message);
  }

  /**
   * Accepts messages about events in the caller's transaction. They are sent at once by the rules
   * of the outbox. They have jobs of their own (`send_invitation`) and can be neither edited nor
   * cancelled.
   */
  async acceptInvitations(sql: Sql, messages: readonly NewOutboxMessage[]): Promise<void> {
    if (messages.length > 0) await this.repository.insertInvitations(messages, sql);
  }

  /** @throws {NotFoundError} */
  async get(account: AccountPrincipal, id: string): Promise<OutboxItem> {
    const item = isId(id) ? await this.repository.find(account.accountId, id) : undefined;
    if (!item) throw new NotFoundError('outbox message', id);
    return item;
  }

  /** Lists messages that are still to be sent. */
  list(account: AccountPrincipal, page: PageOfView): Promise<Listing<OutboxItem>> {
    return this.repository.listOpen(account.accountId, page);
  }

  /**
   * Applies an edit in full or not at all. Possible until the first attempt has begun. An edit that
   * changes nothing has no effect, and its message keeps its version.
   * @throws {OutboxMessageNotEditableError} @throws {NotFoundError} @throws {InvalidInputError}
   * @throws {DomainError} as `assertVersion`
   */
  async update(
    account: AccountPrincipal,
    id: string,
    request: OutboxRequest,
    guard: VersionGuard,
  ): Promise<OutboxItem> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const seen = await this.#editable(account, id, guard);
      // Attachments may have to be fetched, so no lock is taken yet.
      const checked = await this.preparation.checkEdit(account, seen, request);
      if (!checked) return seen;
      const item = await this.preparation.compose(checked, async (compose) =>
        this.#store(seen, await compose(), guard),
      );
      if (!item) continue;
      return item;
    }
    throw new ConflictError(
      'outbox.changing',
      'The message is being changed by other requests at the same time. Read it again and repeat the edit.',
    );
  }

  /** Reads the message, and refuses an edit that cannot succeed before any work is done for it. */
  async #editable(account: AccountPrincipal, id: string, guard: VersionGuard): Promise<StoredItem> {
    const item = isId(id) ? await this.repository.find(account.accountId, id) : undefined;
    if (!item) throw new NotFoundError('outbox message', id);
    assertVersion(guard, item.version);
    if (!OPEN.includes(item.status)) throw new OutboxMessageNotEditableError(item.status);
    return item;
  }

  /** @returns `null` if the message was changed since it was read */
  async #store(
    seen: StoredItem,
    edited: EditedMessage,
    guard: VersionGuard,
  ): Promise<OutboxItem | null> {
    const { id, accountId } = seen;
    return this.repository.transaction(accountId, async (sql) => {
      const { current, schedule } = await this.#lock(sql, accountId, id, guard);
      if (!schedule || schedule.attempt > 0)
        throw new OutboxMessageNotEditableError(current.status);
      if (current.version !== seen.version) return null;
      await this.repository.update(sql, accountId, id, edited);
      await this.outgoing.storeAlongside(sql, accountId, edited);
      const moved = edited.sendAt.getTime() !== current.sendAt.getTime();
      // The old reason belongs to a send time that no longer applies.
      const status = edited.sendAt > edited.at ? 'pending' : current.status;
      const reason = status === 'pending' ? null : current.reason;
      if (status !== current.status) await transitionJobs(sql, [{ id, to: 'pending' }], edited.at);
      if (schedule.paced && moved) await giveSlotBack(sql, accountId);
      const version = current.version + 1;
      return { ...current, ...edited, status, reason, originalSendAt: edited.sendAt, version };
    });
  }

  /**
   * Cancels a message that is not being sent. Afterwards it can no longer be sent. A message that
   * is already cancelled is returned as it is, so that a client can repeat a request whose response
   * was lost.
   * @throws {OutboxMessageNotEditableError} @throws {NotFoundError}
   * @throws {DomainError} as `assertVersion`
   */
  async cancel(account: AccountPrincipal, id: string, guard: VersionGuard): Promise<OutboxItem> {
    await this.get(account, id);
    const { accountId } = account;
    return this.repository.transaction(accountId, async (sql) => {
      const { current, schedule } = await this.#lock(sql, accountId, id, guard);
      if (current.status === 'cancelled') return current;
      if (!schedule) throw new OutboxMessageNotEditableError(current.status);
      await this.repository.removeSchedule(sql, accountId, id);
      const reason = cancellationReason('cancelled by the user', current.accepted);
      await transitionJobs(sql, [{ id, to: 'cancelled', reason }], this.clock.now());
      if (schedule.paced) await giveSlotBack(sql, accountId);
      return { ...current, status: 'cancelled', reason };
    });
  }

  /**
   * Takes the lock that the sender takes. Until the commit, the message is not sent, edited or
   * cancelled by anything else.
   * @returns `schedule`: `undefined` if the message is being sent, may have been sent, or is
   *   finished
   * @throws {NotFoundError}
   * @throws {DomainError} as `assertVersion`
   */
  async #lock(
    sql: Sql,
    accountId: string,
    id: string,
    guard: VersionGuard,
  ): Promise<{ current: StoredItem; schedule: WaitingSchedule | undefined }> {
    const schedule = await this.repository.lockWaiting(sql, accountId, id);
    const current = await this.repository.find(accountId, id, sql);
    if (!current) throw new NotFoundError('outbox message', id);
    assertVersion(guard, current.version);
    return { current, schedule };
  }
}

function accepted(message: NewOutboxMessage): OutboxItem {
  const { sendAt, at } = message;
  return {
    ...message,
    status: 'pending',
    reason: null,
    route: null,
    originalSendAt: sendAt,
    createdAt: at,
    version: 1,
  };
}
