import { Injectable } from '@nestjs/common';
import { type Listing, type PageOfView, runListing } from '../../platform/database/listing.ts';
import { KeyedLimit } from '../../platform/base/concurrency/keyed-limit.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { afterCommit, Database, idsOf, type Sql } from '../../platform/database/sql.ts';
import { sendsAccepted } from '../../platform/metrics/queue-metrics.ts';
import { type RateGateDelay, rateGateDelay } from '../../platform/work/gates/rate-gates.ts';
import type { ComposedMessage } from '../composing/outgoing-messages.ts';
import type { OutboxChoices, OutboxItem, OutboxTimes } from './accept/outbox-content.ts';
import { currentTraceparent } from '../../platform/tracing/traceparent.ts';
import { wakeAfterCommit } from '../../platform/work/signals.ts';
import { ROW_WAITING } from '../../platform/work/queue/row-state.ts';
import type { OutboxMessage } from './outbox-message.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A new message with its ids and times. */
export interface NewOutboxMessage extends ComposedMessage, OutboxTimes, OutboxChoices {
  id: string;
  accountId: string;
  messageIdHeader: string;
  messageId: string;
  threadId: string;
  at: Date;
  /** Span of the request that accepted it. Absent: the current span. */
  traceparent?: string | null;
}

/** A message after an edit. */
export interface EditedMessage extends ComposedMessage, OutboxTimes, OutboxChoices {
  threadId: string;
  at: Date;
}

/**
 * One statement stores any number of messages. Status, content and queue row are stored together or
 * not at all, in one round trip and one commit. $1 is a JSON array of everything but the MIME. $2
 * is all MIME in one piece, so that nothing has to be escaped.
 */
const insertText = (accounts: string, action: 'new_outbox' | 'send_invitation' = 'new_outbox') => `
  with given as materialized (
    select g.*, substring($2::bytea from g.mime_from for g.mime_length) as mime
    from json_to_recordset($1::json) as g(
      id uuid, account_id uuid, send_at timestamptz, retry_limit_at timestamptz, message_id uuid, thread_id uuid,
      at timestamptz, content jsonb, envelope jsonb, message_id_header text, on_missed text, max_lateness_seconds int,
      on_unknown text, mime_from int, mime_length int, traceparent text)
    ${accounts}),
  status as (
    insert into job_status (id, account_id, action, object, object_id, status, send_at, original_send_at, retry_limit_at,
                            message_id, thread_id, created_at, updated_at)
    select id, account_id, '${action}', 'message', ${action === 'new_outbox' ? 'null::uuid' : 'message_id'}, 'pending',
      send_at, send_at, retry_limit_at, message_id, thread_id, at, at
    from given),
  content as (
    insert into outbox_message (id, account_id, content, envelope, mime, message_id_header, on_missed,
                                max_lateness_seconds, on_unknown)
    select id, account_id, content, envelope, mime, message_id_header, on_missed, max_lateness_seconds, on_unknown
    from given)
  insert into send_job (id, account_id, run_at, due_at, retry_limit_at, traceparent)
  select id, account_id, greatest(send_at, now()), send_at, retry_limit_at, traceparent from given
  returning id`;

const INSERT = insertText('');
const INSERT_INVITATIONS = insertText('', 'send_invitation');
// Takes the lock that the foreign keys take, and skips accounts that are locked: removing an
// account locks it until the removal is finished.
const INSERT_WITHOUT_WAITING = insertText(`
    where g.account_id in (select a.id from "grant" a where a.id = any($3::uuid[]) for key share skip locked)`);

const ITEM = `
  s.id, s.account_id as "accountId", m.content, s.status, s.reason, s.send_at as "sendAt",
  s.original_send_at as "originalSendAt", s.retry_limit_at as "retryLimitAt", s.message_id as "messageId",
  s.thread_id as "threadId", s.route, s.created_at as "createdAt",
  s.version, m.on_missed as "onMissed", m.max_lateness_seconds as "maxLatenessSeconds", m.on_unknown as "onUnknown"`;

const FIND = `
  select ${ITEM}, m.message_id_header as "messageIdHeader", m.accepted
  from job_status s join outbox_message m using (id)
  where s.id = $1 and s.account_id = $2 and s.action = 'new_outbox'`;

const LOCK_WAITING = `
  select attempt, attempt = 0 and run_at > due_at and run_at > now() as paced from send_job
  where id = $1 and account_id = $2 and state = ${ROW_WAITING} and not ambiguous for update`;

// An edited message that keeps its send time keeps its slot. Otherwise it would wait for the
// account's pace once more. No message waits beyond its deadline.
const UPDATE = `
  with schedule as (
    update send_job set due_at = $3, retry_limit_at = $4, held = held and due_at = $3, paused = false,
      run_at = case when due_at = $3 and not paused then least(run_at, greatest($4, now())) else greatest($3, now()) end
    where id = $1),
  content as (
    update outbox_message set content = $5, envelope = $6, mime = $7, on_missed = $10, max_lateness_seconds = $11,
      on_unknown = $12
    where id = $1)
  update job_status set send_at = $3, original_send_at = $3, retry_limit_at = $4, thread_id = $8,
    version = version + 1, updated_at = $9, edited_at = $9
  where id = $1 and account_id = $2`;

const REMOVE = 'delete from send_job where id = $1 and account_id = $2';

/** A message as edits need it. */
export interface StoredItem
  extends OutboxItem, RowOf<OutboxMessage, 'messageIdHeader' | 'accepted'> {}

