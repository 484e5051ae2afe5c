import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import { hasOpenWrite } from '../../../accounts/provider-writes/open-writes.ts';
import type { Message } from '../message.entity.ts';
import type { NotNull, RowOf } from '../../../platform/database/rows/row-of.ts';

/* SQL with which an audit compares a folder at the provider with the mirror. */

/** Statements that delete an account's audit together with its mirror. */
export const AUDIT_DELETIONS = [
  'delete from audit_listing where account_id = $1',
  'delete from audit_seen where account_id = $1',
  'delete from audited_day where account_id = $1',
  'delete from candidate_message where account_id = $1',
];

const ADD_LISTING = `
  insert into audit_listing (account_id, provider_id) select $1, unnest($2::text[]) on conflict do nothing`;

const FORGET_LISTING = 'delete from audit_listing where account_id = $1 returning 1';

const vanished = (id: string) =>
  `exists (select 1 from vanished_message v where v.message_id = ${id})`;

// A message that was stored or changed after the listing began may be missing in the listing.
// PostgreSQL's statistics are from a time when the listing was empty. A subquery is looked up in
// the index for each message; a join could compare each message with each listed id.
const COMPARE = `
  with f as (select id from folder where account_id = $1 and provider_id = $2 and not deleting),
  unknown as (
    select l.provider_id
    from f cross join audit_listing l
    left join message m on m.account_id = l.account_id and m.provider_id = l.provider_id
    where l.account_id = $1
      and (m.id is null or not exists (
        select 1 from message_folder mf where mf.message_id = m.id and mf.folder_id = f.id))
      and not ${hasOpenWrite('m.id')}),
  absent as (
    select m.provider_id
    from f join message_folder mf on mf.folder_id = f.id join message m on m.id = mf.message_id
    where m.provider_id is not null and ($3::timestamptz is null or mf.date >= $3)
      and greatest(m.created_at, m.updated_at) <= $4
      and (select l.provider_id from audit_listing l
           where l.account_id = $1 and l.provider_id = m.provider_id) is null
      and not ${vanished('m.id')} and not ${hasOpenWrite('m.id')})
  insert into candidate_message (account_id, provider_id)
  select $1, provider_id from unknown union select $1, provider_id from absent
  on conflict do nothing`;

const CANDIDATES = `
  select provider_id as id from candidate_message
  where account_id = $1 and (gone_since is null or gone_since <= $3) order by provider_id limit $2`;

const GONE_SINCE = `
  select min(gone_since) as since from candidate_message where account_id = $1 and gone_since is not null`;

const NOTE_GONE = `
  update candidate_message set gone_since = $3
  where account_id = $1 and provider_id = any($2::text[]) and gone_since is null
  returning provider_id as id`;

const COUNT_LOOK = `
  update candidate_message set looks = looks + 1 where account_id = $1 and provider_id = any($2::text[])`;

const RESET_LOOKS = `
  update candidate_message set looks = 0 where account_id = $1 and provider_id = any($2::text[])`;

const FORGET_CANDIDATES = `
  delete from candidate_message where account_id = $1 and (provider_id = any($2::text[]) or looks >= $3)
  returning provider_id = any($2::text[]) as known`;

const STATES = `
  select m.provider_id as "providerId",
    ${vanished('m.id')} or ${hasOpenWrite('m.id')} as "isOpen",
    array(select f.provider_id from message_folder mf join folder f on f.id = mf.folder_id
          where mf.message_id = m.id and f.provider_id is not null) as "folderIds"
  from message m where m.account_id = $1 and m.provider_id = any($2::text[])`;

const COUNTS = `
  select f.provider_id as "folderId", count(m.id)::int as messages
  from folder f
  left join message_folder mf on mf.folder_id = f.id
  left join message m on m.id = mf.message_id and m.provider_id is not null
  where f.account_id = $1 and f.provider_id is not null and not f.deleting
  group by f.provider_id order by f.provider_id`;

/** Stores ids that the provider has listed in a folder. */
export async function addListing(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
): Promise<void> {
  if (providerIds.length > 0) await sql.query(ADD_LISTING, [accountId, providerIds]);
}

/** Deletes the listed ids. @returns how many there were */
export async function forgetListing(sql: Sql, accountId: string): Promise<number> {
  return (await sql.query(FORGET_LISTING, [accountId])).length;
}

/**
 * Compares the listed ids with a folder of the mirror. Messages that differ become candidates,
 * except those with an open provider write and those that wait for the other half of a move.
 * @param since earlier messages of the mirror are not compared
 * @param beganAt when the listing began
 */
export async function compareListing(
  sql: Sql,
  accountId: string,
  folderId: string,
  since: Date | null,
  beganAt: Date,
): Promise<void> {
  await sql.query(COMPARE, [accountId, folderId, since, beganAt]);
}

/**
 * Provider ids of candidates.
 * @param goneBefore those of which `noteGone` has noted a later time are left out
 */
export async function candidates(
  sql: Sql,
  accountId: string,
  limit: number,
  goneBefore: Date,
): Promise<string[]> {
  return idsOf(await sql.query<{ id: string }>(CANDIDATES, [accountId, limit, goneBefore]));
}

/**
 * Notes that the provider has answered that candidates do not exist.
 * @returns those of which it was not noted before
 */
export async function noteGone(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
  at: Date,
): Promise<string[]> {
  if (providerIds.length === 0) return [];
  return idsOf(await sql.query<{ id: string }>(NOTE_GONE, [accountId, providerIds, at]));
}

/** The earliest time that `noteGone` has noted of the candidates; `null` for none. */
export async function goneSince(sql: Sql, accountId: string): Promise<Date | null> {
  const [row] = await sql.query<{ since: Date | null }>(GONE_SINCE, [accountId]);
  return row?.since ?? null;
}

/** Counts a look at candidates, before it begins. */
export async function countLook(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
): Promise<void> {
  await sql.query(COUNT_LOOK, [accountId, providerIds]);
}

/** Forgets earlier looks at candidates. */
export async function resetLooks(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
): Promise<void> {
  await sql.query(RESET_LOOKS, [accountId, providerIds]);
}

/**
 * Deletes candidates.
 * @param providerIds candidates whose state is known now
 * @param looks candidates with this many looks are deleted as well
 * @returns the number of the latter
 */
export async function forgetCandidates(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
  looks: number,
): Promise<number> {
  const rows = await sql.query<{ known: boolean }>(FORGET_CANDIDATES, [
    accountId,
    providerIds,
    looks,
  ]);
  return rows.filter(({ known }) => !known).length;
}

/** A mirrored message, as far as an audit compares it. */
export interface AuditedMessage extends NotNull<RowOf<Message, 'providerId'>> {
  folderIds: readonly string[];
  /** True if it is changing: it has an open provider write, or has vanished from its folder. */
  isOpen: boolean;
}

/** Mirrored messages by provider id; those that are not in the mirror are left out. */
export async function auditedMessages(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
): Promise<Map<string, AuditedMessage>> {
  const rows = await sql.query<AuditedMessage>(STATES, [accountId, providerIds]);
  return new Map(rows.map((row) => [row.providerId, row]));
}

/** Number of messages in each folder of the mirror, by the folder's provider id. */
export async function countMirrored(sql: Sql, accountId: string): Promise<Map<string, number>> {
  const rows = await sql.query<{ folderId: string; messages: number }>(COUNTS, [accountId]);
  return new Map(rows.map(({ folderId, messages }) => [folderId, messages]));
}
