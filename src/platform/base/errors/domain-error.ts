/**
 * What kind of refusal an error is. The HTTP filter alone turns a kind into a status code; services never know
 * about HTTP.
 */
export type ErrorKind =
  | 'invalid' // 400: the request is wrong
  | 'unauthorized' // 401: who is asking is not established
  | 'payment' // 402: the provider refused the message for its content or recipients
  | 'forbidden' // 403: known, but not allowed
  | 'not-found' // 404
  | 'conflict' // 409: the state of the resource forbids it
  | 'gone' // 410: it has been, and is no more
  | 'precondition' // 412: the resource is not the one the caller has seen (If-Match)
  | 'too-large' // 413
  | 'rate-limited' // 429
  | 'not-implemented' // 501: the endpoint exists, this part of it does not
  | 'unavailable'; // 503: try again later

/** Optional details an error carries to the client. */
export interface ErrorDetails {
  /** Names of required fields that were absent (wire names, dotted paths). */
  missingFields?: string[];
  /** The mail server's own words. */
  serverError?: string;
  /** Recipients that have not got a message, with the reasons. */
  failures?: Readonly<Record<string, string>>;
  /** The job that says what becomes of it. */
  jobStatusId?: string;
  /** Seconds until the caller may try again (answered as a header). */
  retryAfterSeconds?: number;
  /** The limit that was exceeded (`X-RateLimit-Limit`). */
  limit?: number;
  /** Type on the main address, where it differs from the kind's default. */
  type?: 'api_error' | 'provider_error';
  /** Type on the beta address, where it differs from the kind's default (api.not_found_error …). */
  betaType?: string;
  cause?: unknown;
}

/**
 * The one base class of errors that services throw on purpose. `message` is shown to API clients: it names the
 * field or resource and never holds a secret.
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

/** A value in the request is wrong; the message starts with the field's wire name. */
export class InvalidInputError extends DomainError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('request.invalid', 'invalid', message, details);
  }
}

/** The resource does not exist, or belongs to somebody else: the two are never told apart. */
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

/** The resource's state forbids the change; nothing was changed. */
export class ConflictError extends DomainError {
  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(code, 'conflict', message, details);
  }
}

/** The endpoint exists, the asked-for part of it does not in this version. */
export class NotImplementedError extends DomainError {
  constructor(message: string) {
    super('request.not-implemented', 'not-implemented', message);
  }
}
