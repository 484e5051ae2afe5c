import { Logger } from '../nest/light.ts';
import { forLog } from '../base/text/for-log.ts';
import { traceIdOf } from '../tracing/traceparent.ts';
import { LineLimit } from './line-limit.ts';

/**
 * What operators search the log for, each with the beginning of its line (docs/logging.md). Every
 * line also has the kind in its field `incident`.
 */
const INCIDENTS = {
  'send.failed': 'a message was not sent',
  'send.delayed': 'a message is delayed',
  'write.failed': 'a change was not written to the provider',
  'write.delayed': 'a change for the provider is delayed',
  'login.refused': 'wrong credentials',
  'login.limited': 'refused after too many wrong credentials',
  'request.limited': 'requests above the limit are refused with 429',
  'webhook.failing': 'a webhook fails',
  'webhook.failed': 'a webhook was disabled',
  'webhook.mail-delayed': 'a mail about webhooks is delayed',
  'webhook.mail-failed': 'a mail about webhooks was not sent',
  'delivery.dropped': 'a webhook delivery was given up',
  'reminder.late': 'a reminder was sent late',
  'reminder.failed': 'a reminder was not sent',
  'reminder.delayed': 'a reminder is delayed',
  'account.invalid': 'an account has to authenticate again',
  'account.sync-error': 'an account is not synced',
  'sync.failed': 'a sync pass failed and will be repeated',
  'database.failed-over': 'the database failed over',
  'row.quarantined': 'queued work was given up, because workers crashed on it',
} as const;

export type IncidentKind = keyof typeof INCIDENTS;

/** The objects that an incident concerns, by id. */
export interface IncidentFields {
  account?: string;
  application?: string;
  /** Id of the job status: `/job-statuses/{id}` has its timeline. */
  job?: string;
  webhook?: string;
  event?: string;
  reminder?: string;
  queue?: string;
  /** Host, port and protocol of the provider's server that was asked. */
  server?: string;
  /** Network address of the client, for refused sign-ins only. */
  client?: string;
  /** What was refused, such as `application secret`. */
  of?: string;
  seconds?: number;
}

/**
 * Lines of each kind that a process writes within ten seconds. A storm of failures must neither
 * fill the disk nor hide the other lines.
 */
const LIMITS = { most: 50, periodMs: 10_000 };

const log = new Logger('Incidents');
const limit = new LineLimit<IncidentKind>(LIMITS, ({ kind, count, seconds }) =>
  log.warn(
    { incident: kind, left_out: count },
    `${count} more lines "${INCIDENTS[kind]}" within ${seconds} s were left out`,
  ),
);

/**
 * Writes one log line about something that an operator may have to look into. Call it after the
 * commit of what it reports. Of each kind at most 50 lines are written within ten seconds; then one
 * line says how many were left out.
 * @param words of the provider or the receiver. They are bounded, and addresses, quotations and
 *   possible tokens are left out
 * @param traceparent span of the incident; default: the current span
 */
export function reportIncident(
  kind: IncidentKind,
  fields: IncidentFields,
  words?: string | null,
  traceparent?: string | null,
): void {
  if (!limit.allows(kind)) return;
  const traceId = traceIdOf(traceparent);
  log.warn(
    { incident: kind, ...fields, ...(traceId ? { trace_id: traceId } : {}) },
    words ? `${INCIDENTS[kind]}: ${forLog(words)}` : INCIDENTS[kind],
  );
}

/** Reports what was left out so far. For a process that stops. */
export function flushIncidents(): void {
  limit.flush();
}
