import { pauseWebhooks } from '../platform/webhooks/pause-webhooks.ts';
import type { Clock } from '../platform/base/time/clock.ts';
import type { AppConfig } from '../platform/config/app-config.ts';
import {
  confirmPlace,
  describeDifferences,
  type Place,
  placeDifferences,
  placeHere,
  recordedPlace,
} from '../platform/work/instance-place.ts';
import type { Database } from '../platform/database/sql.ts';
import { cancelScheduledReminders } from '../calendar/notifications/cancel-scheduled.ts';
import { cancelOpenMessages } from '../mail/outbox/cancel-open.ts';

/** How much of one kind is queued, and how much of that had its time already. */
export interface Waiting {
  open: number;
  overdue: number;
}

/** Where a database belongs, and what would be done if workers ran on it here. */
export interface InstanceReport {
  /** Null: no worker has run on it yet; the first adopts it. */
  recorded: Place | null;
  confirmed_at: string | null;
  here: Place;
  /** Whether workers of this installation work on it. */
  agrees: boolean;
  /** In words; empty when they agree. */
  differences: string;
  /** Workers that have been heard of within ten seconds. */
  workers: number;
  messages: Waiting;
  reminders: Waiting;
  deliveries: Waiting;
  provider_writes: Waiting;
  active_webhooks: number;
}

const QUEUES = {
  messages: 'send_job',
  reminders: 'reminder_job',
  deliveries: 'hook_job',
  provider_writes: 'provider_job',
} as const;

const waiting = (table: string) =>
  `(select json_build_object('open', count(*), 'overdue', count(*) filter (where due_at <= now())) from ${table})`;

const COUNTS = `
  select ${Object.entries(QUEUES)
    .map(([name, table]) => `${waiting(table)} as ${name}`)
    .join(', ')},
    (select count(*) from worker where seen_at > now() - interval '10 s')::int as workers,
    (select count(*) from webhook where state <> 'inactive')::int as active_webhooks`;

type Counts = Pick<InstanceReport, keyof typeof QUEUES | 'workers' | 'active_webhooks'>;

/** What `carillon instance show` tells. Changes nothing. */
export async function reportInstance(
  database: Database,
  config: AppConfig,
): Promise<InstanceReport> {
  const here = await placeHere(database, config);
  const known = await recordedPlace(database);
  const differences = known ? placeDifferences(known.place, here) : [];
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

/** Which of what waits: all of it, or what had its time already. */
export const CANCEL_CHOICES = ['all', 'overdue'] as const;
export type CancelChoice = (typeof CANCEL_CHOICES)[number];

/** What is to be done before the installation takes over. */
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

/** What users are shown on what was cancelled here. */
export const CANCEL_REASON = 'cancelled: the database was restored from a copy';

/**
 * Makes the database belong here. Webhooks are paused first, so that they are not told of what is cancelled; the place
 * is written last, so that nothing is sent before, and a command that was interrupted is simply run again.
 */
export async function takeOver(
  database: Database,
  config: AppConfig,
  clock: Clock,
  wanted: Takeover,
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
  await confirmPlace(database, await placeHere(database, config));
  return report;
}
