import type { AuditResult } from '../../accounts/sync-schedule/mirror-audits.ts';
import { startOfDay } from '../audit/audit-days.ts';

const DAY_MS = 86_400_000;

/** Why something is not proven to be complete. */
export const REASONS = [
  'never_audited',
  'audit_overdue',
  'folders_skipped',
  'collections_skipped',
  'unrepaired',
  'missing',
  'surplus',
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
  webhooks: readonly { waiting: number; dropped: number; unaccounted: number }[];
}

/**
 * Whether the last audit of a day is too old to prove it: it is more than a day old, and the day
 * was not over yet when it began.
 */
function isOverdue(day: string, auditedAt: Date, now: Date): boolean {
  const end = startOfDay(day).getTime() + DAY_MS;
  return auditedAt.getTime() < Math.min(end, now.getTime() - DAY_MS);
}

/** Why a day is not complete. What is unknown is not complete. */
export function reasonsOf({ messages, webhooks }: KnownDay, now: Date): Reason[] {
  const { day, auditedAt, skipped, unrepaired, missing, surplus, withoutEvent } = messages;
  const sum = (name: 'waiting' | 'dropped' | 'unaccounted') =>
    webhooks.reduce((total, webhook) => total + webhook[name], 0);
  const found: Partial<Record<Reason, boolean>> = {
    never_audited: auditedAt === null,
    audit_overdue: auditedAt !== null && isOverdue(day, auditedAt, now),
    folders_skipped: skipped > 0,
    unrepaired: unrepaired > 0,
    missing: missing > 0,
    surplus: surplus > 0,
    without_event: withoutEvent > 0,
    waiting: sum('waiting') > 0,
    dropped: sum('dropped') > 0,
    unaccounted: sum('unaccounted') > 0,
  };
  return REASONS.filter((reason) => found[reason]);
}

/** What the audits of the whole mailbox, its calendars and its contacts leave open. */
export function reasonsOfMailbox(audit: AuditResult | null): Reason[] {
  if (!audit) return ['never_audited'];
  const found: Partial<Record<Reason, boolean>> = {
    folders_skipped: audit.foldersSkipped > 0,
    collections_skipped: audit.events.skipped + audit.contacts.skipped > 0,
    unrepaired: audit.unrepaired > 0,
  };
  return REASONS.filter((reason) => found[reason]);
}
