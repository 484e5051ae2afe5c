/** @returns null when all is well, else in a few words what is not; shown to whoever asks, so without secrets */
export type ReadinessCheck = () => Promise<string | null> | string | null;

export interface CheckResult {
  name: string;
  /** Null: well. */
  problem: string | null;
}

/** A check that takes longer has failed, in milliseconds. */
const CHECK_LIMIT_MS = 2_000;

/**
 * Whether this process should get work. Modules register what they need to work; `health/` asks. Modules do not know who
 * asks, and `health/` does not know the modules.
 */
export class Readiness {
  readonly #checks = new Map<string, ReadinessCheck>();

  /** @param name one per check; registering a name again replaces its check */
  register(name: string, check: ReadinessCheck): void {
    this.#checks.set(name, check);
  }

  /** Runs all checks at once; takes at most two seconds and does not throw. In order of registration. */
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
    // What went wrong may name hosts and users; the log of the part that failed has it.
    return 'the check failed';
  } finally {
    clearTimeout(timer);
  }
}
