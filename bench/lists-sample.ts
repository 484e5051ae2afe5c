import { newId } from '../src/platform/base/ids/ids.ts';
import type { Sql } from '../src/platform/database/sql.ts';
import { ContentMove } from '../src/mail/messages/contents/content-move.ts';
import { refreshThreads } from '../src/mail/threading/refresh-threads.ts';

/** Seconds between messages: 100,000 messages span two years. */
const EVERY_S = 600;
const THREADS_AT_ONCE = 5_000;

/** Names of folders or labels: the standard ones first, then a user's own. */
export const FOLDER_NAMES = [
  'inbox',
  'sent',
  'drafts',
  'trash',
  'spam',
  'archive',
  ...Array.from({ length: 14 }, (_, number) => `Project ${number}`),
] as const;

const FOLDERS = `
  insert into folder (id, account_id, provider_id, name, display_name, created_at, updated_at)
  select x.id, $1, x.name, case when x.name !~ ' ' then x.name end, initcap(x.name), now(), now()
  from unnest($2::uuid[], $3::text[]) x(id, name)`;

// Ids as the product makes them: they grow with time.
const ID = (what: string) =>
  `(lpad(to_hex((extract(epoch from date) * 1000)::bigint), 12, '0') || '7' || substr(md5($1 || '${what}' || n), 1, 3) || '8' ||
    substr(md5($1 || '${what}' || n), 4, 15))::uuid`;

// Most conversations have three or four messages; one has hundreds. People with lower numbers are
// more frequent.
const MESSAGES = `
  with numbered as (
    select n, now() - make_interval(secs => $2::float8 * ${EVERY_S} - n * ${EVERY_S}) as date,
      ('x' || substr(md5('a' || n), 1, 7))::bit(28)::int / 268435456.0 as a,
      ('x' || substr(md5('b' || n), 1, 7))::bit(28)::int / 268435456.0 as b,
      case when n % 200 = 0 then 0 else 1 + (n * 3 / 10) end as thread
    from generate_series(1, $2::int) n),
  given as (
    select x.*, ${ID('m')} as id, md5($1 || 't' || thread)::uuid as thread_id, floor(power(2000, a))::int as person,
      n % 11 = 5 as sent, n % 500 = 3 as draft, n % 20 < 3 as file, 'Figures of month ' || thread as subject,
      repeat('<p>' || md5('t' || n) || ' the figures are better than anybody had expected</p>', 25) as body
    from numbered x),
  people as (
    select g.*, person || '@elsewhere.test' as other, (select email from "grant" where id = $1::uuid) as own from given g),
  threads as (
    insert into thread (id, account_id, subject, subject_key, first_message_at, last_message_at)
    select distinct on (thread_id) thread_id, $1::uuid, subject, lower(subject), date, date from given order by thread_id, date),
  messages as (
    insert into message (id, account_id, provider_id, thread_id, subject, snippet, date, from_addresses, to_addresses,
      cc_addresses, bcc_addresses, reply_to_addresses, participants, unread, starred, has_attachments, draft,
      message_id_header, reference_ids, metadata)
    select id, $1::uuid, n::text, thread_id, subject, left(body, 190), date,
      jsonb_build_array(jsonb_build_object('name', '', 'email', case when sent or draft then own else other end)),
      jsonb_build_array(jsonb_build_object('name', '', 'email', case when sent or draft then other else own end)),
      case when n % 5 = 0 then jsonb_build_array(jsonb_build_object('name', 'Bo', 'email', 'cc-' || n % 97 || '@elsewhere.test'))
           else '[]' end,
      case when sent and n % 3 = 0 then jsonb_build_array(jsonb_build_object('name', 'Lea', 'email', 'bcc@elsewhere.test'))
           else '[]' end,
      '[]', array_remove(array[case when sent or draft then 'f:' || own else 'f:' || other end,
                               case when sent or draft then 't:' || other else 't:' || own end,
                               case when n % 5 = 0 then 'c:cc-' || n % 97 || '@elsewhere.test' end,
                               case when sent and n % 3 = 0 then 'b:bcc@elsewhere.test' end], null),
      b < 0.02, b > 0.997, file, draft, '<' || n || '@bench.test>', '{}',
      case when n % 331 = 0 then jsonb_build_object('case', 'c' || n % 7) else '{}' end
    from people order by n),
  bodies as (insert into message_body (message_id, body) select id, body from given),
  files as (
    insert into file (id, account_id, message_id, part, filename, content_type, content_disposition, size)
    select ${ID('f')}, $1::uuid, id, 0, case when n % 3 = 0 then 'image001.png' else 'report-' || n % 400 || '.pdf' end,
      case when n % 3 = 0 then 'image/png' else 'application/pdf' end, 'attachment', 1000 from given where file order by n)
  insert into message_folder (message_id, folder_id, date)
  select id, ($3::uuid[])[place], date from given
  cross join lateral unnest(array[
    case when draft then 3 when sent then 2 when n % 29 = 0 then 4 when n % 31 = 0 then 5 when a < 0.5 then 6 else 1 end,
    case when $4 and b > 0.6 then 7 + floor(power(14, a))::int end]) place
  where place is not null`;

const CONTACTS = `
  with given as (select n, now() as date from generate_series(1, $2::int) n),
  made as (
    select n, ${ID('c')} as id, date, case when n % 10 = 0 then 'address_book' else 'inbox' end as source from given),
  contacts as (
    insert into contact (id, account_id, source, provider_id, content, created_at, updated_at)
    select id, $1::uuid, source, n::text,
      jsonb_build_object('given_name', 'Bo', 'surname', 'Number ' || n,
        'emails', jsonb_build_array(jsonb_build_object('type', null, 'email', n || '@elsewhere.test')), 'groups', '[]'::jsonb),
      date, date from made order by n)
  insert into contact_key (account_id, field, value, contact_id, source)
  select $1::uuid, field, value, id, source from made
  cross join lateral (values ('email', n || '@elsewhere.test'), ('phone_number', (n % 50000)::text), ('state', 's' || n % 16),
    ('country', 'de')) keys(field, value)`;

/**
 * Writes a mailbox without a provider: `count` messages in 20 folders or labels, the newest of now.
 * About one of six or seven has a file.
 * @param labels whether messages are in several labels
 */
export async function seedLists(
  sql: Sql,
  accountId: string,
  count: number,
  labels: boolean,
): Promise<void> {
  const folders = FOLDER_NAMES.map(() => newId());
  await sql.query(FOLDERS, [accountId, folders, FOLDER_NAMES]);
  await sql.query(MESSAGES, [accountId, count, folders, labels]);
  const move = new ContentMove();
  while ((await move.step(sql)) > 0);
  // Without current statistics the next statements would be planned for empty tables.
  await sql.query('analyze message, message_content, message_folder, thread, folder');
  const threads = await sql.query<{ id: string }>('select id from thread where account_id = $1', [
    accountId,
  ]);
  for (let low = 0; low < threads.length; low += THREADS_AT_ONCE) {
    const ids = threads.slice(low, low + THREADS_AT_ONCE).map(({ id }) => id);
    await refreshThreads(sql, accountId, ids, new Date());
  }
}

/** Writes contacts, each with four values by which lists find it. */
export async function seedContacts(sql: Sql, accountId: string, count: number): Promise<void> {
  await sql.query(CONTACTS, [accountId, count]);
}
