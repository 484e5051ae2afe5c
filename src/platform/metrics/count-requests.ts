import type { NextFunction, Request, Response } from 'express';
import { monotonicMs } from '../base/time/clock.ts';
import { failureText, requestCounts } from '../request-counts/request-counts.ts';
import { httpRequests, httpSeconds } from './request-metrics.ts';

/** Requests of these methods have a series of their own; a client may invent others. */
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);

/** Counts and times each request when its response has ended. */
export function countRequests(request: Request, response: Response, next: NextFunction): void {
  const begunMs = monotonicMs();
  response.once('close', () => {
    const method = METHODS.has(request.method) ? request.method : 'other';
    const route = templateOf(request);
    const status = response.writableFinished ? String(response.statusCode) : 'aborted';
    httpRequests.inc({ method, route, status });
    httpSeconds.observe({ method, route }, (monotonicMs() - begunMs) / 1000);
    countForOperators(request, response, { method, route });
  });
  next();
}

/** Probes and pages of operators are not requests of applications. */
const OF_OPERATORS = /^\/(health|admin|console|metrics)(\/|$)/;

function countForOperators(
  request: Request,
  response: Response,
  { method, route }: { method: string; route: string },
): void {
  if (OF_OPERATORS.test(request.path)) return;
  const { statusCode: status } = response;
  if (status < 500) return requestCounts.succeeded();
  const error = failureText(response);
  requestCounts.failed({ method, route, status, error }, String(request.id));
}

/** The template of the matched route; never the path itself, which has ids and secrets. */
function templateOf(request: Request): string {
  const route = request.route as { path?: unknown } | undefined;
  return typeof route?.path === 'string' ? route.path : 'none';
}
