import { Counter, Gauge, Histogram } from 'prom-client';
import { ANSWER_SECONDS, LATE_SECONDS, shared } from './registry.ts';

/* Sending, the queues, reminders and webhooks. */

/** Messages that were accepted and committed. */
export const sendsAccepted = new Counter({
  ...shared,
  name: 'carillon_sends_accepted_total',
  help: 'Messages accepted for sending, by the request that brought them: outbox, send (within the request) or invitation',
  labelNames: ['by'],
});

/** Attempts to send, after their result was committed. */
export const sendAttempts = new Counter({
  ...shared,
  name: 'carillon_send_attempts_total',
  help: 'Attempts to send a message by outcome (sent, retried, failed, unknown), route (account, relay, none if no server was asked) and error code (none if sent)',
  labelNames: ['outcome', 'route', 'code'],
});

/** Messages that reached their final state. */
export const sendsEnded = new Counter({
  ...shared,
  name: 'carillon_sends_ended_total',
  help: 'Messages that reached a final state through an attempt: successful or failed',
  labelNames: ['status'],
});

/** Lateness of the first start of each row, in the queues whose rows are promised for a time. */
export const queueLateness = new Histogram({
  ...shared,
  name: 'carillon_queue_lateness_seconds',
  help: 'Promised time of a row to its first start, by queue; for the queue send this is the lateness of messages',
  labelNames: ['queue'],
  buckets: LATE_SECONDS,
});

/** Ended runs of claimed rows. */
export const queueRuns = new Counter({
  ...shared,
  name: 'carillon_queue_runs_total',
  help: 'Runs of claimed rows by queue and result: done, again (waits for another attempt) or none (nothing was done)',
  labelNames: ['queue', 'result'],
});

/** Errors in our own code or database, which are logged with their stack. */
export const queueErrors = new Counter({
  ...shared,
  name: 'carillon_queue_errors_total',
  help: 'Runs of claimed rows that ended with an unexpected error, by queue; the log has each error with its stack',
  labelNames: ['queue'],
});

/** Workers whose claims this process took over. */
export const workerDeaths = new Counter({
  ...shared,
  name: 'carillon_worker_deaths_total',
  help: 'Workers that this process found dead (no heartbeat for 8 seconds) and whose rows it gave back to the queues',
});

/** Installation: rows that can be claimed now. */
export const queueDue = new Gauge({
  ...shared,
  name: 'carillon_queue_due_rows',
  help: 'Installation: rows that a worker may claim now, by queue; at most 10000',
  labelNames: ['queue'],
});

/** Installation: age of the oldest row that can be claimed. */
export const queueOldestDue = new Gauge({
  ...shared,
  name: 'carillon_queue_oldest_due_seconds',
  help: 'Installation: how long the oldest row has been waiting for a worker, by queue; 0 if none is due',
  labelNames: ['queue'],
});

/** Installation: rows that are running. */
export const queueClaimed = new Gauge({
  ...shared,
  name: 'carillon_queue_claimed_rows',
  help: 'Installation: rows that workers have claimed, by queue; at most 10000',
  labelNames: ['queue'],
});

/** Installation: rows that are late, whatever they wait for. */
export const queueOverdue = new Gauge({
  ...shared,
  name: 'carillon_queue_overdue_rows',
  help: 'Installation: rows whose promised time passed over a minute ago and that still wait, by queue; counted among the next 10000 rows',
  labelNames: ['queue'],
});

/** Installation: all rows of each queue. */
export const queueRows = new Gauge({
  ...shared,
  name: 'carillon_queue_rows',
  help: "Installation: all rows by queue, those of later times included; PostgreSQL's estimate",
  labelNames: ['queue'],
});

/** Installation: messages on hold. */
export const messagesHeld = new Gauge({
  ...shared,
  name: 'carillon_messages_held',
  help: 'Installation: messages on hold because their account was moved to another mailbox; at most 10000',
});

/** Installation: messages in quarantine. */
export const messagesQuarantined = new Gauge({
  ...shared,
  name: 'carillon_messages_quarantined',
  help: 'Installation: waiting messages during which a worker died; at most 10000',
});

/** Installation: worker processes. */
export const workers = new Gauge({
  ...shared,
  name: 'carillon_workers',
  help: 'Installation: worker processes by state: alive, or silent (no heartbeat for 8 seconds)',
  labelNames: ['state'],
});

/** Installation: the last failover of the database. */
export const lastFailoverTime = new Gauge({
  ...shared,
  name: 'carillon_database_failover_timestamp_seconds',
  help: 'Installation: when a worker noticed the last failover of the database, in seconds since 1970; 0 if there was none',
});

/** Results of reminders. */
export const reminderAttempts = new Counter({
  ...shared,
  name: 'carillon_reminder_attempts_total',
  help: 'Attempts to send a reminder by result: sent, retry, failed, skipped',
  labelNames: ['result'],
});

/** Attempts to deliver webhooks. */
export const webhookAttempts = new Counter({
  ...shared,
  name: 'carillon_webhook_attempts_total',
  help: 'Attempts to deliver a webhook by outcome (delivered, retry, dropped) and HTTP status of the receiver (none if it did not answer)',
  labelNames: ['outcome', 'status'],
});

/** Duration of requests to webhook receivers. */
export const webhookSeconds = new Histogram({
  ...shared,
  name: 'carillon_webhook_attempt_duration_seconds',
  help: 'Duration of attempts to deliver a webhook',
  buckets: ANSWER_SECONDS,
});

/** Installation: webhooks by state. */
export const webhooks = new Gauge({
  ...shared,
  name: 'carillon_webhooks',
  help: 'Installation: webhooks by state: active, failing (only failures for 15 minutes), failed (switched off after 72 hours of failures, or by the answer 410), paused (by an operator), inactive (switched off by the application); at most 10000 in all',
  labelNames: ['state'],
});

/** Installation: mails about webhooks that do not arrive. */
export const webhookMailsFailing = new Gauge({
  ...shared,
  name: 'carillon_webhook_mails_failing',
  help: 'Installation: applications whose last mail about their webhooks could not be sent, within the last day; at most 10000',
});

/*
 * Series that have to exist before their first event. Prometheus sees no increase in a series that
 * begins with 1.
 */
for (const by of ['outbox', 'send', 'invitation']) sendsAccepted.inc({ by }, 0);
for (const status of ['successful', 'failed']) sendsEnded.inc({ status }, 0);
for (const route of ['account', 'relay']) {
  sendAttempts.inc({ outcome: 'sent', route, code: 'none' }, 0);
  sendAttempts.inc({ outcome: 'retried', route, code: 'temporary' }, 0);
  sendAttempts.inc({ outcome: 'failed', route, code: 'rejected' }, 0);
  sendAttempts.inc({ outcome: 'unknown', route, code: 'outcome-unknown' }, 0);
}
for (const result of ['sent', 'retry', 'failed', 'skipped']) reminderAttempts.inc({ result }, 0);
webhookAttempts.inc({ outcome: 'delivered', status: '200' }, 0);
webhookAttempts.inc({ outcome: 'retry', status: 'none' }, 0);
webhookAttempts.inc({ outcome: 'dropped', status: 'none' }, 0);
for (const queue of ['send', 'provider', 'hook', 'reminder', 'sync']) {
  queueErrors.inc({ queue }, 0);
  for (const result of ['done', 'again', 'none']) queueRuns.inc({ queue, result }, 0);
}
