import type { RowOf } from '../../../platform/database/rows/row-of.ts';
import { columnsOf, type Sql } from '../../../platform/database/sql.ts';
import type { MessageContent } from './message-content.entity.ts';

/*
 * SQL of bodies that are in the object store (ADR 0168). A row names its object by key and digest;
 * `body` is then null. The object has the same bytes that `body` would have.
 */

/** Whose body it is. */
export type BodyOwner = RowOf<MessageContent, 'accountId' | 'messageId'>;

/** A body in the database, as it is stored: UTF-8 or compressed. */
export interface StoredBytes extends BodyOwner {
  stored: Buffer;
}

/** A body in the object store. */
export interface NamedObject extends BodyOwner {
  key: string;
  /** SHA-256 of the object. */
  digest: Buffer;
}

/** How many bodies, and how many bytes of them together. The first body may be longer. */
export interface BatchLimits {
  rows: number;
  bytes: number;
}

// Sync passes compare bodies of messages without Message-ID, and of messages that the provider has
// not reported, in their transactions, where nothing may wait for the object store. Drafts change
// often and are read in transactions, too.
const MAY_LEAVE = `
  c.body is not null and not m.draft and not m.listed and m.provider_id is not null
  and m.message_id_header is not null`;

// Bodies are measured without being read, and only those are read that fit together.
const LEAVING_OF = `
  with found as materialized (
    select c.account_id, c.message_id, octet_length(c.body) as bytes
    from unnest($1::uuid[], $2::uuid[]) x(account_id, message_id)
    join message_content c on c.account_id = x.account_id and c.message_id = x.message_id
    join message m on m.id = c.message_id
    where ${MAY_LEAVE} and octet_length(c.body) >= $3),
  fitting as (
    select *, row_number() over w as n, sum(bytes) over w as total from found
    window w as (order by account_id, message_id))
  select c.account_id as "accountId", c.message_id as "messageId", c.body as stored
  from fitting f join message_content c on c.account_id = f.account_id and c.message_id = f.message_id
  where (f.n = 1 or f.total <= $4) and c.body is not null order by c.account_id, c.message_id`;

/**
 * Bodies of messages that may go to the object store, in the order of their owners. Bodies that do
 * not fit into `mostBytes` together are left out, but never the first one.
 * @param minBytes shorter ones stay in the database
 */
export function leavingBodiesOf(
  sql: Sql,
  owners: readonly BodyOwner[],
  minBytes: number,
  mostBytes: number,
): Promise<StoredBytes[]> {
  const values = [...columnsOf(owners, 'accountId', 'messageId'), minBytes, mostBytes];
  return sql.query<StoredBytes>(LEAVING_OF, values);
}

const after = (account: string, message: string) =>
  `(c.account_id, c.message_id) > (${account}::uuid, ${message}::uuid)`;

const LEAVING_AFTER = `
  select c.account_id as "accountId", c.message_id as "messageId"
  from message_content c join message m on m.id = c.message_id
  where ${after('$1', '$2')} and ${MAY_LEAVE} and octet_length(c.body) >= $3
  order by c.account_id, c.message_id limit $4`;

/** The owners of the next bodies that may go to the object store. */
export function leavingAfter(
  sql: Sql,
  { accountId, messageId }: BodyOwner,
  minBytes: number,
  limit: number,
): Promise<BodyOwner[]> {
  return sql.query<BodyOwner>(LEAVING_AFTER, [accountId, messageId, minBytes, limit]);
}

// The digest proves that the row still has the bytes that were stored. Rows that another
// transaction has locked are left out, and come later.
const NAME = `
  with given as (
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[]) x(account_id, message_id, key, digest)),
  locked as materialized (
    select g.* from given g
    join message_content c on c.account_id = g.account_id and c.message_id = g.message_id
    where sha256(c.body) = g.digest
    order by g.account_id, g.message_id for no key update of c skip locked)
  update message_content c set body = null, object_key = l.key, object_digest = l.digest
  from locked l where c.account_id = l.account_id and c.message_id = l.message_id
  returning c.account_id as "accountId", c.message_id as "messageId"`;

