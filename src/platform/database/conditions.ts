/**
 * Collects the conditions of a `where` and the values of their `$n`. The text depends only on which conditions there
 * are, never on values.
 */
export class Conditions {
  readonly #texts: string[] = [];
  readonly #values: unknown[] = [];

  /** Hands in a value. @returns its placeholder, `$n` */
  value(value: unknown): string {
    this.#values.push(value);
    return `$${this.#values.length}`;
  }

  /** Adds a condition; all of them have to hold. */
  add(text: string): void {
    this.#texts.push(`(${text})`);
  }

  /** How many conditions there are. */
  get count(): number {
    return this.#texts.length;
  }

  /** The conditions joined by `and`; `true` when there are none. */
  get text(): string {
    return this.#texts.join(' and ') || 'true';
  }

  /** Values of the placeholders handed out so far, in order. */
  get values(): readonly unknown[] {
    return this.#values;
  }
}
