import type { Request, Response } from 'express';
import { beginRequestSpan, failSpan, type Span } from '../tracing/spans.ts';
import { callerOf } from './caller.ts';

/**
 * Begins the span of a request. It continues the trace of a caller that sends `traceparent`.
 * @returns `null` if nobody listens
 */
export function beginHttpSpan(request: Request): Span | null {
  return beginRequestSpan(request.headers, () => ({
    name: request.method,
    attributes: {
      'http.request.method': request.method,
      'carillon.request_id': String(request.id),
    },
  }));
}

/** Ends the span of a request. It names the route, not the path, which may have a secret in it. */
export function endHttpSpan(span: Span, request: Request, response: Response): void {
  const route = (request.route as { path?: unknown } | undefined)?.path;
  if (typeof route === 'string') {
    span.updateName(`${request.method} ${route}`);
    span.setAttribute('http.route', route);
  }
  const caller = callerOf(request);
  if (caller?.applicationId) span.setAttribute('carillon.application_id', caller.applicationId);
  if (caller?.accountId) span.setAttribute('carillon.account_id', caller.accountId);
  span.setAttribute('http.response.status_code', response.statusCode);
  if (response.statusCode >= 500) failSpan(span, `HTTP ${response.statusCode}`);
  span.end();
}
