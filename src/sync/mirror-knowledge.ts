import { personAnywhere } from '../mail/messages/people.ts';
import { firstIdAt, isId } from '../platform/base/ids/ids.ts';
import { openWritesOfAccount } from '../accounts/provider-writes/open-writes.ts';
import type { Sql } from '../platform/database/sql.ts';
import {
  contentKey,
  type KnownMessage,
  type OpenWrite,
  type SentByUs,
  type StrayMessage,
} from './mirror-plan.ts';
import { type KnownThread, SUBJECT_SPAN_DAYS } from '../mail/threading/thread-plan.ts';

/* What the mirror is asked while a batch is being understood. Set-based: statements do not grow with messages. */

/** A message that may be connected by its subject, with what must fit. */
export interface SubjectQuestion {
  providerId: string;
  key: string;
  date: Date;
  participants: readonly string[];
}

const MESSAGE = `
  m.id, m.provider_id as "providerId", m.thread_id as "threadId", m.date, m.unread, m.starred, m.draft,
  m.message_id_header as "messageIdHeader",
  array(select f.provider_id from message_folder mf join folder f on f.id = mf.folder_id
        where mf.message_id = m.id and f.provider_id is not null) as "folderIds"`;

// Held to the end: a change through the API is either seen here with its open write, or waits until this is stored.
const KNOWN = `
  select ${MESSAGE} from message m where m.account_id = $1 and m.provider_id = any($2::text[])
  order by m.id for no key update of m`;

// Those that are gone, now or before; and ours that the provider has not told us the id of.
const STRAYS = `
  with stray(id) as (
    select id from message where account_id = $1 and provider_id = any($2::text[])
    union
    select v.message_id from vanished_message v join message m on m.id = v.message_id
    where v.account_id = $1 and (m.message_id_header = any($3::text[]) or ($4 and m.message_id_header is null))
    union
    select id from message where account_id = $1 and message_id_header = any($3::text[]) and provider_id is null)
  select ${MESSAGE} from stray join message m using (id) order by m.id for no key update of m`;

const CONTENTS = `
  select m.id, m.subject, m.from_addresses as "from", m.to_addresses as "to", m.cc_addresses as cc, b.body,
    (select coalesce(json_agg(json_build_object('filename', f.filename, 'size', f.size) order by f.part), '[]')
     from file f where f.message_id = m.id) as files
  from message m join message_body b on b.message_id = m.id where m.id = any($1::uuid[])`;

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

const SENT = `
  with sent as (
    select id from outbox_message
    where id = any($2::uuid[]) and account_id = $1 and message_id_header = any($3::text[])
    union
    select id from outbox_message where account_id = $1 and message_id_header = any($3::text[]) and foreign_header)
  select o.message_id_header as "messageIdHeader", s.message_id as "messageId", s.thread_id as "threadId",
    o.content -> 'metadata' as metadata, exists (select 1 from message m where m.id = s.message_id) as mirrored
  from sent join outbox_message o using (id) join job_status s using (id)
  where s.message_id is not null and s.thread_id is not null
  order by s.status <> 'failed', o.id`;

/** Keys of a job's payload that say that a message is being moved. */
const FOLDER_KEYS = ['folders', 'folderIds'];

/** Those of the messages that the mirror has, by the provider's id; nobody else changes them until the transaction ends. */
export async function known(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
): Promise<Map<string, KnownMessage>> {
  if (providerIds.length === 0) return new Map();
  const rows = await sql.query<KnownMessage & { providerId: string }>(KNOWN, [accountId, providerIds]);
  return new Map(rows.map((row) => [row.providerId, row]));
}

/**
 * Messages that may be the new ones of a batch: those that are gone with it, or vanished before, or are ours.
 * @param headers Message-IDs of the new ones
 * @param nameless whether some of them have none
 */
export async function strays(
  sql: Sql,
  accountId: string,
  removed: readonly string[],
  headers: readonly string[],
  nameless: boolean,
): Promise<StrayMessage[]> {
  if (removed.length + headers.length === 0 && !nameless) return [];
  const rows = await sql.query<KnownMessage>(STRAYS, [accountId, removed, headers, nameless]);
  const compared = nameless ? rows.filter(({ messageIdHeader }) => messageIdHeader === null) : [];
  const keys = await contentKeys(
    sql,
    compared.map(({ id }) => id),
  );
  return rows.map((row) => ({ ...row, contentKey: keys.get(row.id) ?? null }));
}

