import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { hasOpenWrite } from '../../accounts/provider-writes/open-writes.ts';
import { DISPLACED } from './folder-contents.ts';

/* Messages that are gone from where they were, and may still turn up elsewhere. */

/** SQL: whether an account has such messages. @param accountId a column */
export const hasVanished = (accountId: string): string =>
  `exists (select 1 from vanished_message v where v.account_id = ${accountId})`;

const VANISH = `
  insert into vanished_message (message_id, account_id, vanished_at)
  select id, $1, $3 from message where account_id = $1 and id = any($2::uuid[])
  on conflict (message_id) do nothing`;

const UNVANISH = `delete from vanished_message where account_id = $1 and message_id = any($2::uuid[])`;

// While somebody changes a message through the API it is not taken from under his hands, within reason.
const EXPIRED = `
  select v.message_id as id from vanished_message v
  where v.account_id = $1 and v.vanished_at <= $2
    and (v.vanished_at <= $3 or not ${hasOpenWrite('v.message_id')})`;

/** Sets messages aside that are gone from where they were, until they turn up elsewhere or their time is over. */
export async function vanish(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
  at: Date,
): Promise<void> {
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
export async function expiredOf(
  sql: Sql,
  accountId: string,
  before: Date,
  latest: Date,
): Promise<string[]> {
  const rows = await sql.query<{ id: string }>(EXPIRED, [accountId, before, latest]);
  return idsOf(rows);
}

// What is left has its place taken: the mirror has had it twice.
const SET_DISPLACED_ASIDE = `
  insert into vanished_message (message_id, account_id, vanished_at)
  select id, $1, $2 from message where account_id = $1 and starts_with(provider_id, $3)
  on conflict (message_id) do nothing
  returning 1`;
// Without its folder nobody would ask for them any more, should what the look says of them never be stored.
const SET_CONTENTS_ASIDE = `
  insert into vanished_message (message_id, account_id, vanished_at)
  select distinct mf.message_id, $1::uuid, $3::timestamptz
  from message_folder mf join message m on m.id = mf.message_id
  where m.account_id = $1 and m.provider_id is not null and mf.folder_id = any($2::uuid[])
    and not exists (
      select 1 from message_folder o where o.message_id = mf.message_id and o.folder_id <> all($2::uuid[]))
  on conflict (message_id) do nothing
  returning 1`;

/** Sets messages aside whose place was taken when `moveMessages` moved them. @returns whether there were any */
export async function setDisplacedAside(sql: Sql, accountId: string, at: Date): Promise<boolean> {
  return (await sql.query(SET_DISPLACED_ASIDE, [accountId, at, DISPLACED])).length > 0;
}

/** Sets messages aside that are in these folders alone, before the folders are deleted. @returns whether there were any */
export async function setContentsAside(
  sql: Sql,
  accountId: string,
  folderIds: readonly string[],
  at: Date,
): Promise<boolean> {
  return (await sql.query(SET_CONTENTS_ASIDE, [accountId, folderIds, at])).length > 0;
}
