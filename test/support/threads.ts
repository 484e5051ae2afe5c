import type { Sql } from '../../src/database/sql.ts';

// Written in another way than the statement that keeps them: row by row, nothing aggregated twice.
const DIFFERING = `
  with shown as (
    select m.*, g.email as own,
      array(select coalesce(f.name, '') from message_folder mf join folder f on f.id = mf.folder_id where mf.message_id = m.id) as names
    from message m join "grant" g on g.id = m.account_id where not m.draft and not m.deleting),
  kinds as (
    select s.*, ('sent' = any(s.names) or lower(s.from_addresses -> 0 ->> 'email') is not distinct from lower(s.own)) as sent
    from shown s),
  expected as (
    select t.id, count(k.id) as messages, coalesce(bool_or(k.unread), false) as unread,
      coalesce(bool_or(k.starred), false) as starred, min(k.date) as first, max(k.date) as last,
      max(case when k.sent then k.date end) as sent_at,
      max(case when not k.sent or 'inbox' = any(k.names) then k.date end) as received_at
    from thread t left join kinds k on k.thread_id = t.id group by t.id)
  select t.id, t.subject from thread t join expected e on e.id = t.id
  where t.message_count <> e.messages or t.unread <> e.unread or t.starred <> e.starred
    or (e.messages > 0 and (t.first_message_at <> e.first or t.last_message_at <> e.last))
    or t.last_sent_at is distinct from e.sent_at or t.last_received_at is distinct from e.received_at
    or (select array_agg(p order by p) from unnest(t.participants) p) is distinct from
       (select array_agg(distinct p order by p) from shown s, unnest(s.participants) p where s.thread_id = t.id)
    or (select array_agg(f.id order by f.id) from unnest(t.folder_ids) x(id) join folder f on f.id = x.id) is distinct from
       (select array_agg(distinct mf.folder_id order by mf.folder_id)
        from shown s join message_folder mf on mf.message_id = s.id where s.thread_id = t.id)`;

const MISDATED = `
  select m.id from message m join message_folder mf on mf.message_id = m.id where mf.date <> m.date`;

/** Every thread of the database says what its messages say, and every folder has the dates of its messages. */
export async function expectThreadsRefreshed(sql: Sql): Promise<void> {
  expect(await sql.query('select 1 from thread limit 1')).toHaveLength(1);
  expect({ threads: await sql.query(DIFFERING), folders: await sql.query(MISDATED) }).toEqual({
    threads: [],
    folders: [],
  });
}
