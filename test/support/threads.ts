import type { Sql } from '../../src/platform/database/sql.ts';
import type { Person } from '../../src/mail/messages/filters/message-filter.ts';

// Written differently from the statement that maintains the data: row by row, without combined
// aggregates.
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
    or (select jsonb_agg(jsonb_build_array(p.person, p.messages, p.account_id) order by p.person)
        from thread_person p where p.thread_id = t.id) is distinct from
       (select jsonb_agg(jsonb_build_array(x.person, x.messages, t.account_id) order by x.person)
        from (select person, count(distinct s.id) as messages from shown s, unnest(s.participants) person
              where s.thread_id = t.id group by person) x)
    or not exists (
      select 1 from thread_summary y where y.thread_id = t.id
        and y.message_ids = array(select s.id from shown s where s.thread_id = t.id order by s.date, s.id)
        and y.has_attachments = exists (select 1 from shown s where s.thread_id = t.id and s.has_attachments)
        and y.snippet = coalesce(
          (select s.snippet from shown s where s.thread_id = t.id order by s.date desc, s.id desc limit 1), ''))
    or (select array_agg(f.id order by f.id) from unnest(t.folder_ids) x(id) join folder f on f.id = x.id) is distinct from
       (select array_agg(distinct mf.folder_id order by mf.folder_id)
        from shown s join message_folder mf on mf.message_id = s.id where s.thread_id = t.id)`;

const MISDATED = `
  select m.id from message m join message_folder mf on mf.message_id = m.id where mf.date <> m.date`;

const PEOPLE = `
  select t.id, y.people, coalesce(jsonb_agg(a.person order by m.date, m.id, a.place) filter (where m.id is not null), '[]') as everybody
  from thread t left join thread_summary y on y.thread_id = t.id
  left join message m on m.thread_id = t.id and not m.draft and not m.deleting
  left join lateral (
    select a.person, row_number() over (order by h.place, a.place) as place
    from (values (1, m.from_addresses), (2, m.to_addresses), (3, m.cc_addresses), (4, m.bcc_addresses)) h(place, list)
    cross join lateral jsonb_array_elements(h.list) with ordinality a(person, place)) a on true
  group by t.id, y.people`;

interface PeopleRow {
  id: string;
  people: Person[];
  everybody: (Person | null)[];
}

async function threadsWithOtherPeople(sql: Sql): Promise<string[]> {
  const rows = await sql.query<PeopleRow>(PEOPLE);
  const key = ({ email, name }: Person) => JSON.stringify([email, name]);
  return rows.flatMap(({ id, people, everybody }) => {
    const expected = new Set(everybody.flatMap((person) => (person ? [key(person)] : [])));
    return people.map(key).join() === [...expected].join() ? [] : [id];
  });
}

/**
 * Expects every thread to match its messages, and every folder to have the dates of its messages.
 */
export async function expectThreadsRefreshed(sql: Sql): Promise<void> {
  expect(await sql.query('select 1 from thread limit 1')).toHaveLength(1);
  expect({
    threads: await sql.query(DIFFERING),
    people: await threadsWithOtherPeople(sql),
    folders: await sql.query(MISDATED),
  }).toEqual({ threads: [], people: [], folders: [] });
}
