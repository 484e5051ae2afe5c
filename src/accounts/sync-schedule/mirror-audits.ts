import type { Sql } from '../../platform/database/sql.ts';
import type { AuditRound, CollectionCounts, CollectionRound } from './mirror-audit.entity.ts';

/** The audits of an account. */
export interface AuditState {
  recentAt: Date;
  fullAt: Date;
  notBefore: Date | null;
  round: AuditRound | null;
  counted: Readonly<Record<string, number>>;
  unrepaired: number;
  failed: number;
}

/** When the first audits of an account begin. */
export interface FirstAudits {
  /** Of recent messages. */
  recentAt: Date;
  /** Of the whole mailbox. */
  fullAt: Date;
  /** Of calendars and contacts. */
  collectionsAt: Date;
}

/** The audits of an account's calendars and contacts. */
export interface CollectionsState {
  /** When the next audit begins or continues. */
  dueAt: Date;
  round: CollectionRound | null;
}

/** Published results of the audits of a mirror. */
export interface AuditResult {
  /** When the last audit of the whole mailbox was complete. Unix seconds. */
  checkedAt: number;
  messagesChecked: number;
  /** Found by that audit and by the audits of recent messages since then. */
  differencesFound: number;
  repaired: number;
  events: CollectionCounts;
  contacts: CollectionCounts;
}

/** Results of an account's audits as operators see them. */
export interface ListedAudit {
  accountId: string;
  email: string;
  /** `null` before the first audit of the whole mailbox is complete. */
  checkedAt: Date | null;
  messagesChecked: number;
  differencesFound: number;
  repaired: number;
  /** Differences that the last audit could not repair. */
  unrepaired: number;
  /** Of the last audit of calendars and contacts. */
  eventsChecked: number;
  eventsRepaired: number;
  contactsChecked: number;
  contactsRepaired: number;
}

// A round that an earlier version has begun lacks some fields.
const STATE = `
  select recent_at as "recentAt", full_at as "fullAt", not_before as "notBefore",
    '{"surplusFolders":[]}' || round as round, counted, unrepaired, failed
  from mirror_audit where account_id = $1`;

const ADD = `
  insert into mirror_audit (account_id, recent_at, full_at, collections_at, counted)
  values ($1, $2, $3, $4, '{}')
  on conflict (account_id) do nothing`;

const STORE_ROUND = `update mirror_audit set round = $2, not_before = null where account_id = $1`;

const POSTPONE = `update mirror_audit set not_before = $2 where account_id = $1`;

// The numbers of an audit of recent messages are added to those of the last full audit.
const FINISH = `
  update mirror_audit a
  set round = null, not_before = null, recent_at = $2, full_at = $3, counted = round -> 'counted',
    unrepaired = r.found - r.repaired,
    failed = case when r.found > r.repaired then least(failed + 1, 1000) when r.is_full then 0 else failed end,
    checked_at = case when r.is_full then $4 else checked_at end,
    messages_checked = case when r.is_full then r.checked else messages_checked end,
    differences_found = least(case when r.is_full then 0 else differences_found end + r.found, 1000000000),
    repaired = least(case when r.is_full then 0 else a.repaired end + r.repaired, 1000000000)
  from (select round ->> 'kind' = 'full' as is_full, (round ->> 'checked')::int as checked,
               (round ->> 'found')::int as found, (round ->> 'repaired')::int as repaired
        from mirror_audit where account_id = $1) r
  where a.account_id = $1`;

const COLLECTIONS = `
  select collections_at as "dueAt", collections as round from mirror_audit where account_id = $1`;

const STORE_COLLECTIONS = `update mirror_audit set collections = $2 where account_id = $1`;

const POSTPONE_COLLECTIONS = `update mirror_audit set collections_at = $2 where account_id = $1`;

const FINISH_COLLECTIONS = `
  update mirror_audit
  set collections = null, collections_at = $2, checked_at = coalesce($3, checked_at),
    events_checked = (collections -> 'events' ->> 'checked')::int,
    events_repaired = (collections -> 'events' ->> 'repaired')::int,
    contacts_checked = (collections -> 'contacts' ->> 'checked')::int,
    contacts_repaired = (collections -> 'contacts' ->> 'repaired')::int
  where account_id = $1`;

