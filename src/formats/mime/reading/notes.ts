/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** More notes about one message are dropped. */
const MOST_NOTES = 20;

/** What was difficult about a message, in plain words for its users. */
export class Notes {
  readonly #leftOut = new Set<string>();
  readonly #guessed = new Set<string>();

  /** Something is missing in the result. */
  leaveOut(note: string): void {
    if (this.#leftOut.size < MOST_NOTES) this.#leftOut.add(note);
  }

  /** Something was read in the likeliest way, which may be wrong. */
  guess(note: string): void {
    if (this.#guessed.size < MOST_NOTES) this.#guessed.add(note);
  }

  /** The notes about what is missing. */
  get leftOut(): string[] {
    return [...this.#leftOut];
  }

  /** All notes. */
  get all(): string[] {
    return [...this.#leftOut, ...this.#guessed];
  }
}
