import { columnsOf, idsOf, type Sql } from '../../platform/database/sql.ts';
import { subjectKey } from '../../formats/text/subject.ts';

/*
 * SQL of threads, in the caller's transaction. The number of statements does not depend on the
 * number of rows.
 */

/** A thread of messages that will be stored. */
export interface NewThread {
  id: string;
  /** Subject of the first of these messages. */
  subject: string;
  /** Dates of the first and the last of these messages. */
  first: Date;
  last: Date;
}

// A message older than all others gives the thread its subject. History arrives newest first, so
// this is common.
const WRITE = `
  insert into thread (id, account_id, subject, subject_key, first_message_at, last_message_at)
  select x.id, $1, x.subject, x.subject_key, x.first, x.last
  from unnest($2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[])
    x(id, subject, subject_key, first, last)
  on conflict (id) do update set
    subject = case when excluded.first_message_at < thread.first_message_at then excluded.subject else thread.subject end,
    subject_key = case when excluded.first_message_at < thread.first_message_at then excluded.subject_key
                       else thread.subject_key end,
    first_message_at = least(thread.first_message_at, excluded.first_message_at),
    last_message_at = greatest(thread.last_message_at, excluded.last_message_at)`;

/** Writes the threads of new messages. Call it before the messages are written. */
export async function writeThreads(sql: Sql, accountId: string, threads: readonly NewThread[]) {
  await sql.query(WRITE, [
    accountId,
    ...columnsOf(threads, 'id', 'subject'),
    threads.map(({ subject }) => subjectKey(subject)),
    ...columnsOf(threads, 'first', 'last'),
  ]);
}

const NAME = `
  update thread t set subject = x.subject, subject_key = x.subject_key
  from unnest($2::uuid[], $3::text[], $4::text[]) x(id, subject, subject_key) where t.id = x.id and t.account_id = $1`;

/** Gives threads other subjects. The caller has refreshed them, so that they are locked. */
export async function nameThreads(
  sql: Sql,
  accountId: string,
  threads: readonly { id: string; subject: string }[],
): Promise<void> {
  if (threads.length === 0) return;
  await sql.query(NAME, [
    accountId,
    ...columnsOf(threads, 'id', 'subject'),
    threads.map(({ subject }) => subjectKey(subject)),
  ]);
}

const WRITE_OF_DRAFT = `
  insert into thread (id, account_id, subject, first_message_at, last_message_at) values ($2, $1, $3, $4, $4)
  on conflict (id) do update set last_message_at = greatest(thread.last_message_at, excluded.last_message_at)`;

/**
 * Writes the thread of a draft. Call it before the draft is written. A thread of a draft has no
 * subject key, so no other message joins it by subject.
 */
export async function writeThreadOfDraft(
  sql: Sql,
  accountId: string,
  { threadId, subject, date }: { threadId: string; subject: string; date: Date },
): Promise<void> {
  await sql.query(WRITE_OF_DRAFT, [accountId, threadId, subject, date]);
}

const WRITE_REFERENCES = `
  insert into thread_reference (account_id, message_id_header, thread_id)
  select $1, x.header, x.thread_id from unnest($2::text[], $3::uuid[]) x(header, thread_id)
  on conflict (account_id, message_id_header) do nothing`;

/** Stores the threads of Message-IDs. Message-IDs that are known already keep their threads. */
export async function writeReferences(
  sql: Sql,
  accountId: string,
  references: readonly { header: string; threadId: string }[],
): Promise<void> {
  await sql.query(WRITE_REFERENCES, [accountId, ...columnsOf(references, 'header', 'threadId')]);
}

// Waits for transactions that are writing messages into these threads: their messages would be
// deleted with the thread.
const LOCK = `
  select id from thread where account_id = $1 and id = any($2::uuid[]) order by id for update`;

/** Locks threads that may be deleted. */
export async function lockThreads(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<void> {
  await sql.query(LOCK, [accountId, ids]);
}

const DELETE_EMPTY = `
  delete from thread t where t.account_id = $1 and t.id = any($2::uuid[])
    and not exists (select 1 from message m where m.thread_id = t.id)`;

/**
 * Deletes threads with these ids that have neither messages nor drafts. Lock the threads before.
 */
export async function deleteEmptyThreads(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<void> {
  await sql.query(DELETE_EMPTY, [accountId, ids]);
}

/** A thread that was merged into another one. */
export interface MergedThread {
  from: string;
  into: string;
}

const MERGE = `
  with x as (select * from unnest($2::uuid[], $3::uuid[]) x(from_id, into_id)),
  moved as (update thread_reference r set thread_id = x.into_id from x where r.account_id = $1 and r.thread_id = x.from_id)
  select t.id, t.message_count as messages from thread t join x on x.from_id = t.id where t.account_id = $1`;

const DELETE = `delete from thread where account_id = $1 and id = any($2::uuid[])`;

/**
 * Deletes threads that were merged into others. Lock the threads and move their messages before.
 * @returns ids of the deleted threads that had messages and not only drafts
 */
export async function mergeThreads(
  sql: Sql,
  accountId: string,
  merged: readonly MergedThread[],
): Promise<string[]> {
  const deleted = await sql.query<{ id: string; messages: number }>(MERGE, [
    accountId,
    ...columnsOf(merged, 'from', 'into'),
  ]);
  await sql.query(DELETE, [accountId, idsOf(deleted)]);
  return deleted.filter(({ messages }) => messages > 0).map(({ id }) => id);
}
