import type { StubAnswer } from '../remote-stub/messages.ts';

/** Name of a status in Google's errors, by HTTP status. */
const STATUS: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  412: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
};

/** An error as Google's interfaces answer it. Thrown by handlers of the stub. */
export class GoogleError extends Error {
  readonly status: number;
  readonly reason: string;
  /** Further fields of the one entry of `errors`, such as its location. */
  readonly entry: Record<string, string>;
  readonly details: object[] | null;
  readonly headers: Record<string, string>;
  /** Name of the status, if it is not the usual one of the HTTP status. */
  readonly statusName: string | null;

  constructor(
    status: number,
    reason: string,
    message: string,
    more: {
      entry?: Record<string, string>;
      details?: object[];
      headers?: Record<string, string>;
      statusName?: string;
    } = {},
  ) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.entry = more.entry ?? {};
    this.details = more.details ?? null;
    this.headers = more.headers ?? {};
    this.statusName = more.statusName ?? null;
  }

  /**
   * @param isLegacy the form of Calendar, which has no name of a status
   */
  answer(isLegacy = false): StubAnswer {
    const { status: code, message, reason, details, headers, entry } = this;
    const errors = [{ message, domain: 'global', reason, ...entry }];
    const error = { code, message, errors };
    const status = this.statusName ?? STATUS[code] ?? 'UNKNOWN';
    const body = isLegacy
      ? { error }
      : { error: { ...error, status, ...(details && { details }) } };
    return { status: code, headers, body };
  }
}

/** 400 for an argument that is not allowed. */
export function invalid(message: string, reason = 'invalidArgument'): GoogleError {
  return new GoogleError(400, reason, message);
}

/** 404 as Gmail and People answer it. */
export function notFound(message = 'Requested entity was not found.'): GoogleError {
  return new GoogleError(404, 'notFound', message);
}

/** 403 of every interface if the administrator of the domain does not allow the application. */
export function blockedApplication(): GoogleError {
  const words = "The app with id {1} cannot be used within the authenticated user's domain.";
  return new GoogleError(403, 'domainPolicy', words, { entry: { domain: 'usageLimits' } });
}

/** 400 as Gmail answers it now and then without a cause, and for users without Gmail. */
export function preconditionFailed(): GoogleError {
  const statusName = 'FAILED_PRECONDITION';
  return new GoogleError(400, 'failedPrecondition', 'Precondition check failed.', { statusName });
}
