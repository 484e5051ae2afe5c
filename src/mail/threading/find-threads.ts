import type { Sql } from '../../platform/database/sql.ts';
import { type KnownThread, SUBJECT_SPAN_DAYS } from './thread-plan.ts';

/** A message that may be connected to a thread by its subject, with the data to compare. */
export interface SubjectQuestion {
  providerId: string;
  key: string;
  date: Date;
  /** Keys as in `message.participants`. The thread must contain one of them. */
  participants: readonly string[];
}

const THREADS = `
  select r.message_id_header as header, r.thread_id as "threadId", t.first_message_at as "firstMessageAt"
  from thread_reference r join thread t on t.id = r.thread_id
  where r.account_id = $1 and r.message_id_header = any($2::text[])`;

const SUBJECTS = `
  select x.provider_id as "providerId", t.id as "threadId"
  from jsonb_to_recordset($2::jsonb) x(provider_id text, key text, date timestamptz, participants text[])
  cross join lateral (
    select t.id from thread t
    where t.account_id = $1 and t.subject_key = x.key and t.first_message_at <= x.date
      and t.last_message_at >= x.date - interval '${SUBJECT_SPAN_DAYS} days'
      and exists (select 1 from message m where m.thread_id = t.id and m.participants && x.participants)
    order by t.last_message_at desc limit 1) t`;

/** Finds threads by keys of `threadKeysOf`. Keys without a thread are left out. */
export async function findThreads(
  sql: Sql,
  accountId: string,
  headers: readonly string[],
): Promise<Map<string, KnownThread>> {
  if (headers.length === 0) return new Map();
  const rows = await sql.query<KnownThread & { header: string }>(THREADS, [accountId, headers]);
  return new Map(rows.map(({ header, ...thread }) => [header, thread]));
}

/**
 * Finds threads by subject, for messages that nothing else connects.
 * @returns thread ids by the messages' provider ids
 */
export async function findThreadsBySubject(
  sql: Sql,
  accountId: string,
  questions: readonly SubjectQuestion[],
): Promise<Map<string, string>> {
  if (questions.length === 0) return new Map();
  const asked = questions.map(({ providerId, key, date, participants }) => {
    return { provider_id: providerId, key, date, participants };
  });
  const rows = await sql.query<Pick<SubjectQuestion, 'providerId'> & { threadId: string }>(
    SUBJECTS,
    [accountId, JSON.stringify(asked)],
  );
  return new Map(rows.map(({ providerId, threadId }) => [providerId, threadId]));
}
