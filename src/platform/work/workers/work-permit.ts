/**
 * Decides whether this process may run due work. A module that can forbid it registers a check, and
 * the engine asks before it registers as a worker. So modules and engine need not know each other.
 */
export class WorkPermit {
  readonly #reasons: (() => string | null)[] = [];

  /**
   * Registers a check.
   * @param reason called each time; returns why work is forbidden, or null if it is allowed
   */
  require(reason: () => string | null): void {
    this.#reasons.push(reason);
  }

  /** Whether no check currently forbids work. */
  get granted(): boolean {
    return this.#reasons.every((reason) => reason() === null);
  }
}
