import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { DomainError } from '../base/errors/domain-error.ts';

const ASK_MS = 3_000;

/** The access token or secret became invalid, or lost a scope, after the request began. */
export class CredentialNoLongerValidError extends DomainError {
  constructor() {
    super('delta.not-welcome', 'unauthorized', 'Could not verify access credential.');
  }
}

/** The caller of a waiting request. */
export abstract class WaitingCaller<T = unknown> {
  /** Why the request may not go on; `undefined` while it may. */
  refusal: DomainError | undefined;

  /** @param onRefused called when the request may no longer go on */
  constructor(private readonly onRefused: () => void) {}

  /**
   * Looks the caller up again.
   * @throws {DomainError} if the request may no longer go on
   */
  protected abstract check(): Promise<T>;

  /**
   * Looks the caller up again, because a credential can be revoked, lose scopes or belong to a
   * suspended application while the request waits.
   * @throws {DomainError} as `check`
   */
  async ask(): Promise<T> {
    try {
      return await this.check();
    } catch (error) {
      if (error instanceof DomainError) {
        this.refusal = error;
        this.onRefused();
      }
      throw error;
    }
  }
}

/**
 * Asks every three seconds who the callers of waiting requests are. So a request ends soon after
 * its credential, account or application was stopped, even if nothing changes or the client does
 * not read.
 */
@Injectable()
export class CallerWatch implements OnModuleDestroy {
  readonly #log = new Logger(CallerWatch.name);
  readonly #callers = new Set<WaitingCaller>();
  #timer: NodeJS.Timeout | undefined;
  #asking = false;

  /** Watches the caller of a request while `work` runs. */
  async during<T>(caller: WaitingCaller, work: () => Promise<T>): Promise<T> {
    this.#callers.add(caller);
    // One timer for all: look-ups that begin together share their queries.
    this.#timer ??= setInterval(() => void this.#askAll(), ASK_MS);
    try {
      return await work();
    } finally {
      this.#callers.delete(caller);
      if (this.#callers.size === 0) this.onModuleDestroy();
    }
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #askAll(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    const answers = await Promise.allSettled([...this.#callers].map((caller) => caller.ask()));
    this.#asking = false;
    const failure = answers.find(
      (answer) => answer.status === 'rejected' && !(answer.reason instanceof DomainError),
    );
    // Nothing is delivered without another look-up.
    if (failure?.status === 'rejected')
      this.#log.warn(
        `could not check the callers of waiting requests and will retry: ${String(failure.reason)}`,
      );
  }
}
