import { type IncidentKind, reportIncident } from '../../../platform/logs/incidents.ts';
import type { ClaimedRow, Settled } from '../../../platform/work/queue/dispatcher.ts';
import type { ReminderResult } from './reminder-dispatcher.ts';

/** A reminder that is sent later than this after its time is reported, in seconds. */
const LATE_SECONDS = 60;

const KINDS: Readonly<Partial<Record<ReminderResult['kind'], IncidentKind>>> = {
  failed: 'reminder.failed',
  skipped: 'reminder.failed',
  retry: 'reminder.delayed',
};

/** Writes a log line for each reminder that was sent late, was not sent, or is delayed. */
export function reportReminders(
  settled: readonly Settled<ClaimedRow, ReminderResult>[],
  now: Date,
  report = reportIncident,
): void {
  for (const { row, result, traceparent } of settled) {
    const of = { account: row.gateId, reminder: row.id };
    const kind = KINDS[result.kind];
    if (kind && 'reason' in result) report(kind, of, result.reason, traceparent);
    const seconds = Math.round((now.getTime() - row.dueAt.getTime()) / 1000);
    if (result.kind === 'sent' && seconds > LATE_SECONDS)
      report('reminder.late', { ...of, seconds }, `${seconds} s`, traceparent);
  }
}
