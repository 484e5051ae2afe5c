import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { ChangeRecord } from '../../platform/changes/change-log.ts';
import type { FilledTable } from '../../platform/account-fills/fill-account.ts';

/** Messages and their files are deleted with their threads. */
export const THREADS_OF_ACCOUNT: AccountListener = {
  visibleObjects: [`select id, 'thread' as object from thread where account_id = $1`],
  mirrorDeletions: ['delete from thread where account_id = $1'],
};

/** Where the account of a summary is found (`account-fills.ts`). */
export const ACCOUNT_OF_SUMMARIES: FilledTable = {
  table: 'thread_summary',
  key: { thread_id: 'uuid' },
  parent: 'thread',
  reference: 'thread_id',
};

/** The result of a refresh, for a thread that clients can see or could see until then. */
export interface RefreshedThread {
  id: string;
  /**
   * `create`: the thread got its first message. `delete`: it has no messages left, even if it has
   * drafts.
   */
  event: ChangeRecord['event'];
}

// A separate statement, so that the next one sees the commits of transactions that had locked the
// threads.
const LOCK = `
  select id, message_count as messages from thread
  where account_id = $1 and id = any($2::uuid[]) order by id for no key update`;

// People whose addresses differ only in case or name are listed separately; readers of the list
// merge them.
const PEOPLE = `
  select jsonb_agg(e.person order by e.place)
  from (
    select a.person, min((o.place << 32) + a.place) as place
    from own o cross join jsonb_array_elements(o.people) with ordinality a(person, place)
    where not o.draft
    group by a.person) e`;

// Messages from the account itself or in its folder `sent` count as sent. All others count as
// received, and so do messages in the inbox. A thread that has only drafts takes its dates from
// them and is hidden.
//
// The messages of a thread are read once. Every table is reached from the threads by keys.
// Otherwise, without statistics, the planner uses an index by account and reads all messages of the
// account for each thread of a new mailbox (ADR 0039).
const REFRESH = `
  with s as materialized (
    select given.id as thread_id, x.*
    from unnest($2::uuid[]) given(id)
    cross join (
      select lower(g.email) as email,
        array(select id from folder where account_id = $1 and name = 'sent') as sent,
        array(select id from folder where account_id = $1 and name = 'inbox') as inbox
      from "grant" g where g.id = $1) k
    cross join lateral (
      with own as materialized (
        select m.id, m.date, m.draft, m.unread, m.starred, m.has_attachments, m.snippet, m.participants,
          m.from_addresses || m.to_addresses || m.cc_addresses || m.bcc_addresses as people,
          lower(m.from_addresses -> 0 ->> 'email') as sender, row_number() over (order by m.date, m.id) as place,
          array(select folder_id from message_folder where message_id = m.id) as folders
        from message m where m.thread_id = given.id and not m.deleting)
      select min(m.date) filter (where not m.draft) as first_at, max(m.date) filter (where not m.draft) as last_at,
        min(m.date) as first_draft_at, max(m.date) as last_draft_at,
        max(m.date) filter (where not m.draft and m.sent) as last_sent_at,
        max(m.date) filter (where not m.draft and (m.arrived or not m.sent)) as last_received_at,
        count(*) filter (where not m.draft) as messages,
        coalesce(bool_or(m.unread) filter (where not m.draft), false) as unread,
        coalesce(bool_or(m.starred) filter (where not m.draft), false) as starred,
        coalesce(bool_or(m.has_attachments) filter (where not m.draft), false) as has_attachments,
        array(select distinct x from own o, unnest(o.folders) x where not o.draft order by x) as folder_ids,
        array(select o.id from own o where not o.draft order by o.place) as message_ids,
        (select o.snippet from own o where not o.draft order by o.place desc limit 1) as snippet,
        coalesce((${PEOPLE}), '[]') as people,
        array(select x.person from own o, unnest(o.participants) x(person) where not o.draft) as participants
      from (
        select m.*, m.folders && k.inbox as arrived,
          m.folders && k.sent or coalesce(m.sender = k.email, false) as sent
        from own m) m) x),
  summary as (
    insert into thread_summary (thread_id, account_id, people, message_ids, snippet, has_attachments, length)
    select thread_id, $1, people, message_ids, coalesce(snippet, ''), has_attachments,
      pg_column_size(people) + pg_column_size(message_ids)
    from s
    on conflict (thread_id) do update set people = excluded.people, message_ids = excluded.message_ids,
      snippet = excluded.snippet, has_attachments = excluded.has_attachments, length = excluded.length),
  counted as materialized (
    select s.thread_id, x.person, count(*)::int as messages from s cross join unnest(s.participants) x(person)
    group by s.thread_id, x.person),
  before as materialized (
    select thread_id, person, messages from thread_person where thread_id = any($2::uuid[])),
  gone as (
    delete from thread_person p using before b left join counted c on c.thread_id = b.thread_id and c.person = b.person
    where p.thread_id = b.thread_id and p.person = b.person and c.thread_id is null),
  people as (
    insert into thread_person (thread_id, person, account_id, messages)
    select c.thread_id, c.person, $1, c.messages
    from counted c left join before b on b.thread_id = c.thread_id and b.person = c.person
    where b.messages is distinct from c.messages
    on conflict (thread_id, person) do update set messages = excluded.messages)
  update thread t set
    first_message_at = coalesce(s.first_at, s.first_draft_at, t.first_message_at),
    last_message_at = coalesce(s.last_at, s.last_draft_at, t.last_message_at),
    last_received_at = s.last_received_at, last_sent_at = s.last_sent_at, message_count = s.messages,
    unread = s.unread, starred = s.starred, folder_ids = s.folder_ids, version = t.version + 1, updated_at = $3
  from s where t.id = s.thread_id
  returning t.id, t.message_count as messages`;

/**
 * Recomputes the columns of threads from their messages. Call it once for all threads, after
 * messages have changed and in the same transaction. The version of each thread grows.
 * @param threadIds may contain duplicates
 * @returns events for the change log; none for a thread that had no messages and has none
 */
export async function refreshThreads(
  sql: Sql,
  accountId: string,
  threadIds: readonly string[],
  at: Date,
): Promise<RefreshedThread[]> {
  // A fixed order, so that two transactions that refresh the same threads wait for each other
  // instead of deadlocking.
  const ids = [...new Set(threadIds)].sort();
  if (ids.length === 0) return [];
  const locked = await sql.query<{ id: string; messages: number }>(LOCK, [accountId, ids]);
  const before = new Map(locked.map(({ id, messages }) => [id, messages]));
  // Only threads that exist and belong to the account.
  const after = await sql.query<{ id: string; messages: number }>(REFRESH, [
    accountId,
    [...before.keys()],
    at,
  ]);
  return after.flatMap(({ id, messages }): RefreshedThread[] => {
    const was = before.get(id) ?? 0;
    if (was === 0 && messages === 0) return [];
    return [{ id, event: was === 0 ? 'create' : messages === 0 ? 'delete' : 'modify' }];
  });
}

/** Change-log records for the results of a refresh. */
export function threadChanges(
  owner: Pick<ChangeRecord, 'applicationId' | 'accountId' | 'at'>,
  threads: readonly RefreshedThread[],
): ChangeRecord[] {
  return threads.map(({ id, event }) => ({ ...owner, object: 'thread', objectId: id, event }));
}
