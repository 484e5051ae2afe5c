/** Reads must not be answered by the standby of `DATABASE_READ_URL`. The message names no host. */
export class StandbyUnusableError extends Error {
  readonly problem: string;

  /** @param problem why, as the rest of a sentence about the standby */
  constructor(problem: string) {
    super(`the read standby ${problem}`);
    this.problem = problem;
  }
}
