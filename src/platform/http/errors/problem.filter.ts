import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { databaseTrouble, mayBeCommitted } from '../../database/health/database-trouble.ts';
import { DomainError, type ErrorDetails, type ErrorKind } from '../../base/errors/domain-error.ts';
import { noteFailure } from '../../request-counts/request-counts.ts';
import { isV3Path, nothingAt, v3Error } from './absent-services.ts';
import type { BetaErrorView, ErrorView } from './error.schema.ts';
import { Routes } from '../routes.ts';
import { isIntegrationsPath, isOperatorPath } from '../listeners/surface.ts';

/** The HTTP status of each kind of refusal. */
export const STATUS: Readonly<Record<ErrorKind, number>> = {
  invalid: 400,
  unauthorized: 401,
  payment: 402,
  forbidden: 403,
  'not-found': 404,
  conflict: 409,
  gone: 410,
  precondition: 412,
  'too-large': 413,
  'rate-limited': 429,
  'not-implemented': 501,
  unavailable: 503,
};

/** An error, reduced to what the client may see. */
interface Problem {
  status: number;
  message: string;
  type: ErrorView['type'];
  details: ErrorDetails;
  headers: Record<string, string>;
}

const problem = (
  status: number,
  message: string,
  type: ErrorView['type'] = 'invalid_request_error',
  headers: Record<string, string> = {},
): Problem => ({ status, message, type, details: {}, headers });

/**
 * Converts PostgreSQL errors that are the client's fault or mean that the database is temporarily
 * unavailable.
 * @returns `undefined` for all others
 */
function fromDatabase(
  error: { code?: unknown },
  { method }: Pick<Request, 'method'>,
): Problem | undefined {
  const code = typeof error.code === 'string' ? error.code : '';
  if (code === '22021' || code === '22P05')
    return problem(400, 'Text must not contain the NUL character');
  // A row that this request refers to was deleted after the request had checked that it exists.
  if (code === '23503')
    return problem(409, 'An object that this request refers to was deleted at the same time');
  if (!databaseTrouble(error)) return undefined;
  const reads = method === 'GET' || method === 'HEAD';
  const message =
    !reads && mayBeCommitted(error)
      ? 'The connection to the database was lost, so what you sent may be stored. Repeat a POST with the same Idempotency-Key; without one, check first'
      : 'The database is currently unavailable; try again';
  return problem(503, message, 'database_error', { 'Retry-After': '1' });
}

function fromHttp(error: HttpException, { method, path }: Request, routes: Routes): Problem {
  const status = error.getStatus();
  if (status === 401) return problem(401, 'Could not verify access credential.');
  if (status !== 404)
    return problem(status, error.message, status >= 500 ? 'api_error' : 'invalid_request_error');
  const allow = routes.methodsOf(path).join(', ');
  if (!allow) return problem(404, nothingAt(path));
  const message = `${method} is not supported on ${path}; supported: ${allow}`;
  return problem(405, message, 'api_error', { Allow: allow });
}

function toProblem(error: unknown, request: Request, routes: Routes): Problem {
  if (error instanceof DomainError) {
    const { kind, message, details } = error;
    const type = details.type ?? (STATUS[kind] >= 500 ? 'api_error' : 'invalid_request_error');
    return { ...problem(STATUS[kind], message, type), details };
  }
  if (error instanceof HttpException) return fromHttp(error, request, routes);
  if (typeof error === 'object' && error !== null) {
    const known = fromDatabase(error, request);
    if (known) return known;
    if (error instanceof URIError) return problem(400, 'The path is not properly encoded');
  }
  return problem(500, 'Something went wrong on our side', 'api_error');
}

const BETA_TYPES: Record<number, string> = {
  400: 'api.invalid_request_payload',
  401: 'api.authentication_error',
  403: 'api.unauthorized_access',
  404: 'api.not_found_error',
  405: 'api.method_not_allowed',
  409: 'api.conflict',
  413: 'api.payload_too_large',
  429: 'api.rate_limit_error',
};

/**
 * Converts every error to the API's error body: flat on the main address, an envelope on the
 * integrations address, and the shape of version 3 for requests of its clients.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  readonly #log = new Logger('Error');

  constructor(private readonly routes: Routes) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    const found = toProblem(error, request, this.routes);
    const { status, details } = found;
    if (status >= 500) {
      noteFailure(response, error);
      this.#log.error(error);
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    for (const [name, value] of Object.entries(found.headers)) response.setHeader(name, value);
    if (status === 401)
      response.setHeader(
        'WWW-Authenticate',
        isOperatorPath(request.path) ? 'Bearer' : 'Basic realm="API Access Token Required"',
      );
    if (status === 429) {
      const seconds = details.retryAfterSeconds ?? 1;
      response.setHeader('X-RateLimit-Limit', String(details.limit ?? 0));
      response.setHeader('X-RateLimit-Reset', String(seconds));
      response.setHeader('Retry-After', String(seconds));
    }
    if (status === 503 && details.retryAfterSeconds !== undefined)
      response.setHeader('Retry-After', String(details.retryAfterSeconds));
    response.status(status).json(bodyOf(found, request));
  }
}

function bodyOf(found: Problem, request: Request): object {
  if (isV3Path(request.path)) return v3Error(found, request);
  return isIntegrationsPath(request.path) ? beta(found, request) : flat(found);
}

function flat({ message, type, details }: Problem): ErrorView {
  return {
    message,
    type,
    ...(details.missingFields ? { missing_fields: details.missingFields } : {}),
    ...(details.serverError ? { server_error: details.serverError } : {}),
    ...(details.failures ? { failures: details.failures } : {}),
    ...(details.jobStatusId ? { job_status_id: details.jobStatusId } : {}),
  };
}

function beta({ message, status, details }: Problem, request: Request): BetaErrorView {
  const type = details.betaType ?? BETA_TYPES[status] ?? 'api.internal_error';
  return { success: false, error: { type, message }, request_id: request.id as string };
}