const LIST = `
  select a.account_id as "accountId", g.email, a.checked_at as "checkedAt", a.messages_checked as "messagesChecked",
    a.differences_found as "differencesFound", a.repaired, a.unrepaired,
    a.events_checked as "eventsChecked", a.events_repaired as "eventsRepaired",
    a.contacts_checked as "contactsChecked", a.contacts_repaired as "contactsRepaired"
  from mirror_audit a join "grant" g on g.id = a.account_id
  where $2::uuid is null or a.account_id = $2
  order by a.unrepaired desc, a.differences_found - a.repaired desc,
    a.differences_found + a.events_repaired + a.contacts_repaired desc, a.account_id limit $1`;

/** SQL expression: `AuditResult` of the account as JSON; `null` before its first full audit. */
export const auditResultOf = (accountId: string): string => `(
  select json_build_object('checkedAt', floor(extract(epoch from a.checked_at)), 'messagesChecked', a.messages_checked,
    'differencesFound', a.differences_found, 'repaired', a.repaired,
    'events', json_build_object('checked', a.events_checked, 'repaired', a.events_repaired),
    'contacts', json_build_object('checked', a.contacts_checked, 'repaired', a.contacts_repaired))
  from mirror_audit a where a.account_id = ${accountId} and a.checked_at is not null)`;

/** Result of the account's audits; `null` before its first full audit. */
export async function auditResult(sql: Sql, accountId: string): Promise<AuditResult | null> {
  const text = `select ${auditResultOf('$1::uuid')} as result`;
  const [row] = await sql.query<{ result: AuditResult | null }>(text, [accountId]);
  return row?.result ?? null;
}

/**
 * The state of an account's audits.
 * @param first for an account without audits
 */
export function auditState(sql: Sql, accountId: string, first: FirstAudits): Promise<AuditState> {
  return stateOf<AuditState>(sql, STATE, accountId, first);
}

async function stateOf<T extends object>(
  sql: Sql,
  statement: string,
  accountId: string,
  { recentAt, fullAt, collectionsAt }: FirstAudits,
): Promise<T> {
  for (;;) {
    const [state] = await sql.query<T>(statement, [accountId]);
    if (state) return state;
    await sql.query(ADD, [accountId, recentAt, fullAt, collectionsAt]);
  }
}

/** Stores the progress of the account's audit. */
export async function storeRound(sql: Sql, accountId: string, round: AuditRound): Promise<void> {
  await sql.query(STORE_ROUND, [accountId, JSON.stringify(round)]);
}

/** Postpones the account's audits. Their progress is kept. */
export async function postponeAudit(sql: Sql, accountId: string, until: Date): Promise<void> {
  await sql.query(POSTPONE, [accountId, until]);
}

/** Records the result of the account's audit, as `storeRound` has stored it. */
export async function finishAudit(
  sql: Sql,
  accountId: string,
  { at, recentAt, fullAt }: { at: Date; recentAt: Date; fullAt: Date },
): Promise<void> {
  await sql.query(FINISH, [accountId, recentAt, fullAt, at]);
}

/**
 * The state of an account's audits of calendars and contacts.
 * @param first for an account without audits
 */
export function collectionsState(
  sql: Sql,
  accountId: string,
  first: FirstAudits,
): Promise<CollectionsState> {
  return stateOf<CollectionsState>(sql, COLLECTIONS, accountId, first);
}

/** Stores the progress of the account's audit of calendars and contacts. */
export async function storeCollections(
  sql: Sql,
  accountId: string,
  round: CollectionRound,
): Promise<void> {
  await sql.query(STORE_COLLECTIONS, [accountId, JSON.stringify(round)]);
}

/** Postpones the account's audits of calendars and contacts. Their progress is kept. */
export async function postponeCollections(sql: Sql, accountId: string, until: Date): Promise<void> {
  await sql.query(POSTPONE_COLLECTIONS, [accountId, until]);
}

/**
 * Records the result of the account's audit of calendars and contacts, as `storeCollections` has
 * stored it.
 * @param checkedAt of an account without a mailbox; `null` for others
 */
export async function finishCollections(
  sql: Sql,
  accountId: string,
  { dueAt, checkedAt }: { dueAt: Date; checkedAt: Date | null },
): Promise<void> {
  await sql.query(FINISH_COLLECTIONS, [accountId, dueAt, checkedAt]);
}

/**
 * Results of audits: accounts with differences first.
 * @param accountId only this account; `null` for all accounts
 */
export function listAudits(
  sql: Sql,
  limit: number,
  accountId: string | null = null,
): Promise<ListedAudit[]> {
  return sql.query<ListedAudit>(LIST, [limit, accountId]);
}
