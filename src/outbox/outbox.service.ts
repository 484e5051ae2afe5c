import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../auth/principal.ts';
import { ConflictError, NotFoundError } from '../common/errors/domain-error.ts';
import { isId } from '../common/ids/ids.ts';
import type { Page } from '../common/http/pagination.schema.ts';
import { Clock } from '../common/time/clock.ts';
import { Wake } from '../common/wake.ts';
import type { Listing } from '../database/listing.ts';
import type { Sql } from '../database/sql.ts';
import type { FirstAnswer, IdempotentRequest } from '../idempotency/idempotency-keys.ts';
import { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import { moveJobs } from '../job-statuses/jobs.ts';
import type { OutboxItem } from './outbox-content.ts';
import { OutboxIntake } from './outbox-intake.ts';
import { OutboxPreparation, refuseUnsupported } from './outbox-preparation.ts';
import {
  type NewOutboxMessage,
  OutboxRepository,
  type StoredItem,
  type WaitingSchedule,
} from './outbox.repository.ts';
import type { CreateOutboxMessage } from './outbox.schema.ts';
import { assertVersion, type VersionGuard } from './version-guard.ts';

/** The message is being sent, may have been sent, or is finished: nothing was changed. */
export class OutboxMessageNotEditableError extends ConflictError {
  constructor(status: string) {
    const state = ['pending', 'delayed'].includes(status)
      ? 'is being sent or has been attempted'
      : `is ${status}`;
    super('outbox.not-editable', `The message ${state} and can no longer be changed.`);
  }
}

/** Accepting, editing and cancelling messages (spec 4.3). What it promises is committed before it returns. */
@Injectable()
export class OutboxService {
  constructor(
    private readonly repository: OutboxRepository,
    private readonly preparation: OutboxPreparation,
    private readonly intake: OutboxIntake,
    private readonly keys: IdempotencyKeys,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {}

  /**
   * Accepts a message that is to leave at once or later.
   * @throws {InvalidInputError} naming the field
   */
  async create(account: AccountPrincipal, body: CreateOutboxMessage): Promise<OutboxItem> {
    const message = await this.preparation.prepare(account, body);
    await this.intake.accept(message);
    this.#wakeFor(message);
    return accepted(message);
  }

  /**
   * The same under an idempotency key.
   * @param toAnswer what the request is answered; it is answered the same again
   * @throws {InvalidInputError} @throws {IdempotencyKeyReusedError}
   */
  async createOnce(
    request: IdempotentRequest,
    account: AccountPrincipal,
    body: CreateOutboxMessage,
    toAnswer: (item: OutboxItem) => FirstAnswer,
  ): Promise<{ answer: FirstAnswer; replayed: boolean }> {
    let message: NewOutboxMessage | undefined;
    const result = await this.keys.once(request, async () => {
      const prepared = await this.preparation.prepare(account, body);
      message = prepared;
      return {
        answer: toAnswer(accepted(prepared)),
        store: (sql) => this.repository.insert(prepared, sql),
      };
    });
    if (message && !result.replayed) this.#wakeFor(message);
    return result;
  }

  /** @throws {NotFoundError} */
  async get(account: AccountPrincipal, id: string): Promise<OutboxItem> {
    const item = isId(id) ? await this.repository.find(account.accountId, id) : undefined;
    if (!item) throw new NotFoundError('outbox message', id);
    return item;
  }

  /** Messages that are still to be sent. */
  list(account: AccountPrincipal, page: Page): Promise<Listing<OutboxItem>> {
    return this.repository.listOpen(account.accountId, page);
  }

  /**
   * Applies an edit in full or not at all; possible until the first attempt has begun.
   * @throws {OutboxMessageNotEditableError} @throws {NotFoundError} @throws {InvalidInputError}
   * @throws {PreconditionFailedError} @throws {VersionConflictError}
   */
  async update(
    account: AccountPrincipal,
    id: string,
    body: CreateOutboxMessage,
    guard: VersionGuard,
  ): Promise<OutboxItem> {
    refuseUnsupported(body);
    await this.get(account, id);
    const { accountId } = account;
    const target = await this.preparation.replyTarget(accountId, body.reply_to_message_id);
    const item = await this.repository.transaction(accountId, async (sql) => {
      const { current, schedule } = await this.#lock(sql, accountId, id, guard);
      if (schedule.attempt > 0) throw new OutboxMessageNotEditableError(current.status);
      const edited = await this.preparation.prepareEdit(sql, current, body, target);
      await this.repository.update(sql, accountId, id, edited);
      const moved = edited.sendAt.getTime() !== current.sendAt.getTime();
      // Its reason was that of a time that no longer counts.
      const status = edited.sendAt > edited.at ? 'pending' : current.status;
      const reason = status === 'pending' ? null : current.reason;
      if (status !== current.status) await moveJobs(sql, [{ id, to: 'pending' }], edited.at);
      if (schedule.paced && moved) await this.repository.giveSlotBack(sql, accountId);
      const version = current.version + 1;
      return { ...current, ...edited, status, reason, originalSendAt: edited.sendAt, version };
    });
    this.wake.wake('send');
    return item;
  }

  /**
   * Cancels a message nobody is sending; afterwards it cannot leave any more.
   * @throws {OutboxMessageNotEditableError} @throws {NotFoundError}
   * @throws {PreconditionFailedError} @throws {VersionConflictError}
   */
  async cancel(account: AccountPrincipal, id: string, guard: VersionGuard): Promise<OutboxItem> {
    await this.get(account, id);
    const { accountId } = account;
    const { item, hooks } = await this.repository.transaction(accountId, async (sql) => {
      const { current, schedule } = await this.#lock(sql, accountId, id, guard);
      await this.repository.removeSchedule(sql, accountId, id);
      const reason = cancellationReason(current);
      const moved = await moveJobs(sql, [{ id, to: 'cancelled', reason }], this.clock.now());
      if (schedule.paced) await this.repository.giveSlotBack(sql, accountId);
      return { item: { ...current, status: 'cancelled', reason }, hooks: moved.hooks };
    });
    if (hooks) this.wake.wake('hook');
    return item;
  }

  /**
   * Takes the lock that the sender takes: from here to the commit nobody sends, edits or cancels it.
   * @throws {NotFoundError} @throws {OutboxMessageNotEditableError}
   */
  async #lock(
    sql: Sql,
    accountId: string,
    id: string,
    guard: VersionGuard,
  ): Promise<{ current: StoredItem; schedule: WaitingSchedule }> {
    const schedule = await this.repository.lockWaiting(sql, accountId, id);
    const current = await this.repository.find(accountId, id, sql);
    if (!current) throw new NotFoundError('outbox message', id);
    assertVersion(guard, current.version);
    if (!schedule) throw new OutboxMessageNotEditableError(current.status);
    return { current, schedule };
  }

  #wakeFor({ sendAt, at }: NewOutboxMessage): void {
    if (sendAt <= at) this.wake.wake('send');
  }
}

/** A message as it was accepted. */
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

const SHOWN_RECIPIENTS = 20;

/** Says who has it already, when some recipients accepted it in an earlier attempt. */
function cancellationReason({ accepted: recipients }: StoredItem): string {
  if (recipients.length === 0) return 'cancelled by the user';
  const shown = recipients.slice(0, SHOWN_RECIPIENTS).join(', ');
  const more = recipients.length - SHOWN_RECIPIENTS;
  return `cancelled by the user; already accepted for ${shown}${more > 0 ? ` and ${more} more` : ''}`;
}
