/**
 * Whether this process may begin due work. Rooms that know a reason against it say so; the engine asks before it registers as
 * a worker. Rooms do not know the engine, and the engine does not know the rooms.
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
