import type { Sql } from '../platform/database/sql.ts';
import type { ContactFields } from '../providers/port/contact-content.ts';

/** A sender or recipient of mail. */
export interface PersonOfMail {
  /** Id for the contact if it is new. */
  id: string;
  email: string;
  /** Filter key of the address (`filterKey`). */
  key: string;
  /** Rank of the name. A name with a higher rank replaces the stored one. */
  rank: number;
  content: ContactFields;
}

// Most people are known already by a name of the same rank or a better one. For them the statement
// only reads.
const WRITE_PEOPLE = `
  with given as (
    select * from jsonb_to_recordset($2::jsonb) x(id uuid, email text, key text, rank smallint, content jsonb)),
  news as (
    select g.* from given g
    left join contact c on c.account_id = $1 and c.source = 'inbox' and c.provider_id = g.email
    where c.id is null or c.name_rank < g.rank),
  written as (
    insert into contact (id, account_id, source, provider_id, content, name_rank, created_at, updated_at)
    select id, $1, 'inbox', email, content, rank, $3, $3 from news order by id
    on conflict (account_id, source, provider_id) do update
      set content = excluded.content, name_rank = excluded.name_rank, updated_at = excluded.updated_at
    returning id, provider_id, (xmax = 0) as created),
  keyed as (
    insert into contact_key (account_id, field, value, contact_id, source)
    select $1, 'email', g.key, w.id, 'inbox' from written w join news g on g.email = w.provider_id where w.created)
  select id, provider_id as email, created from written`;

/**
 * Writes contacts for people in mail (source `inbox`) in one statement.
 * @returns contacts that were created or got a better name
 */
export function writePeopleOfMail(
  sql: Sql,
  accountId: string,
  people: readonly PersonOfMail[],
  at: Date,
): Promise<{ id: string; email: string; created: boolean }[]> {
  return sql.query(WRITE_PEOPLE, [accountId, JSON.stringify(people), at]);
}
