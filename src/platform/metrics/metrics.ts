import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/*
 * Every metric of Carillon (docs/monitoring.md). A metric is declared here and nowhere else. Names
 * begin with `carillon_`, units are seconds and bytes, counters end with `_total`. No label names
 * an account, an application, an address or an id: the number of series must not grow with them.
 *
 * Counters and histograms count in this process. Metrics marked "Installation" are read from the
 * database when the page is requested (`MetricSources`), so each process reports the same value.
 */

/** All metrics of this process. */
export const registry = new Registry();

const shared = { registers: [registry] };

/** Buckets for answers of this server and of others, in seconds. */
const ANSWER_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Buckets for lateness, in seconds: a message may be late by hours. */
const LATE_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400];

// --- Requests to this server

/** Answered requests. `status` is `aborted` if the client left before the end of the response. */
export const httpRequests = new Counter({
  ...shared,
  name: 'carillon_http_requests_total',
  help: 'Requests to this process by method, route template and status; route "none" for unknown paths',
  labelNames: ['method', 'route', 'status'],
});

/** Time from the request's headers to the end of its response. */
export const httpSeconds = new Histogram({
  ...shared,
  name: 'carillon_http_request_duration_seconds',
  help: 'Duration of requests to this process by method and route template',
  labelNames: ['method', 'route'],
  buckets: ANSWER_SECONDS,
});

/** Refused credentials, for all programs together. */
export const loginsRefused = new Counter({
  ...shared,
  name: 'carillon_logins_refused_total',
  help: 'Requests to this process with wrong credentials: access-token, secret (of an application, or a token of an operator), sign-in (password), too-many (not checked, because too many had failed)',
  labelNames: ['of'],
});

/** Requests above a limit. */
export const requestsLimited = new Counter({
  ...shared,
  name: 'carillon_requests_limited_total',
  help: 'Requests to this process above a limit (429), by who sent them: account, application, or client (a network address)',
  labelNames: ['by'],
});

// --- Sending

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

// --- Queues

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

// --- Reminders and webhooks

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

// --- Sync and providers

/** Results of sync passes. */
export const syncPasses = new Counter({
  ...shared,
  name: 'carillon_sync_passes_total',
  help: 'Sync passes over a mailbox by provider and result: current, idle (more to read, or waiting), stalled (a part cannot be read), failed, refused (credentials)',
  labelNames: ['provider', 'result'],
});

/** Installation: mailboxes that wait for their sync pass. */
export const syncDue = new Gauge({
  ...shared,
  name: 'carillon_sync_due_mailboxes',
  help: 'Installation: mailboxes whose sync pass is due, by provider; at most 10000 over all providers',
  labelNames: ['provider'],
});

/** Installation: how far sync is behind. */
export const syncLag = new Gauge({
  ...shared,
  name: 'carillon_sync_lag_seconds',
  help: 'Installation: how long the sync pass of the mailbox that waits longest has been due, by provider',
  labelNames: ['provider'],
});

/** Installation: mailboxes that cannot be read. */
export const syncFailing = new Gauge({
  ...shared,
  name: 'carillon_sync_failing_mailboxes',
  help: 'Installation: mailboxes whose last sync pass failed, by provider; at most 10000 over all providers',
  labelNames: ['provider'],
});

/** Results of token refreshes. */
export const tokenRefreshes = new Counter({
  ...shared,
  name: 'carillon_token_refreshes_total',
  help: 'Refreshes of OAuth access tokens by provider and result: refreshed, refused (the user has to sign in again), failed',
  labelNames: ['provider', 'result'],
});

/** Requests to HTTP APIs of providers. */
export const providerRequests = new Counter({
  ...shared,
  name: 'carillon_provider_requests_total',
  help: 'Requests to HTTP services of providers by service and status (none if there was no answer)',
  labelNames: ['service', 'status'],
});

/** Duration of requests to HTTP APIs of providers. */
export const providerSeconds = new Histogram({
  ...shared,
  name: 'carillon_provider_request_duration_seconds',
  help: 'Duration of requests to HTTP services of providers by service',
  labelNames: ['service'],
  buckets: ANSWER_SECONDS,
});

/** Lowest budget of the last one to two minutes. */
export const budgetLeft = new Gauge({
  ...shared,
  name: 'carillon_provider_budget_left_ratio',
  help: "Lowest share that was left of any of this provider's budgets when this process used it within the last one to two minutes; absent if it used none",
  labelNames: ['provider'],
});

/** Requests that were not made because a budget was used up. */
export const budgetRefusals = new Counter({
  ...shared,
  name: 'carillon_provider_budget_refusals_total',
  help: 'Requests to providers that were not made because their budget was used up, by provider and priority (send, interactive, history)',
  labelNames: ['provider', 'priority'],
});

/** Calls of companies' APIs, in what the company counts. */
export const apiUnits = new Counter({
  ...shared,
  name: 'carillon_company_api_units_total',
  help: 'Use of the APIs of Google and Microsoft by this process, in what the company counts: quota units of Gmail, requests of the others',
  labelNames: ['company', 'api'],
});

/** Installation: what was used of companies' APIs today. */
export const apiUnitsToday = new Gauge({
  ...shared,
  name: 'carillon_company_api_today_units',
  help: 'Installation: use of the APIs of Google and Microsoft today (UTC) by all applications, in what the company counts',
  labelNames: ['company', 'api'],
});

/** Installation: what the month will come to. */
export const apiMonthForecast = new Gauge({
  ...shared,
  name: 'carillon_company_api_month_forecast_units',
  help: 'Installation: expected use of the whole month (UTC) by all applications, at the pace of the last seven days',
  labelNames: ['company', 'api'],
});

