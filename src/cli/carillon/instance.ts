import { DELIVERIES_OF_ROW } from '../../platform/webhooks/events/queued-events.ts';
import { pauseWebhooks } from '../../platform/webhooks/pause-webhooks.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { AppConfig } from '../../platform/config/app-config.ts';
import {
  confirmIdentity,
  describeDifferences,
  type DatabaseIdentity,
  identityDifferences,
  currentIdentity,
  recordedIdentity,
} from '../../platform/work/workers/database-identity.ts';
import type { Database } from '../../platform/database/sql.ts';
import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import { cancelScheduledReminders } from '../../calendar/notifications/plan/cancel-scheduled.ts';
import { cancelOpenMessages } from '../../mail/outbox/steer/cancel-open.ts';

/** Number of open rows of one queue, and how many of them are overdue. */
export interface QueueCount {
  open: number;
  overdue: number;
}

/** Where a database belongs, and what workers would do if they ran on it here. */
export interface InstanceReport {
  /** `null` if no worker has run on it yet; the first worker claims it. */
  recorded: DatabaseIdentity | null;
  confirmed_at: string | null;
  here: DatabaseIdentity;
  /** Whether workers of this installation use the database. */
  agrees: boolean;
  /** The differences in words; empty if there are none. */
  differences: string;
  /** Workers that reported within the last ten seconds. */
  workers: number;
  messages: QueueCount;
  reminders: QueueCount;
  deliveries: QueueCount;
  provider_writes: QueueCount;
  active_webhooks: number;
}

/** SQL of how many items a row of a queue has: a row of `hook_job` can have several deliveries. */
const QUEUES = {
  messages: { table: 'send_job', items: '1' },
  reminders: { table: 'reminder_job', items: '1' },
  deliveries: { table: 'hook_job', items: DELIVERIES_OF_ROW },
  provider_writes: { table: 'provider_job', items: '1' },
} as const;

const waiting = ({ table, items }: { table: string; items: string }) => `
  (select json_build_object('open', coalesce(sum(${items}), 0),
                            'overdue', coalesce(sum(${items}) filter (where due_at <= now()), 0)) from ${table})`;

const COUNTS = `
  select ${Object.entries(QUEUES)
    .map(([name, queue]) => `${waiting(queue)} as ${name}`)
    .join(', ')},
    (select count(*) from worker where seen_at > now() - interval '10 s')::int as workers,
    (select count(*) from webhook where state <> 'inactive')::int as active_webhooks`;

type Counts = Pick<InstanceReport, keyof typeof QUEUES | 'workers' | 'active_webhooks'>;

/** The report of `carillon instance show`. Changes nothing. */
export async function reportInstance(
  database: Database,
  config: AppConfig,
): Promise<InstanceReport> {
  const here = await currentIdentity(database, config);
  const known = await recordedIdentity(database);
  const differences = known ? identityDifferences(known.place, here) : [];
  const [counts] = await database.query<Counts>(COUNTS);
  if (!counts) throw new Error('the queues could not be counted');
  return {
    recorded: known?.place ?? null,
    confirmed_at: known?.confirmedAt.toISOString() ?? null,
    here,
    agrees: differences.length === 0,
    differences: describeDifferences(differences),
    ...counts,
  };
}

/** What to cancel: everything that is waiting, or only what is overdue. */
export type CancelChoice = 'all' | 'overdue';

/** Actions before the installation takes over. */
export interface Takeover {
  cancelSends?: CancelChoice;
  cancelReminders?: CancelChoice;
  pauseWebhooks?: boolean;
}

export interface TakeoverReport {
  webhooks_paused: number;
  messages_cancelled: number;
  reminders_cancelled: number;
}

/** Reason that users see for messages and reminders cancelled by a takeover. */
export const CANCEL_REASON = 'cancelled: the database was restored from a copy';

/**
 * Makes the database belong to this installation. Webhooks are paused first, so that they are not
 * notified of cancellations. The location is stored last, so that nothing is sent earlier, and an
 * interrupted command can simply be run again.
 */
export async function takeOver(
  database: Database,
  config: AppConfig,
  clock: Clock,
  wanted: Takeover,
  actor: Actor,
): Promise<TakeoverReport> {
  const at = clock.now();
  const until = (choice: CancelChoice) => (choice === 'all' ? null : at);
  const { cancelSends, cancelReminders } = wanted;
  const report: TakeoverReport = {
    webhooks_paused: wanted.pauseWebhooks ? await pauseWebhooks(database, at) : 0,
    messages_cancelled: cancelSends
      ? await cancelOpenMessages(database, CANCEL_REASON, until(cancelSends), at)
      : 0,
    reminders_cancelled: cancelReminders
      ? await cancelScheduledReminders(database, CANCEL_REASON, until(cancelReminders), at)
      : 0,
  };
  const identity = await currentIdentity(database, config);
  await confirmIdentity(database, identity);
  const target = { type: 'instance', id: identity.name };
  await recordAudit(database, {
    actor,
    action: 'instance.confirm',
    target,
    details: { ...report },
  });
  return report;
}
