/**
 * Returns `null` if all is well, else a few words about the problem. Every client can read them, so
 * they must not contain secrets.
 */
export type ReadinessCheck = () => Promise<string | null> | string | null;

export interface CheckResult {
  name: string;
  /** `null` if the check succeeded. */
  problem: string | null;
}

/** Milliseconds after which a check counts as failed. */
const CHECK_LIMIT_MS = 2_000;

/**
 * Whether this process should receive traffic. Modules register checks and `health/` runs them, so
 * neither needs to know the other.
 */
export class Readiness {
  readonly #checks = new Map<string, ReadinessCheck>();

  /**
   * Registers a check.
   * @param name unique for each check; a second registration replaces the first
   */
  register(name: string, check: ReadinessCheck): void {
    this.#checks.set(name, check);
  }

  /**
   * Runs all checks at once and returns their results in the order of registration. Takes at most
   * two seconds and does not throw.
   */
  results(): Promise<CheckResult[]> {
    return Promise.all(
      [...this.#checks].map(async ([name, check]) => ({ name, problem: await problemOf(check) })),
    );
  }
}

async function problemOf(check: ReadinessCheck): Promise<string | null> {
  const { promise: late, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve('no answer within two seconds'), CHECK_LIMIT_MS);
  try {
    return await Promise.race([check(), late]);
  } catch {
    // The error may name hosts and users. The module that failed logs it.
    return 'the check failed';
  } finally {
    clearTimeout(timer);
  }
}