/** Installation: what of the month will cost money. */
export const apiPaidForecast = new Gauge({
  ...shared,
  name: 'carillon_company_api_paid_forecast_units',
  help: 'Installation: expected units of the month above the free units of each day, of all applications; 0 for APIs without charges',
  labelNames: ['company', 'api'],
});

/** Installation: how near an application is to its ceiling. */
export const apiCeilingUsed = new Gauge({
  ...shared,
  name: 'carillon_company_api_ceiling_used_ratio',
  help: 'Installation: highest share of its ceiling of today that any application has used; absent without ceilings',
  labelNames: ['company', 'api'],
});

/** Installation: complete audits since the database exists. */
export const audits = new Counter({
  ...shared,
  name: 'carillon_audits_total',
  help: 'Installation: complete audits of mirrors since the database exists, by kind (messages, events, contacts)',
  labelNames: ['kind'],
});

/** Installation: objects that audits compared. */
export const auditsCompared = new Counter({
  ...shared,
  name: 'carillon_audit_compared_objects_total',
  help: 'Installation: objects that audits have compared since the database exists, by kind',
  labelNames: ['kind'],
});

/** Installation: differences that audits found. */
export const auditDifferences = new Counter({
  ...shared,
  name: 'carillon_audit_differences_total',
  help: 'Installation: differences between mirrors and mailboxes that audits have found since the database exists, by kind and difference (missing, surplus, changed)',
  labelNames: ['kind', 'difference'],
});

// --- Database and process

/** Connections of this process. */
export const poolConnections = new Gauge({
  ...shared,
  name: 'carillon_database_pool_connections',
  help: 'Database connections of this process by pool and state (idle, used)',
  labelNames: ['pool', 'state'],
});

/** Largest number of connections of each pool. */
export const poolSize = new Gauge({
  ...shared,
  name: 'carillon_database_pool_size',
  help: 'Largest number of connections of each pool of this process',
  labelNames: ['pool'],
});

/** Statements that wait for a connection. */
export const poolWaiting = new Gauge({
  ...shared,
  name: 'carillon_database_pool_waiting',
  help: 'Statements and transactions that wait for a connection of their pool now',
  labelNames: ['pool'],
});

/** Statements that found no free connection. */
export const poolWaits = new Counter({
  ...shared,
  name: 'carillon_database_pool_waits_total',
  help: 'Statements and transactions that found all connections of their pool in use',
  labelNames: ['pool'],
});

/** Installation: connections of all clients to the database. */
export const databaseConnections = new Gauge({
  ...shared,
  name: 'carillon_database_connections',
  help: 'Connections of all clients to this database',
});

/** Installation: how many connections the database allows. */
export const databaseConnectionsMax = new Gauge({
  ...shared,
  name: 'carillon_database_connections_max',
  help: 'Connections that the database allows: its own limit, or that of the server without reserved ones',
});

/** Installation: whether what was committed is also stored elsewhere. */
export const databaseSynchronous = new Gauge({
  ...shared,
  name: 'carillon_database_synchronous',
  help: 'Installation: 1 if commits wait for a standby (synchronous_standby_names and synchronous_commit), else 0',
});

/** Installation: standbys. */
export const databaseStandbys = new Gauge({
  ...shared,
  name: 'carillon_database_standbys',
  help: 'Installation: standbys and other receivers of the write-ahead log that are connected to the primary',
});

/** Installation: commits that hang. */
export const databaseCommitWait = new Gauge({
  ...shared,
  name: 'carillon_database_commit_wait_seconds',
  help: 'Installation: how long the oldest statement whose commit waits for a synchronous standby has been running; 0 if none waits',
});

/** Installation: what each standby lacks. */
export const databaseStandbyLag = new Gauge({
  ...shared,
  name: 'carillon_database_standby_lag_bytes',
  help: 'Installation: write-ahead log that a standby has not stored yet, by its application_name; absent without the role pg_monitor',
  labelNames: ['standby'],
});

/** Installation: size of the database. */
export const databaseBytes = new Gauge({
  ...shared,
  name: 'carillon_database_size_bytes',
  help: 'Size of the database on disk',
});

/** Installation: space of the database (`DATABASE_DISK_GB`). */
export const databaseLimit = new Gauge({
  ...shared,
  name: 'carillon_database_limit_bytes',
  help: 'Space that the database may take (DATABASE_DISK_GB); 0 if it is not set',
});

/** Readiness checks of this process. */
export const checkOk = new Gauge({
  ...shared,
  name: 'carillon_check_ok',
  help: 'Readiness checks of this process (/health/ready): 1 if the check succeeds, else 0',
  labelNames: ['check'],
});

/** Measured every ten seconds. */
export const clockAheadSeconds = new Gauge({
  ...shared,
  name: 'carillon_clock_ahead_seconds',
  help: "How far the clock of this process's machine is ahead of the database's, in seconds; negative if it is behind",
});

/** Whether the gauges of a source are on the page. */
export const sourceUp = new Gauge({
  ...shared,
  name: 'carillon_metrics_source_up',
  help: 'Whether the gauges of a source could be read for this page: 1 or 0; the gauges of a source that could not be read are absent',
  labelNames: ['source'],
});

/** What this process is. */
export const processInfo = new Gauge({
  ...shared,
  name: 'carillon_process_info',
  help: 'Always 1; the label names the roles of the process',
  labelNames: ['roles'],
});

/*
 * Series that have to exist before their first event. Prometheus sees no increase in a series that
 * begins with 1.
 */
for (const what of ['access-token', 'secret', 'sign-in', 'too-many'])
  loginsRefused.inc({ of: what }, 0);
for (const by of ['account', 'application', 'client']) requestsLimited.inc({ by }, 0);
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
