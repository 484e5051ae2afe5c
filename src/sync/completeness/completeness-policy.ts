import type { AuditResult } from '../../accounts/sync-schedule/mirror-audits.ts';
import type { SyncState } from '../../platform/auth/grant-status.ts';
import { startOfDay } from '../audit/audit-days.ts';

const DAY_MS = 86_400_000;

/** Why something is not proven to be complete. */
export const REASONS = [
  'not_synced',
  'never_audited',
  'audit_overdue',
  'folders_skipped',
  'collections_skipped',
  'unrepaired',
  'missing',
  'surplus',
  'unstored',
  'without_event',
  'waiting',
  'dropped',
  'unaccounted',
] as const;
export type Reason = (typeof REASONS)[number];

/** What is known of one day. */
interface KnownDay {
  messages: {
    day: string;
    auditedAt: Date | null;
    skipped: number;
    unrepaired: number;
    missing: number;
    surplus: number;
    withoutEvent: number;
  };
  changes: readonly { missing: number }[];
  webhooks: readonly {
    waiting: number;
    dropped: number;
    withoutEvent: number;
    unaccounted: number;
  }[];
}

/**
 * Whether the last audit of a day is too old to prove it: it is more than a day old, and the day
 * was not over yet when it began.
 */
function isOverdue(day: string, auditedAt: Date, now: Date): boolean {
  const end = startOfDay(day).getTime() + DAY_MS;
  return auditedAt.getTime() < Math.min(end, now.getTime() - DAY_MS);
}

const sumOf = <K extends string>(rows: readonly Readonly<Record<K, number>>[], name: K): number =>
  rows.reduce((total, row) => total + row[name], 0);

/** Why a day is not complete. What is unknown is not complete. */
export function reasonsOfDay({ messages, changes, webhooks }: KnownDay, now: Date): Reason[] {
  const { day, auditedAt, skipped, unrepaired, missing, surplus, withoutEvent } = messages;
  return reasonsIn({
    never_audited: auditedAt === null,
    audit_overdue: auditedAt !== null && isOverdue(day, auditedAt, now),
    folders_skipped: skipped > 0,
    unrepaired: unrepaired > 0,
    missing: missing + sumOf(changes, 'missing') > 0,
    surplus: surplus > 0,
    without_event: withoutEvent + sumOf(webhooks, 'withoutEvent') > 0,
    waiting: sumOf(webhooks, 'waiting') > 0,
    dropped: sumOf(webhooks, 'dropped') > 0,
    unaccounted: sumOf(webhooks, 'unaccounted') > 0,
  });
}

/**
 * Why a calendar or address book is not complete.
 * @param fullDays days between two audits of it; an audit is overdue a day later
 */
export function reasonsOfCollection(
  found: { auditedAt: Date | null; missing: number; surplus: number; unstored: number },
  fullDays: number,
  now: Date,
): Reason[] {
  const { auditedAt, missing, surplus, unstored } = found;
  const oldest = now.getTime() - (fullDays + 1) * DAY_MS;
  return reasonsIn({
    never_audited: auditedAt === null,
    audit_overdue: auditedAt !== null && auditedAt.getTime() < oldest,
    missing: missing > 0,
    surplus: surplus > 0,
    unstored: unstored > 0,
  });
}

/** What the state of an account and the audits of all its data leave open. */
export function reasonsOfAccount(audit: AuditResult | null, syncState: SyncState): Reason[] {
  return reasonsIn({
    not_synced: syncState !== 'running',
    never_audited: audit === null,
    folders_skipped: audit !== null && audit.foldersSkipped > 0,
    collections_skipped: audit !== null && audit.events.skipped + audit.contacts.skipped > 0,
    unrepaired: audit !== null && audit.unrepaired > 0,
  });
}

function reasonsIn(found: Partial<Record<Reason, boolean>>): Reason[] {
  return REASONS.filter((reason) => found[reason]);
}
