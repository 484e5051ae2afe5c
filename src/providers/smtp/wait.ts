import { SendAbortedError, SmtpTimeoutError } from './smtp-failure.ts';

/** A wait that can end in several ways. The first one counts. */
export interface Wait<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
  /**
   * From now on the wait ends with an `SmtpTimeoutError` after `ms` milliseconds. Replaces the
   * previous limit.
   */
  within(ms: number, what: string): void;
  /** From now on an abort by the caller no longer ends the wait. */
  carryOn(): void;
  /** Whether the wait has ended and a further result would be ignored. */
  readonly over: boolean;
}

/**
 * Waits for the operation that `start` begins.
 * @param signal aborting it ends the wait with a `SendAbortedError`
 */
export function waitFor<T>(signal: AbortSignal | null, start: (wait: Wait<T>) => void): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let timer: NodeJS.Timeout | undefined;
  let over = false;
  let limits = 0;
  const onAbort = () => end(() => reject(new SendAbortedError()));
  const carryOn = () => signal?.removeEventListener('abort', onAbort);
  const end = (how: () => void) => {
    over = true;
    clearTimeout(timer);
    carryOn();
    how();
  };
  const wait: Wait<T> = {
    resolve: (value) => end(() => resolve(value)),
    reject: (error) => end(() => reject(error)),
    within(ms, what) {
      clearTimeout(timer);
      if (over) return;
      const latest = (limits += 1);
      const expire = () => {
        if (!over && latest === limits) end(() => reject(new SmtpTimeoutError(what)));
      };
      // After a pause of the process the timer fires before sockets are read. The answer may have
      // been waiting there: it is read before the next immediate.
      timer = setTimeout(() => setImmediate(expire), ms);
    },
    carryOn,
    get over() {
      return over;
    },
  };
  if (signal?.aborted) onAbort();
  else {
    signal?.addEventListener('abort', onAbort, { once: true });
    start(wait);
  }
  return promise;
}
