import { Inject, Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../auth/principal.ts';
import {
  ConflictError,
  InvalidInputError,
  NotFoundError,
  NotImplementedError,
} from '../common/errors/domain-error.ts';
import { isId, newId, randomBase36 } from '../common/ids/ids.ts';
import type { Page } from '../common/http/pagination.schema.ts';
import { Clock } from '../common/time/clock.ts';
import { Wake } from '../common/wake.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import type { Listing } from '../database/listing.ts';
import type { Sql } from '../database/sql.ts';
import { moveJobs } from '../job-statuses/jobs.ts';
import { ConnectorRegistry } from '../providers/connector-registry.ts';
import { compose, recipientsOf } from '../send/compose.ts';
import type { OutboxContent, OutboxItem } from './outbox-content.ts';
import { mergeContent, toContent } from './outbox.mapper.ts';
import { type ComposedMessage, OutboxRepository, type ReplyTarget } from './outbox.repository.ts';
import type { CreateOutboxMessage } from './outbox.schema.ts';
import { resolveTimes } from './outbox-times.ts';

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
  readonly #domain: string;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly repository: OutboxRepository,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {
    this.#domain = config.outbox.mailDomain;
  }

  /**
   * Accepts a message that is to leave at once or later.
   * @throws {InvalidInputError} naming the field
   */
  async create(account: AccountPrincipal, body: CreateOutboxMessage): Promise<OutboxItem> {
    refuseUnsupported(body);
    this.connectors.requireMail(account.provider);
    const at = this.clock.now();
    const times = resolveTimes(
      { sendAt: body.send_at ?? undefined, retryLimit: body.retry_limit_datetime ?? undefined },
      at,
    );
    const target = await this.#replyTarget(account.accountId, body.reply_to_message_id);
    const content = withReplySubject(toContent(body, account), target);
    const id = newId();
    const messageIdHeader = `<${id}.${randomBase36(10)}@${this.#domain}>`;
    const composed = await composeMessage(content, messageIdHeader, times.sendAt, target);
    const message = {
      id,
      accountId: account.accountId,
      messageIdHeader,
      messageId: newId(),
      threadId: target?.threadId ?? newId(),
      at,
      ...times,
      ...composed,
    };
    await this.repository.insert(message);
    if (times.sendAt <= at) this.wake.wake('send');
    return { ...message, status: 'pending', reason: null, originalSendAt: times.sendAt, createdAt: at };
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
   */
  async update(account: AccountPrincipal, id: string, body: CreateOutboxMessage): Promise<OutboxItem> {
    refuseUnsupported(body);
    await this.get(account, id);
    const { accountId } = account;
    const target = await this.#replyTarget(accountId, body.reply_to_message_id);
    const item = await this.repository.transaction(async (sql) => {
      const attempts = await this.repository.lockWaiting(sql, accountId, id);
      const current = await this.repository.find(accountId, id, sql);
      if (!current) throw new NotFoundError('outbox message', id);
      if (attempts !== 0) throw new OutboxMessageNotEditableError(current.status);
      const at = this.clock.now();
      const times = resolveTimes(
        { sendAt: body.send_at ?? undefined, retryLimit: body.retry_limit_datetime ?? undefined },
        at,
        current,
      );
      const content = mergeContent(current.content, body);
      const replyTo = target ?? (await this.#storedTarget(sql, accountId, content));
      const composed = await composeMessage(content, current.messageIdHeader, times.sendAt, replyTo);
      const threadId = replyTo?.threadId ?? current.threadId;
      await this.repository.update(sql, accountId, id, { ...composed, ...times, threadId, at });
      return { ...current, ...times, threadId, content: composed.content, originalSendAt: times.sendAt };
    });
    this.wake.wake('send');
    return item;
  }

  /**
   * Cancels a message nobody is sending; afterwards it cannot leave any more.
   * @throws {OutboxMessageNotEditableError} @throws {NotFoundError}
   */
  async cancel(account: AccountPrincipal, id: string): Promise<OutboxItem> {
    await this.get(account, id);
    const { accountId } = account;
    const { item, hooks } = await this.repository.transaction(async (sql) => {
      const attempts = await this.repository.lockWaiting(sql, accountId, id);
      if (attempts === undefined) {
        const current = await this.repository.find(accountId, id, sql);
        throw new OutboxMessageNotEditableError(current?.status ?? 'gone');
      }
      await this.repository.removeSchedule(sql, accountId, id);
      const moved = await moveJobs(
        sql,
        [{ id, to: 'cancelled', reason: 'cancelled by the user' }],
        this.clock.now(),
      );
      return { item: await this.repository.find(accountId, id, sql), hooks: moved.hooks };
    });
    if (hooks) this.wake.wake('hook');
    if (!item) throw new NotFoundError('outbox message', id);
    return item;
  }

  async #replyTarget(
    accountId: string,
    messageId: string | null | undefined,
  ): Promise<ReplyTarget | undefined> {
    if (!messageId) return undefined;
    const target = isId(messageId) ? await this.repository.findReplyTarget(accountId, messageId) : undefined;
    if (!target)
      throw new InvalidInputError(`reply_to_message_id: Couldn't find message ${messageId.slice(0, 100)}`);
    return target;
  }

  /** The message an edited reply answers; it may have been deleted since. */
  async #storedTarget(sql: Sql, accountId: string, content: OutboxContent): Promise<ReplyTarget | undefined> {
    const { reply_to_message_id: id } = content;
    return id ? this.repository.findReplyTarget(accountId, id, sql) : undefined;
  }
}

function refuseUnsupported({ file_ids, tracking }: CreateOutboxMessage): void {
  const [fileId] = file_ids ?? [];
  if (fileId !== undefined)
    throw new InvalidInputError(`file_ids: Couldn't find file ${fileId.slice(0, 100)}`);
  if (tracking?.opens || tracking?.links || tracking?.thread_replies) {
    throw new NotImplementedError('tracking: message tracking is not part of this version');
  }
}

function withReplySubject(content: OutboxContent, target: ReplyTarget | undefined): OutboxContent {
  if (!target || content.subject !== '') return content;
  return { ...content, subject: /^re:/i.test(target.subject) ? target.subject : `Re: ${target.subject}` };
}

async function composeMessage(
  content: OutboxContent,
  messageIdHeader: string,
  date: Date,
  target: ReplyTarget | undefined,
): Promise<ComposedMessage> {
  const recipients = recipientsOf(content);
  if (recipients.length === 0)
    throw new InvalidInputError('No recipients specified', { missingFields: ['to'] });
  const [from] = content.from;
  if (!from) throw new InvalidInputError('from: must have one entry');
  const answered = target?.messageIdHeader;
  const mime = await compose({
    from,
    to: content.to,
    cc: content.cc,
    bcc: content.bcc,
    replyTo: content.reply_to,
    subject: content.subject,
    html: content.body,
    messageIdHeader,
    date,
    inReplyTo: answered,
    references: answered ? [...(target?.references ?? []), answered] : [],
  });
  return { content, envelope: { from: from.email, recipients }, mime };
}
