import type { Sql } from '../../platform/database/sql.ts';
import type {
  AuditRound,
  CollectionCounts,
  CollectionRound,
  MirrorAudit,
} from './mirror-audit.entity.ts';
import type { NotNull, RowOf } from '../../platform/database/rows/row-of.ts';

/** What audits compare. */
export const AUDITED_KINDS = ['messages', 'events', 'contacts'] as const;
export type AuditedKind = (typeof AUDITED_KINDS)[number];

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

/** When the audits of an account are due, and their last result. `null`: it has no audits yet. */
export interface AuditTimes {
  recentAuditAt: Date | null;
  fullAuditAt: Date | null;
  auditNotBefore: Date | null;
  /** True if an audit of the mailbox has begun. */
  auditBegun: boolean | null;
  collectionsAuditAt: Date | null;
  /** True if a list of calendars or contacts lacked objects, and no audit has listed them again. */
  collectionsDoubted: boolean | null;
  /** `AuditState.unrepaired` and `AuditState.failed`. */
  unrepairedDifferences: number | null;
  failedAudits: number | null;
}

/** SQL with which other statements read `AuditTimes`. */
export const AUDIT_TIMES = {
  columns: `
    audit.recent_at as "recentAuditAt", audit.full_at as "fullAuditAt", audit.not_before as "auditNotBefore",
    audit.round is not null as "auditBegun", audit.collections_at as "collectionsAuditAt",
    audit.collections_doubted or audit.collections is not null as "collectionsDoubted",
    audit.unrepaired as "unrepairedDifferences", audit.failed as "failedAudits"`,
  /** @param accountId an SQL expression */
  join: (accountId: string): string =>
    `left join mirror_audit audit on audit.account_id = ${accountId}`,
};

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
  /** Of the differences found: messages that the mirror lacked. */
  missing: number;
  /** Messages that only the mirror had. */
  surplus: number;
  /** Messages that were in other folders in the mirror. */
  misplaced: number;
  /** Differences that the last audit could not repair. */
  unrepaired: number;
  /** Folders that the last audit could not list. */
  foldersSkipped: number;
  events: CollectionCounts;
  contacts: CollectionCounts;
}

// A round that an earlier version has begun lacks some fields.
const STATE = `
  select recent_at as "recentAt", full_at as "fullAt", not_before as "notBefore",
    '{"surplusFolders":[],"missing":0,"surplus":0,"misplaced":0,"skipped":0}' || round as round, counted, unrepaired, failed
  from mirror_audit where account_id = $1`;

const ADD = `
  insert into mirror_audit (account_id, recent_at, full_at, collections_at, counted)
  values ($1, $2, $3, $4, '{}')
  on conflict (account_id) do nothing`;

const STORE_ROUND = `update mirror_audit set round = $2, not_before = null where account_id = $1`;

const POSTPONE = `update mirror_audit set not_before = $2 where account_id = $1`;

// Totals are the last rows that a transaction locks, and each has rows of one or two kinds only, in
// the order of the kinds: no deadlock.
const ADD_TOTAL = `
  insert into audit_total as t (kind, audits, compared, missing, surplus, changed, repaired, skipped)
  select $1, 1, coalesce((c ->> 'checked')::bigint, 0), coalesce((c ->> 'missing')::bigint, 0),
    coalesce((c ->> 'surplus')::bigint, 0), coalesce((c ->> $3)::bigint, 0),
    coalesce((c ->> 'repaired')::bigint, 0), coalesce((c ->> 'skipped')::bigint, 0)
  from (select $2::jsonb as c) x
  on conflict (kind) do update
    set audits = t.audits + excluded.audits, compared = t.compared + excluded.compared,
      missing = t.missing + excluded.missing, surplus = t.surplus + excluded.surplus,
      changed = t.changed + excluded.changed, repaired = t.repaired + excluded.repaired,
      skipped = t.skipped + excluded.skipped`;

// A sum of the last full audit and the audits of recent messages since then.
const added = (column: string, field: string) =>
  `${column} = least(case when r.is_full then 0 else a.${column} end + coalesce((r.round ->> '${field}')::int, 0), 1000000000)`;

const FINISH = `
  update mirror_audit a
  set round = null, not_before = null, recent_at = $2, full_at = $3, counted = r.round -> 'counted',
    unrepaired = r.found - r.fixed,
    failed = case when r.found > r.fixed then least(failed + 1, 1000) when r.is_full then 0 else failed end,
    checked_at = case when r.is_full then $4 else checked_at end,
    messages_checked = case when r.is_full then (r.round ->> 'checked')::int else messages_checked end,
    folders_skipped = coalesce((r.round ->> 'skipped')::int, 0),
    ${added('differences_found', 'found')}, ${added('repaired', 'repaired')},
    ${added('missing', 'missing')}, ${added('surplus', 'surplus')}, ${added('misplaced', 'misplaced')}
  from (select round, round ->> 'kind' = 'full' as is_full, (round ->> 'found')::int as found,
               (round ->> 'repaired')::int as fixed
        from mirror_audit where account_id = $1) r
  where a.account_id = $1
  returning r.round`;

