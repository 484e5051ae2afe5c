import { Counter, Gauge, Histogram } from 'prom-client';
import { ANSWER_SECONDS, shared } from './registry.ts';

/* Sync passes, providers, and audits of mirrors. */

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

/** Installation: accounts whose mirrors are not proven to be complete. */
export const accountsUnproven = new Gauge({
  ...shared,
  name: 'carillon_accounts_unproven',
  help: 'Installation: accounts with valid credentials whose audits do not prove that everything of the provider is stored, by reason (never_audited, audit_overdue, skipped, unrepaired)',
  labelNames: ['reason'],
});
