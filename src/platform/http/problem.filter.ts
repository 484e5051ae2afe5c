import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import { databaseTrouble } from '../database/database-trouble.ts';
import { DomainError, type ErrorDetails, type ErrorKind } from '../base/errors/domain-error.ts';
import type { BetaErrorView, ErrorView } from './error.schema.ts';
import { Routes } from './routes.ts';
import { isIntegrationsPath } from './surface.ts';

const STATUS: Record<ErrorKind, number> = {
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
  headers?: Record<string, string>;
}

const invalid = (status: number, message: string): Problem => ({
  status,
  message,
  type: 'invalid_request_error',
  details: {},
});

/** Errors of PostgreSQL that are the client's fault, or say that the database is away for the moment. */
function fromDatabase(error: { code?: unknown }): Problem | undefined {
  const code = typeof error.code === 'string' ? error.code : '';
  if (code === '22021' || code === '22P05') return invalid(400, 'Text must not contain the NUL character');
  // Requests look before they write: what they found then has been removed in between.
  if (code === '23503') return invalid(409, 'Something this needs was removed at the same moment');
  if (databaseTrouble(error)) {
    return {
      status: 503,
      message: 'The database is not available at the moment; try again',
      type: 'database_error',
      details: {},
      headers: { 'Retry-After': '1' },
    };
  }
  return undefined;
}

function toProblem(error: unknown, request: Request, routes: Routes): Problem {
  if (error instanceof DomainError) {
    const status = STATUS[error.kind];
    return {
      status,
      message: error.message,
      type: error.details.type ?? (status >= 500 ? 'api_error' : 'invalid_request_error'),
      details: error.details,
    };
  }
  if (error instanceof HttpException) {
    const status = error.getStatus();
    if (status === 404) {
      const methods = routes.methodsOf(request.path);
      if (methods.length > 0) {
        const allow = methods.join(', ');
        return {
          status: 405,
          message: `${request.method} is not supported on ${request.path}; supported: ${allow}`,
          type: 'api_error',
          details: {},
          headers: { Allow: allow },
        };
      }
      return invalid(404, `There is nothing at ${request.path.slice(0, 200)}`);
    }
    if (status === 401) return invalid(401, 'Could not verify access credential.');
    return {
      status,
      message: error.message,
      type: status >= 500 ? 'api_error' : 'invalid_request_error',
      details: {},
    };
  }
  if (typeof error === 'object' && error !== null) {
    const known = fromDatabase(error);
    if (known) return known;
    if (error instanceof URIError) return invalid(400, 'The path is not properly encoded');
  }
  return { status: 500, message: 'Something went wrong on our side', type: 'api_error', details: {} };
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

/** Turns every error into the API's error body: flat on the main address, an envelope on the integrations address. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  readonly #log = new Logger('Error');

  constructor(private readonly routes: Routes) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    const problem = toProblem(error, request, this.routes);
    if (problem.status >= 500) this.#log.error(error);
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const { details } = problem;
    for (const [name, value] of Object.entries(problem.headers ?? {})) response.setHeader(name, value);
    if (problem.status === 401)
      response.setHeader('WWW-Authenticate', 'Basic realm="API Access Token Required"');
    if (problem.status === 429) {
      const seconds = details.retryAfterSeconds ?? 1;
      response.setHeader('X-RateLimit-Limit', String(details.limit ?? 0));
      response.setHeader('X-RateLimit-Reset', String(seconds));
      response.setHeader('Retry-After', String(seconds));
    }
    response
      .status(problem.status)
      .json(isIntegrationsPath(request.path) ? beta(problem, request) : flat(problem));
  }
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