// A round that an earlier version has begun lacks numbers: it begins anew.
const COLLECTIONS = `
  select collections_at as "dueAt", case when collections #> '{events,skipped}' is not null then collections end as round
  from mirror_audit where account_id = $1`;

const BEGIN_COLLECTIONS = `
  update mirror_audit set collections = $2, collections_doubted = false where account_id = $1`;

// An audit that waits for its second list goes on waiting.
const REQUEST_COLLECTIONS = `
  insert into mirror_audit as a (account_id, recent_at, full_at, collections_at, counted, collections_doubted)
  values ($1, $2::timestamptz, $2::timestamptz, $2::timestamptz, '{}', true)
  on conflict (account_id) do update
    set collections_doubted = true,
      collections_at = case when a.collections is null then least(a.collections_at, $2::timestamptz) else a.collections_at end`;

const STORE_COLLECTIONS = `update mirror_audit set collections = $2 where account_id = $1`;

const POSTPONE_COLLECTIONS = `update mirror_audit set collections_at = $2 where account_id = $1`;

/** Numbers that an audit of calendars and contacts counts of each kind. */
export const COUNTS = ['checked', 'repaired', 'missing', 'surplus', 'changed', 'skipped'] as const;

const countsOf = (kind: 'events' | 'contacts') =>
  COUNTS.map((name) => `${kind}_${name} = (collections -> '${kind}' ->> '${name}')::int`).join(
    ', ',
  );

const FINISH_COLLECTIONS = `
  update mirror_audit
  set collections = null, collections_at = case when collections_doubted then $4::timestamptz else $2::timestamptz end,
    checked_at = coalesce($3, checked_at),
    ${countsOf('events')}, ${countsOf('contacts')}
  where account_id = $1`;

const countsObject = (kind: 'events' | 'contacts') =>
  `json_build_object(${COUNTS.map((name) => `'${name}', a.${kind}_${name}`).join(', ')})`;

/** SQL expression: `AuditResult` of the account as JSON; `null` before its first full audit. */
export const auditResultOf = (accountId: string): string => `(
  select json_build_object('checkedAt', floor(extract(epoch from a.checked_at)), 'messagesChecked', a.messages_checked,
    'differencesFound', a.differences_found, 'repaired', a.repaired, 'missing', a.missing, 'surplus', a.surplus,
    'misplaced', a.misplaced, 'unrepaired', a.unrepaired, 'foldersSkipped', a.folders_skipped,
    'events', ${countsObject('events')}, 'contacts', ${countsObject('contacts')})
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
  const [row] = await sql.query<NotNull<RowOf<MirrorAudit, 'round'>>>(FINISH, [
    accountId,
    recentAt,
    fullAt,
    at,
  ]);
  await sql.query(ADD_TOTAL, ['messages', JSON.stringify(row?.round), 'misplaced']);
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

/** Stores an audit of calendars and contacts that begins. */
export async function beginCollections(
  sql: Sql,
  accountId: string,
  round: CollectionRound,
): Promise<void> {
  await sql.query(BEGIN_COLLECTIONS, [accountId, JSON.stringify(round)]);
}

/**
 * Makes the account's next audit of calendars and contacts due, also where mirrors are not audited:
 * a list lacked objects that the mirror has.
 */
export async function requestCollections(sql: Sql, accountId: string, at: Date): Promise<void> {
  await sql.query(REQUEST_COLLECTIONS, [accountId, at]);
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
 * stored it. The next one is due at once if it was requested meanwhile.
 * @param checkedAt of an account without a mailbox; `null` for others
 */
export async function finishCollections(
  sql: Sql,
  accountId: string,
  {
    at,
    dueAt,
    checkedAt,
    events,
    contacts,
  }: {
    at: Date;
    dueAt: Date;
    checkedAt: Date | null;
    events: CollectionCounts;
    contacts: CollectionCounts;
  },
): Promise<void> {
  await sql.query(FINISH_COLLECTIONS, [accountId, dueAt, checkedAt, at]);
  await sql.query(ADD_TOTAL, ['contacts', JSON.stringify(contacts), 'changed']);
  await sql.query(ADD_TOTAL, ['events', JSON.stringify(events), 'changed']);
}
