/**
 * Whether this process may begin due work. Modules that know a reason against it say so; the engine asks before it registers as
 * a worker. Modules do not know the engine, and the engine does not know the modules.
 */
export class WorkPermit {
  readonly #reasons: (() => string | null)[] = [];

  /** @param reason asked each time; null: nothing speaks against it */
  require(reason: () => string | null): void {
    this.#reasons.push(reason);
  }

  /** Whether nothing speaks against it at this moment. */
  get granted(): boolean {
    return this.#reasons.every((reason) => reason() === null);
  }
}
