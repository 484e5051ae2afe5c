/**
 * The kind of a refusal. Only the HTTP filter turns a kind into a status code; services do not
 * depend on HTTP.
 */
export type ErrorKind =
  | 'invalid' // 400: the request is wrong
  | 'unauthorized' // 401: the caller is not authenticated
  | 'payment' // 402: the provider refused the message for its content or recipients
  | 'forbidden' // 403: the caller is known but has no permission
  | 'not-found' // 404
  | 'conflict' // 409: the state of the resource forbids it
  | 'gone' // 410: the resource existed and was deleted
  | 'precondition' // 412: the resource has changed since the caller read it (If-Match)
  | 'too-large' // 413
  | 'rate-limited' // 429
  | 'not-implemented' // 501: the endpoint exists, but this part of it does not
  | 'unavailable'; // 503: try again later

/** Optional details of an error that the client receives. */
export interface ErrorDetails {
  /** Wire names of the required fields that are missing, as dotted paths. */
  missingFields?: string[];
  /** The mail server's own message. */
  serverError?: string;
  /** Recipients that did not receive the message, with the reasons. */
  failures?: Readonly<Record<string, string>>;
  /** The job that reports the result. */
  jobStatusId?: string;
  /** Seconds until the caller may try again, sent as a header. */
  retryAfterSeconds?: number;
  /** The limit that was exceeded (`X-RateLimit-Limit`). */
  limit?: number;
  /** Error type on the main address, if it differs from the kind's default. */
  type?: 'api_error' | 'provider_error';
  /**
   * Error type on the integrations address, if it differs from the kind's default
   * (`api.not_found_error` …).
   */
  betaType?: string;
  cause?: unknown;
}

/**
 * Base class of all errors that services throw on purpose. API clients see `message`: it names the
 * field or resource and never contains a secret.
 */
export class DomainError extends Error {
  readonly code: string;
  readonly kind: ErrorKind;
  readonly details: ErrorDetails;

  /**
   * @param code stable dotted name for logs and tests, e.g. `outbox.not-editable`
   * @param kind decides the status code
   */
  constructor(code: string, kind: ErrorKind, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.kind = kind;
    this.details = details;
  }
}

/** A value in the request is wrong. The message starts with the field's wire name. */
export class InvalidInputError extends DomainError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('request.invalid', 'invalid', message, details);
  }
}

/** The resource does not exist, or belongs to another user. Clients cannot see the difference. */
export class NotFoundError extends DomainError {
  /** @param what wire name of the kind of resource, e.g. `calendar` */
  constructor(what: string, id: string) {
    super(
      `${what.replaceAll(' ', '-')}.not-found`,
      'not-found',
      `Couldn't find ${what} ${id.slice(0, 100)}`,
    );
  }
}

/** The caller is known but may not do this (scope, plan, cancelled account). */
export class ForbiddenError extends DomainError {
  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(code, 'forbidden', message, details);
  }
}

/** The state of the resource forbids the change. Nothing was changed. */
export class ConflictError extends DomainError {
  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(code, 'conflict', message, details);
  }
}

/** The endpoint exists, but this version does not support the requested part of it. */
export class NotImplementedError extends DomainError {
  constructor(message: string) {
    super('request.not-implemented', 'not-implemented', message);
  }
}