async function contentKeys(sql: Sql, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<{ id: string } & Parameters<typeof contentKey>[0]>(CONTENTS, [ids]);
  return new Map(rows.map((row) => [row.id, contentKey(row)]));
}

/** Messages with an open write of ours, by our id. */
export async function openWrites(sql: Sql, accountId: string): Promise<Map<string, OpenWrite>> {
  const rows = await openWritesOfAccount(sql, accountId, ['update_message', 'save_draft', 'delete_draft']);
  const writes = new Map<string, OpenWrite>();
  for (const { objectId, action, payload } of rows) {
    const before = writes.get(objectId);
    const all = action !== 'update_message';
    writes.set(objectId, {
      unread: all || Boolean(before?.unread) || payload['unread'] !== undefined,
      starred: all || Boolean(before?.starred) || payload['starred'] !== undefined,
      folders: all || Boolean(before?.folders) || FOLDER_KEYS.some((key) => payload[key] !== undefined),
    });
  }
  return writes;
}

// Jobs are listed by their ids, which grow with time: of those made long ago hardly one ends now.
const ENDED = `
  select object_id as "objectId" from job_status
  where account_id = $1 and id >= $2 and updated_at >= $3 and status in ('successful', 'failed', 'cancelled')`;
const ENDED_WRITES = `${ENDED} and action in ('update_message', 'save_draft') and object_id = any($4::uuid[])`;
const ENDED_FOLDER_WRITES = `${ENDED} and action like any('{%\\_folder,%\\_label}') limit 1`;
/** A write that was open for longer than this is not looked for. */
const LONGEST_WRITE_MS = 60 * 60_000;
/** Clocks of two processes differ by so much at most. */
const CLOCK_SLACK_MS = 1_000;

/**
 * Those of the messages whose writes have ended since a look began: it may have seen what was there before. Ask after
 * `openWrites`, so that none slips through between the two.
 */
export async function writtenSince(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
  lookedAt: Date,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await sql.query<{ objectId: string }>(ENDED_WRITES, [...endedSince(accountId, lookedAt), ids]);
  return rows.map(({ objectId }) => objectId);
}

/** Whether a change of a folder or label has ended since a look began. Ask after the open ones. */
export async function foldersWrittenSince(sql: Sql, accountId: string, lookedAt: Date): Promise<boolean> {
  return (await sql.query(ENDED_FOLDER_WRITES, endedSince(accountId, lookedAt))).length > 0;
}

function endedSince(accountId: string, lookedAt: Date): [string, string, Date] {
  const since = new Date(lookedAt.getTime() - CLOCK_SLACK_MS);
  return [accountId, firstIdAt(new Date(since.getTime() - LONGEST_WRITE_MS)), since];
}

/** Conversations by Message-ID. */
export async function threads(
  sql: Sql,
  accountId: string,
  headers: readonly string[],
): Promise<Map<string, KnownThread>> {
  if (headers.length === 0) return new Map();
  const rows = await sql.query<KnownThread & { header: string }>(THREADS, [accountId, headers]);
  return new Map(rows.map(({ header, ...thread }) => [header, thread]));
}

/** Conversations by subject, for messages that nothing else connects; by the provider's id of the message. */
export async function threadsBySubject(
  sql: Sql,
  accountId: string,
  questions: readonly SubjectQuestion[],
): Promise<Map<string, string>> {
  if (questions.length === 0) return new Map();
  const asked = questions.map(({ providerId, key, date, participants }) => {
    return { provider_id: providerId, key, date, participants: participants.flatMap(personAnywhere) };
  });
  const rows = await sql.query<{ providerId: string; threadId: string }>(SUBJECTS, [
    accountId,
    JSON.stringify(asked),
  ]);
  return new Map(rows.map(({ providerId, threadId }) => [providerId, threadId]));
}

/** Those of the Message-IDs that were sent from here: most begin with the id of their row, some are the sender's own. */
export async function sentByUs(
  sql: Sql,
  accountId: string,
  headers: readonly string[],
): Promise<Map<string, SentByUs>> {
  const ids = headers.map((header) => header.slice(1, 37)).filter(isId);
  if (headers.length === 0) return new Map();
  const rows = await sql.query<SentByUs>(SENT, [accountId, ids, headers]);
  return new Map(rows.map((row) => [row.messageIdHeader, row]));
}
