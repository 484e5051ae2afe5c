import { Counter, Histogram } from 'prom-client';
import { ANSWER_SECONDS, shared } from './registry.ts';

/* Requests to this server. */

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

/*
 * Series that have to exist before their first event. Prometheus sees no increase in a series that
 * begins with 1.
 */
for (const what of ['access-token', 'secret', 'sign-in', 'too-many'])
  loginsRefused.inc({ of: what }, 0);
for (const by of ['account', 'application', 'client']) requestsLimited.inc({ by }, 0);