/** Schedule of a message that is not being sent. */
export interface WaitingSchedule {
  /** Attempts made so far. */
  attempt: number;
  /**
   * True if the message is due, and waits only because its account's messages leave one after the
   * other.
   */
  paced: boolean;
}

/**
 * Transactions of one account at a time. Each may have to wait for another's locks, or for the
 * removal of the account.
 */
const MOST_OF_ONE = 2;

/** SQL of the outbox. Every statement is limited to one account. */
@Injectable()
export class OutboxRepository {
  readonly #limit = new KeyedLimit(MOST_OF_ONE);

  constructor(private readonly database: Database) {}

  /**
   * Stores a message. Waits while the account is being removed.
   * @param sql the transaction that also stores rows belonging to the message; default: none
   */
  async insert(message: NewOutboxMessage, sql: Sql = this.database): Promise<void> {
    await sql.query(INSERT, insertValues([message]));
    afterCommit(sql, () => sendsAccepted.inc({ by: 'outbox' }));
    if (message.sendAt <= message.at) wakeAfterCommit(sql, 'send');
  }

  /**
   * Stores messages about events. They are sent like all others, but cannot be listed or changed.
   */
  async insertInvitations(messages: readonly NewOutboxMessage[], sql: Sql): Promise<void> {
    await sql.query(INSERT_INVITATIONS, insertValues(messages));
    afterCommit(sql, () => sendsAccepted.inc({ by: 'invitation' }, messages.length));
    wakeAfterCommit(sql, 'send');
  }

  /**
   * Stores messages together. Leaves out messages whose account is removed or being removed, so
   * that the others do not wait.
   * @returns ids of the messages that were stored
   */
  async insertTogether(messages: readonly NewOutboxMessage[]): Promise<ReadonlySet<string>> {
    const accounts = [...new Set(messages.map(({ accountId }) => accountId))];
    const values = [...insertValues(messages), accounts];
    const rows = await this.database.query<{ id: string }>(INSERT_WITHOUT_WAITING, values);
    sendsAccepted.inc({ by: 'outbox' }, rows.length);
    if (messages.some(({ sendAt, at }) => sendAt <= at)) wakeAfterCommit(this.database, 'send');
    return new Set(idsOf(rows));
  }

  async find(
    accountId: string,
    id: string,
    sql: Sql = this.database,
  ): Promise<StoredItem | undefined> {
    return (await sql.query<StoredItem>(FIND, [id, accountId]))[0];
  }

  /**
   * Lists messages that are still to be sent, oldest first.
   * @throws {PageTooLargeError}
   */
  listOpen(accountId: string, page: PageOfView): Promise<Listing<OutboxItem>> {
    const conditions = new Conditions();
    conditions.add(`s.account_id = ${conditions.value(accountId)}`);
    conditions.add(`s.action = 'new_outbox' and s.status in ('pending', 'delayed')`);
    return runListing<OutboxItem>(this.database, {
      columns: ITEM,
      from: 'job_status s join outbox_message m using (id)',
      id: 's.id',
      // The MIME is about as long as the content, and PostgreSQL knows its length without reading
      // it.
      bytes: '(select octet_length(o.mime) from outbox_message o where o.id = s.id)',
      orderBy: 's.id',
      items: { from: 'job_status s', id: 's.id', orderBy: 's.id' },
      joins: 'left join outbox_message m on m.id = s.id',
      conditions,
      page,
      view: page.view,
    });
  }

  /**
   * Locks the queue row of a message that is not being sent.
   * @returns `undefined` if the message is being sent, may have been sent, or is finished
   */
  async lockWaiting(sql: Sql, accountId: string, id: string): Promise<WaitingSchedule | undefined> {
    return (await sql.query<WaitingSchedule>(LOCK_WAITING, [id, accountId]))[0];
  }

  async update(sql: Sql, accountId: string, id: string, message: EditedMessage): Promise<void> {
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
      message.onMissed,
      message.maxLatenessSeconds,
      message.onUnknown,
    ]);
    wakeAfterCommit(sql, 'send');
  }

  /** What currently delays the account's messages. */
  accountDelay(accountId: string): Promise<RateGateDelay> {
    return rateGateDelay(this.database, accountId);
  }

  async removeSchedule(sql: Sql, accountId: string, id: string): Promise<void> {
    await sql.query(REMOVE, [id, accountId]);
  }

  /**
   * The only transaction helper of this module. It limits the transactions of one account at a
   * time.
   */
  transaction<T>(accountId: string, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#limit.run(accountId, () => this.database.transaction(work));
  }
}

function insertValues(messages: readonly NewOutboxMessage[]): [string, Buffer] {
  let length = 0;
  const current = currentTraceparent();
  const rows = messages.map((message) => {
    const row = {
      id: message.id,
      account_id: message.accountId,
      send_at: message.sendAt,
      retry_limit_at: message.retryLimitAt,
      message_id: message.messageId,
      thread_id: message.threadId,
      at: message.at,
      content: message.content,
      envelope: message.envelope,
      message_id_header: message.messageIdHeader,
      on_missed: message.onMissed,
      max_lateness_seconds: message.maxLatenessSeconds,
      on_unknown: message.onUnknown,
      // Positions count from 1.
      mime_from: length + 1,
      mime_length: message.mime.length,
      traceparent: message.traceparent ?? current,
    };
    length += message.mime.length;
    return row;
  });
  return [
    JSON.stringify(rows),
    Buffer.concat(
      messages.map(({ mime }) => mime),
      length,
    ),
  ];
}
