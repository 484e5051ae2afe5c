import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { assertAllowed } from '../platform/auth/access-rule.ts';
import { Credentials } from '../platform/auth/credentials.ts';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { DomainError } from '../platform/base/errors/domain-error.ts';
import { type DeltaType, mayRead } from '../platform/changes/delta-types.ts';
import { TokenNoLongerValidError } from './deltas.errors.ts';

const ASK_MS = 3_000;

/** The caller of a waiting request, as the last look-up of the token found the account. */
export class WaitingCaller {
  /** Why the request may not go on; `undefined` while it may. */
  refusal: DomainError | undefined;

  /**
   * @param token the presented access token
   * @param types objects that the request reads; the token must allow all of them
   * @param onRefused called when the request may no longer go on
   */
  constructor(
    private readonly credentials: Credentials,
    public account: AccountPrincipal,
    private readonly token: string,
    private readonly types: readonly DeltaType[],
    private readonly onRefused: () => void,
  ) {}

  /**
   * Looks the token up again, because it can be revoked, lose scopes or belong to a suspended
   * application while the request waits.
   * @throws {TokenNoLongerValidError} @throws {ForbiddenError} @throws {ApplicationSuspendedError}
   */
  async ask(): Promise<AccountPrincipal> {
    try {
      const now = await this.credentials.accountByToken(this.token);
      if (now?.accountId !== this.account.accountId) throw new TokenNoLongerValidError();
      assertAllowed(now);
      if (!this.types.every((type) => mayRead(now.scopes, type)))
        throw new TokenNoLongerValidError();
      this.account = now;
      return now;
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
 * its token, account or application was stopped, even if nothing changes or the client does not
 * read.
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
        `could not check the tokens of waiting requests and will retry: ${String(failure.reason)}`,
      );
  }
}
