import { peopleOf } from '../mail/messages/people.ts';
import { newId } from '../platform/base/ids/ids.ts';
import type { Sql } from '../platform/database/sql.ts';
import { documentFor } from '../formats/text/search-document.ts';
import { type RefreshedThread, refreshThreads } from '../mail/threading/refresh-threads.ts';
import type { ChangedMessage, MirrorPlan, NewMessage } from './mirror-plan.ts';
import { subjectKey } from '../mail/threading/subject.ts';

/* What a batch writes, in the caller's transaction. Set-based: the number of statements does not depend on the number of messages. */

// An older message than all before gives the conversation its subject: history comes newest first.
const WRITE_THREADS = `
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

const WRITE_REFERENCES = `
  insert into thread_reference (account_id, message_id_header, thread_id)
  select $1, x.header, x.thread_id from unnest($2::text[], $3::uuid[]) x(header, thread_id)
  on conflict (account_id, message_id_header) do nothing`;

// Whoever is writing into one of them at this moment is waited for: what he writes would go with it.
const HOLD_THREADS = `
  select id from thread where account_id = $1 and id = any($2::uuid[]) order by id for update`;

// Who changes a message holds it first, and its thread then: so do we.
const HOLD_MESSAGES = `
  select 1 from message where account_id = $1 and thread_id = any($2::uuid[]) order by id for no key update`;

const MERGE_MESSAGES = `
  update message m set thread_id = x.into_id, updated_at = $4
  from unnest($2::uuid[], $3::uuid[]) x(from_id, into_id)
  where m.account_id = $1 and m.thread_id = x.from_id
  returning m.id, m.thread_id as "threadId", m.draft`;

// Whoever asks for a message that was sent is told where it is now.
const MERGE_JOBS = `
  update job_status j set thread_id = x.into_id
  from unnest($2::uuid[], $3::uuid[]) x(from_id, into_id), outbox_message o
  where j.account_id = $1 and j.thread_id = x.from_id and o.id = j.id`;

const MERGE_THREADS = `
  with x as (select * from unnest($2::uuid[], $3::uuid[]) x(from_id, into_id)),
  moved as (update thread_reference r set thread_id = x.into_id from x where r.account_id = $1 and r.thread_id = x.from_id)
  select t.id, t.message_count as messages from thread t join x on x.from_id = t.id where t.account_id = $1`;

const DROP_THREADS = `delete from thread where account_id = $1 and id = any($2::uuid[])`;

const WRITE_MESSAGES = `
  with given as (
    select * from jsonb_to_recordset($2::jsonb) x(
      id uuid, provider_id text, thread_id uuid, subject text, snippet text, date timestamptz, from_addresses jsonb,
      to_addresses jsonb, cc_addresses jsonb, bcc_addresses jsonb, reply_to_addresses jsonb, participants text[], unread boolean,
      starred boolean, has_attachments boolean, draft boolean, message_id_header text, in_reply_to text,
      reference_ids text[], metadata jsonb)),
  written as (
    insert into message (id, account_id, provider_id, thread_id, subject, snippet, date, from_addresses, to_addresses,
      cc_addresses, bcc_addresses, reply_to_addresses, participants, unread, starred, has_attachments, draft,
      message_id_header, in_reply_to, reference_ids, metadata, created_at, updated_at)
    select id, $1, provider_id, thread_id, subject, snippet, date, from_addresses, to_addresses, cc_addresses,
      bcc_addresses, reply_to_addresses, participants, unread, starred, has_attachments, draft, message_id_header,
      in_reply_to, reference_ids, metadata, $3, $3
    from given),
  searchable as (
    insert into message_search (message_id, account_id, date, document)
    select x.id, $1, given.date, x.document::tsvector
    from unnest($4::uuid[], $7::text[]) x(id, document) join given on given.id = x.id)
  insert into message_body (message_id, body, headers)
  select * from unnest($4::uuid[], $5::text[], $6::text[])`;

const WRITE_FILES = `
  insert into file (id, account_id, message_id, part, section, filename, content_type, content_disposition, content_id, size)
  select x.id, $1, x.message_id, x.part, x.section, x.filename, x.content_type, x.content_disposition, x.content_id, x.size
  from jsonb_to_recordset($2::jsonb) x(id uuid, message_id uuid, part integer, section text, filename text,
    content_type text, content_disposition text, content_id text, size integer)`;

const WRITE_CHANGED = `
  update message m set provider_id = x.provider_id, unread = x.unread, starred = x.starred, draft = x.draft, updated_at = $7
  from unnest($2::uuid[], $3::text[], $4::boolean[], $5::boolean[], $6::boolean[]) x(id, provider_id, unread, starred, draft)
  where m.id = x.id and m.account_id = $1`;

const LEAVE_FOLDERS = `
  delete from message_folder mf using message m
  where m.id = mf.message_id and m.account_id = $1 and m.id = any($2::uuid[])`;

const ENTER_FOLDERS = `
  insert into message_folder (message_id, folder_id, date)
  select x.message_id, f.id, x.date
  from unnest($2::uuid[], $3::text[], $4::timestamptz[]) x(message_id, provider_id, date)
  join folder f on f.account_id = $1 and f.provider_id = x.provider_id
  on conflict do nothing`;

// The earliest of the open writes of a thing is told what there was before it; each knows what the one before it wanted.
const REMEMBER_SAID = `
  with said as (
    select x.id, x.unread, x.starred,
      (select coalesce(jsonb_agg(f.id order by f.id), '[]') from folder f
       where f.account_id = $1 and f.provider_id = any(x.folders)) as folders
    from jsonb_to_recordset($2::jsonb) x(id uuid, unread boolean, starred boolean, folders text[])),
  told as (
    select distinct on (s.id, k.key) s.id, k.key, k.value, j.id as job_id
    from said s
    cross join lateral (values ('unread', to_jsonb(s.unread)), ('starred', to_jsonb(s.starred)), ('folders', s.folders)) k(key, value)
    join provider_job j on j.object_id = s.id and j.action = 'update_message' and j.payload ? k.key
                       and j.payload -> 'before' ? k.key
    order by s.id, k.key, j.id)
  update provider_job j
  set payload = j.payload || jsonb_build_object('before', (j.payload -> 'before') || t.before)
  from (select job_id, jsonb_object_agg(key, value) as before from told group by job_id) t
  where j.id = t.job_id`;

const VANISH = `
  insert into vanished_message (message_id, account_id, vanished_at)
  select id, $1, $3 from message where account_id = $1 and id = any($2::uuid[])
  on conflict (message_id) do nothing`;

const UNVANISH = `delete from vanished_message where account_id = $1 and message_id = any($2::uuid[])`;

// While somebody changes a message through the API it is not taken from under his hands, within reason.
const EXPIRED = `
  select v.message_id as id from vanished_message v
  where v.account_id = $1 and v.vanished_at <= $2
    and (v.vanished_at <= $3 or not exists (select 1 from provider_job j where j.object_id = v.message_id))`;

/** What writing a plan did to conversations. */
export interface Written {
  threads: RefreshedThread[];
  /** Conversations that are no more because they are part of others; not those that were of drafts alone. */
  mergedThreads: string[];
  /** Attachments that are new. */
  fileIds: string[];
  /** Messages that went with them. */
  rethreaded: { id: string; threadId: string; draft: boolean }[];
}

/** Writes the messages of a plan with everything that belongs to them. */
export async function writePlan(sql: Sql, accountId: string, plan: MirrorPlan, at: Date): Promise<Written> {
  await writeThreads(sql, accountId, plan.added);
  const merged = await mergeThreads(sql, accountId, plan.merged, at);
  if (plan.added.length > 0) await writeMessages(sql, accountId, plan.added, at);
  await writeReferences(sql, accountId, plan);
  const fileIds = await writeFiles(sql, accountId, plan.added);
  await writeChanged(sql, accountId, plan.changed, at);
  await writeMemberships(sql, accountId, plan);
  const threads = await refreshThreads(sql, accountId, threadsOf(plan, merged.rethreaded), at);
  await rememberSaid(sql, accountId, plan.said);
  return { threads, fileIds, ...merged };
}

/** Conversations that look different afterwards; also some that are no more. */
function threadsOf({ added, changed }: MirrorPlan, rethreaded: Written['rethreaded']): string[] {
  const visible = changed.flatMap((change) => (change.visible ? change.known.threadId : []));
  return [...[...added, ...rethreaded].map(({ threadId }) => threadId), ...visible];
}

async function writeThreads(sql: Sql, accountId: string, added: readonly NewMessage[]): Promise<void> {
  if (added.length === 0) return;
  const threads = new Map<string, { subject: string; first: Date; last: Date }>();
  for (const { threadId, subject, remote } of added) {
    // `added` is oldest first: the first message names the thread.
    const thread = threads.get(threadId) ?? { subject, first: remote.receivedAt, last: remote.receivedAt };
    threads.set(threadId, { ...thread, last: remote.receivedAt });
  }
  await sql.query(WRITE_THREADS, [
    accountId,
    [...threads.keys()],
    [...threads.values()].map(({ subject }) => subject),
    [...threads.values()].map(({ subject }) => subjectKey(subject)),
    [...threads.values()].map(({ first }) => first),
    [...threads.values()].map(({ last }) => last),
  ]);
}

async function mergeThreads(
  sql: Sql,
  accountId: string,
  merged: MirrorPlan['merged'],
  at: Date,
): Promise<Pick<Written, 'mergedThreads' | 'rethreaded'>> {
  if (merged.length === 0) return { mergedThreads: [], rethreaded: [] };
  const pairs = [accountId, merged.map(({ from }) => from), merged.map(({ into }) => into)];
  await sql.query(HOLD_MESSAGES, [accountId, merged.map(({ from }) => from)]);
  await sql.query(HOLD_THREADS, [accountId, merged.map(({ from }) => from)]);
  const rethreaded = await sql.query<Written['rethreaded'][number]>(MERGE_MESSAGES, [...pairs, at]);
  await sql.query(MERGE_JOBS, pairs);
  const gone = await sql.query<{ id: string; messages: number }>(MERGE_THREADS, pairs);
  await sql.query(DROP_THREADS, [accountId, gone.map(({ id }) => id)]);
  const shown = gone.filter(({ messages }) => messages > 0);
  return { mergedThreads: shown.map(({ id }) => id), rethreaded };
}

async function writeReferences(sql: Sql, accountId: string, { named, added }: MirrorPlan): Promise<void> {
  // Only of conversations that something is written to: one that was promised and did not come about has no row.
  const written = new Set(added.map(({ threadId }) => threadId));
  const kept = named.filter(({ threadId }) => written.has(threadId));
  if (kept.length === 0) return;
  await sql.query(WRITE_REFERENCES, [
    accountId,
    kept.map(({ header }) => header),
    kept.map(({ threadId }) => threadId),
  ]);
}

async function writeMessages(
  sql: Sql,
  accountId: string,
  added: readonly NewMessage[],
  at: Date,
): Promise<void> {
  const rows = added.map((message) => ({
    id: message.id,
    provider_id: message.remote.providerId,
    thread_id: message.threadId,
    subject: message.subject,
    snippet: message.snippet,
    date: message.remote.receivedAt,
    from_addresses: message.from,
    to_addresses: message.to,
    cc_addresses: message.cc,
    bcc_addresses: message.bcc,
    reply_to_addresses: message.replyTo,
    participants: peopleOf(message),
    unread: message.remote.unread,
    starred: message.remote.starred,
    has_attachments: message.files.some(({ contentDisposition }) => contentDisposition === 'attachment'),
    draft: message.draft,
    message_id_header: message.messageIdHeader,
    in_reply_to: message.inReplyTo,
    reference_ids: message.references,
    metadata: message.metadata,
  }));
  await sql.query(WRITE_MESSAGES, [
    accountId,
    JSON.stringify(rows),
    at,
    added.map(({ id }) => id),
    added.map(({ body }) => body),
    added.map(({ headers }) => headers),
    added.map(({ searchable }) => documentFor(accountId, searchable)),
  ]);
}

/** @returns their ids */
async function writeFiles(sql: Sql, accountId: string, added: readonly NewMessage[]): Promise<string[]> {
  const files = added.flatMap((message) =>
    message.files.map((file) => ({
      id: newId(),
      message_id: message.id,
      part: file.part,
      section: file.section,
      filename: file.filename,
      content_type: file.contentType,
      content_disposition: file.contentDisposition,
      content_id: file.contentId,
      size: file.size,
    })),
  );
  if (files.length > 0) await sql.query(WRITE_FILES, [accountId, JSON.stringify(files)]);
  return files.map(({ id }) => id);
}

async function writeChanged(
  sql: Sql,
  accountId: string,
  changed: readonly ChangedMessage[],
  at: Date,
): Promise<void> {
  if (changed.length === 0) return;
  await sql.query(WRITE_CHANGED, [
    accountId,
    changed.map(({ known }) => known.id),
    changed.map(({ remote }) => remote.providerId),
    changed.map(({ remote }) => remote.unread),
    changed.map(({ remote }) => remote.starred),
    changed.map(({ draft }) => draft),
    at,
  ]);
}

async function writeMemberships(sql: Sql, accountId: string, plan: MirrorPlan): Promise<void> {
  const moved = plan.changed.filter(({ foldersChanged }) => foldersChanged);
  if (moved.length > 0) await sql.query(LEAVE_FOLDERS, [accountId, moved.map(({ known }) => known.id)]);
  const memberships = [
    ...plan.added.map(({ id, remote }) => ({ id, remote, date: remote.receivedAt })),
    ...moved.map(({ known, remote }) => ({ id: known.id, remote, date: known.date })),
  ].flatMap(({ id, remote, date }) => remote.folderIds.map((folderId) => ({ id, folderId, date })));
  if (memberships.length === 0) return;
  await sql.query(ENTER_FOLDERS, [
    accountId,
    memberships.map(({ id }) => id),
    memberships.map(({ folderId }) => folderId),
    memberships.map(({ date }) => date),
  ]);
}

async function rememberSaid(sql: Sql, accountId: string, said: MirrorPlan['said']): Promise<void> {
  if (said.length === 0) return;
  const rows = said.map(({ id, remote }) => {
    return { id, unread: remote.unread, starred: remote.starred, folders: remote.folderIds };
  });
  await sql.query(REMEMBER_SAID, [accountId, JSON.stringify(rows)]);
}

/** Sets messages aside that are gone from where they were, until they turn up elsewhere or their time is over. */
export async function vanish(sql: Sql, accountId: string, ids: readonly string[], at: Date): Promise<void> {
  if (ids.length > 0) await sql.query(VANISH, [accountId, ids, at]);
}

/** Messages that are there (again). */
export async function unvanish(sql: Sql, accountId: string, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.query(UNVANISH, [accountId, ids]);
}

/**
 * Messages that have vanished before `before` and will not be waited for.
 * @param latest not waited for however much they are being changed through the API
 */
export async function expiredOf(sql: Sql, accountId: string, before: Date, latest: Date): Promise<string[]> {
  const rows = await sql.query<{ id: string }>(EXPIRED, [accountId, before, latest]);
  return rows.map(({ id }) => id);
}
