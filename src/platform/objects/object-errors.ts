import { DomainError } from '../base/errors/domain-error.ts';

/**
 * The object store did not do what was asked. The request can be repeated. Clients see the message,
 * which names no host; `reason` is for logs and operators.
 */
export class ObjectStoreUnavailableError extends DomainError {
  /** What went wrong, in a few words, without hosts and secrets. */
  readonly reason: string;
  /** When the next attempt makes sense. */
  readonly retryAfterMs: number;

  /** @param retryAfterSeconds when the next attempt makes sense */
  constructor(reason: string, retryAfterSeconds: number, cause?: unknown) {
    super(
      'objects.unavailable',
      'unavailable',
      'The store of message bodies cannot be reached at the moment. Requests that show no bodies work, such as lists with view=ids, threads and search',
      { retryAfterSeconds, ...(cause === undefined ? {} : { cause }) },
    );
    this.reason = reason;
    this.retryAfterMs = retryAfterSeconds * 1000;
  }
}

/** The object store has lost an object, or returned other bytes than were stored. */
export class ObjectDamagedError extends DomainError {
  readonly key: string;
  readonly reason: string;

  /** @param reason what is wrong with the object */
  constructor(key: string, reason: string) {
    super(
      'objects.damaged',
      'unavailable',
      'A message body is damaged in the store of message bodies. It is read from the provider again; repeat the request later',
      { retryAfterSeconds: 60 },
    );
    this.key = key;
    this.reason = reason;
  }
}
