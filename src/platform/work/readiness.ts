import {
  databaseTrouble,
  describeDatabaseTrouble,
  onOpenConnection,
} from '../database/health/database-trouble.ts';

/** Why a process is not ready. */
export interface Problem {
  /** A few words. Every client can read them: no addresses, no secrets. */
  text: string;
  /** What only operators may read, such as hosts. No secrets. */
  detail: string;
}

/** Returns `null` if all is well, else the problem, or its `text` if there is no more to say. */
export type ReadinessCheck = () => Promise<Problem | string | null> | Problem | string | null;

export interface CheckResult {
  name: string;
  /** `null` if the check succeeded. */
  problem: string | null;
  /** For operators only; absent if there is no more to say. */
  detail?: string;
  /** Present if the process should get traffic even while the check fails. */
  isOptional?: true;
}

/** A check that fails, and why. */
export interface FailingCheck {
  name: string;
  problem: string;
}

/** The check that fails while the process stops. */
export const STOPPING = 'process';

/** Milliseconds after which a check counts as failed. */
const CHECK_LIMIT_MS = 2_000;

/**
 * Whether this process should receive traffic. Modules register checks and `health/` runs them, so
 * neither needs to know the other.
 */
export class Readiness {
  readonly #checks = new Map<string, { check: ReadinessCheck; isOptional: boolean }>();

  /**
   * Registers a check. If it fails because the database cannot be used, the result says why.
   * @param name unique for each check; a second registration replaces the first
   * @param options.isOptional true for a check that is shown, and without which the process is
   *   ready. Default: false
   */
  register(name: string, check: ReadinessCheck, { isOptional = false } = {}): void {
    this.#checks.set(name, { check, isOptional });
  }

  /**
   * Runs all checks as `results` does.
   * @returns the checks that fail, without the optional ones; none while the process stops
   */
  async failing(): Promise<FailingCheck[]> {
    const results = await this.results();
    const failing = results.flatMap(({ name, problem, isOptional }) =>
      problem === null || isOptional ? [] : [{ name, problem }],
    );
    return failing.some(({ name }) => name === STOPPING) ? [] : failing;
  }

  /**
   * Runs all checks at once and returns their results in the order of registration. Takes at most
   * two seconds and does not throw.
   */
  results(): Promise<CheckResult[]> {
    return Promise.all(
      [...this.#checks].map(async ([name, { check, isOptional }]): Promise<CheckResult> => {
        const problem = await problemOf(check);
        const result = isOptional ? { name, isOptional } : { name };
        if (problem === null || typeof problem === 'string') return { ...result, problem };
        return { ...result, problem: problem.text, detail: problem.detail };
      }),
    );
  }
}

async function problemOf(check: ReadinessCheck): Promise<Problem | string | null> {
  const { promise: late, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve('no answer within two seconds'), CHECK_LIMIT_MS);
  try {
    return await Promise.race([onOpenConnection(async () => check()), late]);
  } catch (error) {
    // The error may name hosts and users.
    return databaseTrouble(error)
      ? `the database ${describeDatabaseTrouble(error)}`
      : 'the check failed';
  } finally {
    clearTimeout(timer);
  }
}
