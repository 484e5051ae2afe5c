import type { Sql } from '../../platform/database/sql.ts';
import { AUDITED_KINDS, COUNTS } from './mirror-audits.ts';
import type { MirrorAudit } from './mirror-audit.entity.ts';
import type { AuditTotal } from './audit-total.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/* What operators see of the audits of all accounts. */

/** Results of an account's audits as operators see them. */
export interface ListedAudit extends RowOf<
  MirrorAudit,
  | 'checkedAt'
  | 'messagesChecked'
  | 'differencesFound'
  | 'missing'
  | 'surplus'
  | 'misplaced'
  | 'repaired'
  | 'unrepaired'
  | 'foldersSkipped'
  | 'eventsChecked'
  | 'eventsMissing'
  | 'eventsSurplus'
  | 'eventsChanged'
  | 'eventsRepaired'
  | 'eventsSkipped'
  | 'contactsChecked'
  | 'contactsMissing'
  | 'contactsSurplus'
  | 'contactsChanged'
  | 'contactsRepaired'
  | 'contactsSkipped'
> {
  accountId: string;
  email: string;
  /**
   * Since when the audit of the whole mailbox has been due, if that is more than a day; else
   * `null`. Of an account whose mirror is not complete yet: when it was connected.
   */
  overdueSince: Date | null;
}

/** Sums of all complete audits, as `AuditTotal` describes them. */
export type ListedTotal = RowOf<
  AuditTotal,
  'kind' | 'audits' | 'compared' | 'missing' | 'surplus' | 'changed' | 'repaired' | 'skipped'
>;

const number = (column: string, name: string) => `coalesce(a.${column}, 0) as "${name}"`;

// Accounts without a mirror of their own, such as virtual ones, have no row in sync_job.
const LIST = `
  select * from (
    select g.id as "accountId", g.email, a.checked_at as "checkedAt",
      case when a.checked_at is null and g.linked_at < $3::timestamptz - interval '1 day' then g.linked_at
           when a.full_at < $3::timestamptz - interval '1 day' then a.full_at end as "overdueSince",
      ${number('messages_checked', 'messagesChecked')}, ${number('differences_found', 'differencesFound')},
      ${number('missing', 'missing')}, ${number('surplus', 'surplus')}, ${number('misplaced', 'misplaced')},
      ${number('repaired', 'repaired')}, ${number('unrepaired', 'unrepaired')},
      ${number('folders_skipped', 'foldersSkipped')},
      ${['events', 'contacts'].flatMap((kind) => COUNTS.map((name) => number(`${kind}_${name}`, kind + name[0]?.toUpperCase() + name.slice(1)))).join(', ')}
    from "grant" g join sync_job j on j.account_id = g.id left join mirror_audit a on a.account_id = g.id
    where g.status = 'valid' and ($2::uuid is null or g.id = $2)) l
  order by unrepaired desc, "overdueSince", "differencesFound" - repaired desc,
    "foldersSkipped" + "eventsSkipped" + "contactsSkipped" desc,
    "differencesFound" + "eventsRepaired" + "contactsRepaired" desc, "accountId" limit $1`;

const TOTALS = `
  select kind, audits::float8, compared::float8, missing::float8, surplus::float8, changed::float8,
    repaired::float8, skipped::float8
  from audit_total`;

/**
 * Results of audits of all accounts that are mirrored: those with differences first, then those
 * whose audit is overdue.
 * @param accountId only this account; `null` for all accounts
 */
export function listAudits(
  sql: Sql,
  now: Date,
  limit: number,
  accountId: string | null = null,
): Promise<ListedAudit[]> {
  return sql.query<ListedAudit>(LIST, [limit, accountId, now]);
}

/** Sums of all complete audits, one entry for each kind. */
export async function auditTotals(sql: Sql): Promise<ListedTotal[]> {
  const rows = await sql.query<ListedTotal>(TOTALS);
  const none = {
    audits: 0,
    compared: 0,
    missing: 0,
    surplus: 0,
    changed: 0,
    repaired: 0,
    skipped: 0,
  };
  return AUDITED_KINDS.map((kind) => rows.find((one) => one.kind === kind) ?? { kind, ...none });
}

/** Numbers of accounts whose mirrors are not proven to be complete, by reason. */
export interface UnprovenAccounts {
  never_audited: number;
  /** The audit of the whole mailbox should have begun more than a day ago. */
  audit_overdue: number;
  /** Folders, calendars or address books could not be compared. */
  skipped: number;
  unrepaired: number;
}

const UNPROVEN = `
  select count(*) filter (where a.checked_at is null)::int as never_audited,
    count(*) filter (where a.checked_at is not null and a.full_at < $1::timestamptz - interval '1 day')::int as audit_overdue,
    count(*) filter (where a.folders_skipped + a.events_skipped + a.contacts_skipped > 0)::int as skipped,
    count(*) filter (where a.unrepaired > 0)::int as unrepaired
  from "grant" g join sync_job j on j.account_id = g.id left join mirror_audit a on a.account_id = g.id
  where g.status = 'valid'`;

/** Counts the accounts of the installation whose mirrors are not proven to be complete. */
export async function unprovenAccounts(sql: Sql, now: Date): Promise<UnprovenAccounts> {
  const [row] = await sql.query<UnprovenAccounts>(UNPROVEN, [now]);
  return row ?? { never_audited: 0, audit_overdue: 0, skipped: 0, unrepaired: 0 };
}
