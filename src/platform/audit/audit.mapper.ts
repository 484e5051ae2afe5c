import { toUnixSeconds } from '../base/time/unix-seconds.ts';
import type { AuditEntryView } from './audit.schema.ts';
import type { AuditItem } from './list-audit.ts';

/** An entry in the response. */
export function toAuditEntryView({
  applicationId,
  accountId,
  at,
  ...item
}: AuditItem): AuditEntryView {
  return { ...item, at: toUnixSeconds(at), application_id: applicationId, account_id: accountId };
}

/** An instant from a query in Unix seconds. */
export const instantOf = (seconds: number | undefined): Date | undefined =>
  seconds === undefined ? undefined : new Date(seconds * 1000);
