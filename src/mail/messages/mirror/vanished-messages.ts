import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import { hasOpenMove, hasOpenWrite } from '../../../accounts/provider-writes/open-writes.ts';
import { DISPLACED } from './folder-contents.ts';

/* Messages that disappeared from their folder and may still reappear in another one. */

/** SQL condition: the account has vanished messages. @param accountId a column */
export const hasVanished = (accountId: string): string =>
  `exists (select 1 from vanished_message v where v.account_id = ${accountId})`;

const VANISH = `
  insert into vanished_message (message_id, account_id, vanished_at)
  select id, $1, $3 from message where account_id = $1 and id = any($2::uuid[])
  on conflict (message_id) do nothing`;

const UNVANISH = `delete from vanished_message where account_id = $1 and message_id = any($2::uuid[])`;

// A message with an open provider write is left out, unless it vanished at or before $3.
const EXPIRED = `
  select v.message_id as id from vanished_message v
  where v.account_id = $1 and v.vanished_at <= $2
    and (v.vanished_at <= $3 or not ${hasOpenWrite('v.message_id')})`;

/** Marks messages as vanished. They are kept until they reappear or their time has expired. */
export async function vanish(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
  at: Date,
): Promise<void> {
  if (ids.length > 0) await sql.query(VANISH, [accountId, ids, at]);
}

/** Removes the mark from messages that are at the provider (again). */
export async function unvanish(sql: Sql, accountId: string, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.query(UNVANISH, [accountId, ids]);
}

/**
 * Vanished messages whose time has expired. A message with an open write is left out unless it
 * vanished before `latest`.
 * @param before messages must have vanished at or before this time
 * @param latest messages that vanished at or before this time are returned even with an open
 *   write
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

// Only messages that are in the mirror twice still have the prefix: another row has their new id.
const SET_DISPLACED_ASIDE = `
  insert into vanished_message (message_id, account_id, vanished_at)
  select id, $1, $2 from message where account_id = $1 and starts_with(provider_id, $3)
  on conflict (message_id) do nothing
  returning 1`;
// The removal of a deleted folder's messages is stored in a later transaction. If that one fails,
// no later sync pass asks for the folder again. Messages marked as vanished are still deleted in
// time.
const SET_CONTENTS_ASIDE = `
  insert into vanished_message (message_id, account_id, vanished_at)
  select distinct mf.message_id, $1::uuid, $3::timestamptz
  from message_folder mf join message m on m.id = mf.message_id
  where m.account_id = $1 and m.provider_id is not null and mf.folder_id = any($2::uuid[])
    and not exists (
      select 1 from message_folder o where o.message_id = mf.message_id and o.folder_id <> all($2::uuid[]))
    and not ${hasOpenMove('mf.message_id')}
  on conflict (message_id) do nothing
  returning 1`;

/**
 * Marks messages as vanished whose new provider id another message had when `moveMessages` ran.
 * @returns true if there were any
 */
export async function setDisplacedAside(sql: Sql, accountId: string, at: Date): Promise<boolean> {
  return (await sql.query(SET_DISPLACED_ASIDE, [accountId, at, DISPLACED])).length > 0;
}

/**
 * Marks messages as vanished that are in these folders only. A message that is on its way into one
 * of them through the API is left out: at the provider it is still elsewhere. Call it before the
 * folders are deleted.
 * @returns true if there were any
 */
export async function setContentsAside(
  sql: Sql,
  accountId: string,
  folderIds: readonly string[],
  at: Date,
): Promise<boolean> {
  return (await sql.query(SET_CONTENTS_ASIDE, [accountId, folderIds, at])).length > 0;
}