/**
 * Lets rows name the objects that have their bodies, and empties these bodies. Rows whose body has
 * changed stay as they are; their objects are then without a row.
 * @returns the owners of the rows that name their object now
 */
export async function nameObjects(sql: Sql, objects: readonly NamedObject[]): Promise<BodyOwner[]> {
  if (objects.length === 0) return [];
  return sql.query<BodyOwner>(NAME, columnsOf(objects, 'accountId', 'messageId', 'key', 'digest'));
}

const NAMED_AFTER = `
  with page as materialized (
    select c.account_id, c.message_id, c.bytes, c.object_key, c.object_digest from message_content c
    where ${after('$1', '$2')} and c.object_key is not null
    order by c.account_id, c.message_id limit $3),
  fitting as (
    select *, row_number() over w as n, sum(bytes) over w as total from page
    window w as (order by account_id, message_id))
  select account_id as "accountId", message_id as "messageId", object_key as key, object_digest as digest, bytes
  from fitting where n = 1 or total <= $4 order by account_id, message_id`;

/** The next bodies that are in the object store, with their lengths before compression. */
export function namedAfter(
  sql: Sql,
  { accountId, messageId }: BodyOwner,
  { rows, bytes }: BatchLimits,
): Promise<(NamedObject & RowOf<MessageContent, 'bytes'>)[]> {
  return sql.query(NAMED_AFTER, [accountId, messageId, rows, bytes]);
}

const TAKE_BACK = `
  with given as (
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[]) x(account_id, message_id, key, stored)),
  locked as materialized (
    select g.* from given g
    join message_content c on c.account_id = g.account_id and c.message_id = g.message_id
    where c.object_key = g.key
    order by g.account_id, g.message_id for no key update of c)
  update message_content c set body = l.stored, object_key = null, object_digest = null
  from locked l where c.account_id = l.account_id and c.message_id = l.message_id
  returning c.account_id as "accountId", c.message_id as "messageId"`;

/**
 * Puts bodies from the object store back into their rows. Rows that name another object by now stay
 * as they are.
 * @returns the owners of the rows that have their body again
 */
export async function takeBack(
  sql: Sql,
  bodies: readonly (StoredBytes & { key: string })[],
): Promise<BodyOwner[]> {
  if (bodies.length === 0) return [];
  return sql.query(TAKE_BACK, columnsOf(bodies, 'accountId', 'messageId', 'key', 'stored'));
}

const NAMED_KEYS = `
  select c.object_key as key from unnest($1::uuid[], $2::uuid[]) x(account_id, message_id)
  join message_content c on c.account_id = x.account_id and c.message_id = x.message_id
  where c.object_key is not null`;

/** Which of the objects of these owners a row names. */
export async function namedKeysOf(sql: Sql, owners: readonly BodyOwner[]): Promise<Set<string>> {
  const values = columnsOf(owners, 'accountId', 'messageId');
  const rows = await sql.query<{ key: string }>(NAMED_KEYS, values);
  return new Set(rows.map(({ key }) => key));
}

const READ_AGAIN = `
  update message m set listed = true, version = m.version + 1, updated_at = $4
  from message_content c
  where c.account_id = $1 and c.message_id = $2 and c.object_key = $3
    and m.id = c.message_id and m.account_id = $1 and m.provider_id is not null and not m.listed`;

/**
 * Makes a message a listed one, so that its content is fetched from the provider again, if its row
 * still names the object.
 */
export async function readBodyAgain(
  sql: Sql,
  { accountId, messageId }: BodyOwner,
  key: string,
  at: Date,
): Promise<void> {
  await sql.query(READ_AGAIN, [accountId, messageId, key, at]);
}
