import { Injectable } from '@nestjs/common';
import type { Page } from '../common/http/pagination.schema.ts';
import { Conditions } from '../database/conditions.ts';
import { type Listing, runListing } from '../database/listing.ts';
import { Database, type Sql } from '../database/sql.ts';
import type { OutboxContent, OutboxItem, OutboxTimes } from './outbox-content.ts';

/** A message as it is written: content, and what the sender needs. */
export interface ComposedMessage {
  content: OutboxContent;
  envelope: { from: string; recipients: string[] };
  mime: Buffer;
}

/** A new message with its ids and times. */
export interface NewOutboxMessage extends ComposedMessage, OutboxTimes {
  id: string;
  accountId: string;
  messageIdHeader: string;
  messageId: string;
  threadId: string;
  at: Date;
}

/** One statement: status, content and schedule stand or fall together, in one round trip. */
export const INSERT_MESSAGE = `
  with status as (
    insert into job_status (id, account_id, action, object, status, send_at, original_send_at, retry_limit_at,
                            message_id, thread_id, created_at, updated_at)
    values ($1, $2, 'new_outbox', 'message', 'pending', $3, $3, $4, $5, $6, $7, $7)),
  content as (
    insert into outbox_message (id, account_id, content, envelope, mime, message_id_header)
    values ($1, $2, $8, $9, $10, $11))
  insert into send_job (id, account_id, run_at, due_at, retry_limit_at)
  values ($1, $2, greatest($3, now()), $3, $4)`;

const ITEM = `
  s.id, s.account_id as "accountId", m.content, s.status, s.reason, s.send_at as "sendAt",
  s.original_send_at as "originalSendAt", s.retry_limit_at as "retryLimitAt", s.message_id as "messageId",
  s.thread_id as "threadId", s.created_at as "createdAt"`;

const FIND = `
  select ${ITEM}, m.message_id_header as "messageIdHeader"
  from job_status s join outbox_message m using (id)
  where s.id = $1 and s.account_id = $2`;

const LOCK_WAITING = `
  select attempt from send_job
  where id = $1 and account_id = $2 and state = 0 and not ambiguous for update`;

const UPDATE = `
  with schedule as (
    update send_job set run_at = greatest($3, now()), due_at = $3, retry_limit_at = $4 where id = $1),
  content as (
    update outbox_message set content = $5, envelope = $6, mime = $7 where id = $1)
  update job_status set send_at = $3, original_send_at = $3, retry_limit_at = $4, thread_id = $8,
    version = version + 1, updated_at = $9
  where id = $1 and account_id = $2`;

const REMOVE = 'delete from send_job where id = $1 and account_id = $2';

const REPLY_TARGET = `
  select id, thread_id as "threadId", message_id_header as "messageIdHeader", reference_ids as "references", subject
  from message where id = $1 and account_id = $2`;

/** A message that is being answered. */
export interface ReplyTarget {
  id: string;
  threadId: string;
  messageIdHeader: string | null;
  references: string[];
  subject: string;
}

/** SQL of the outbox; every statement carries the account. */
@Injectable()
export class OutboxRepository {
  constructor(private readonly database: Database) {}

  async insert(message: NewOutboxMessage): Promise<void> {
    await this.database.query(INSERT_MESSAGE, [
      message.id,
      message.accountId,
      message.sendAt,
      message.retryLimitAt,
      message.messageId,
      message.threadId,
      message.at,
      JSON.stringify(message.content),
      JSON.stringify(message.envelope),
      message.mime,
      message.messageIdHeader,
    ]);
  }

  async find(
    accountId: string,
    id: string,
    sql: Sql = this.database,
  ): Promise<(OutboxItem & { messageIdHeader: string }) | undefined> {
    const [row] = await sql.query<OutboxItem & { messageIdHeader: string }>(FIND, [id, accountId]);
    return row;
  }

  /** Messages that are still to be sent, oldest first. @throws {PageTooLargeError} */
  listOpen(accountId: string, page: Page): Promise<Listing<OutboxItem>> {
    const conditions = new Conditions();
    conditions.add(`s.account_id = ${conditions.value(accountId)}`);
    conditions.add(`s.status in ('pending', 'delayed')`);
    return runListing<OutboxItem>(this.database, {
      columns: ITEM,
      from: 'job_status s join outbox_message m using (id)',
      id: 's.id',
      // The MIME is about as long as the content, and its length is known without being read.
      bytes: 'octet_length(m.mime)',
      orderBy: 's.id',
      conditions,
      page,
    });
  }

  /**
   * Locks the schedule of a message that nobody is sending.
   * @returns attempts made so far; undefined while it is being sent, may have been sent, or is finished
   */
  async lockWaiting(sql: Sql, accountId: string, id: string): Promise<number | undefined> {
    const [row] = await sql.query<{ attempt: number }>(LOCK_WAITING, [id, accountId]);
    return row?.attempt;
  }

  async update(
    sql: Sql,
    accountId: string,
    id: string,
    message: ComposedMessage & OutboxTimes & { threadId: string; at: Date },
  ): Promise<void> {
    await sql.query(UPDATE, [
      id,
      accountId,
      message.sendAt,
      message.retryLimitAt,
      JSON.stringify(message.content),
      JSON.stringify(message.envelope),
      message.mime,
      message.threadId,
      message.at,
    ]);
  }

  async removeSchedule(sql: Sql, accountId: string, id: string): Promise<void> {
    await sql.query(REMOVE, [id, accountId]);
  }

  async findReplyTarget(
    accountId: string,
    messageId: string,
    sql: Sql = this.database,
  ): Promise<ReplyTarget | undefined> {
    const [row] = await sql.query<ReplyTarget>(REPLY_TARGET, [messageId, accountId]);
    return row;
  }

  /** The one transaction helper of this room. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }
}
