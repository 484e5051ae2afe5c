import { DomainError } from '../base/errors/domain-error.ts';

/**
 * The limit that a piece of work hit. `time`, `memory`, `crash`: its thread was ended, or did not
 * survive the work. `size`: the input or the result is too large. `busy`: too much other work is
 * waiting. `closed`: the process is stopping.
 */
export type WorkLimit = 'time' | 'memory' | 'crash' | 'size' | 'busy' | 'closed';

const RETRY_AFTER_SECONDS = 5;
const MESSAGES: Record<WorkLimit, string> = {
  time: 'reading this content takes too much time',
  memory: 'reading this content takes too much memory',
  crash: 'reading this content crashed the thread that read it',
  size: 'this content is too large',
  busy: 'Too many of these requests are in progress: try again in a few seconds',
  closed: 'The server is stopping: try again in a few seconds',
};

/**
 * Work that was refused or ended because of a limit. The API responds with 503 for `busy` and
 * `closed`, else with 400.
 */
export class WorkLimitError extends DomainError {
  readonly limit: WorkLimit;

  constructor(limit: WorkLimit, cause?: unknown) {
    const later = limit === 'busy' || limit === 'closed';
    super(`work.${limit}`, later ? 'unavailable' : 'invalid', MESSAGES[limit], {
      ...(cause === undefined ? {} : { cause }),
      ...(later ? { retryAfterSeconds: RETRY_AFTER_SECONDS } : {}),
    });
    this.limit = limit;
  }
}

/** The function of a task threw an error. */
export class TaskFailedError extends Error {
  override name = 'TaskFailedError';
  /** The `name` of the error that was thrown in the thread. */
  readonly errorName: string;

  constructor(errorName: string, message: string) {
    super(message);
    this.errorName = errorName;
  }
}
