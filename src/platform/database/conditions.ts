/**
 * Collects the conditions of a `where` and the values of their `$n` placeholders. The SQL text
 * depends only on which conditions there are, never on values.
 */
export class Conditions {
  readonly #texts: string[] = [];
  readonly #values: unknown[] = [];

  /**
   * Adds a value.
   * @returns its placeholder, `$n`
   */
  value(value: unknown): string {
    this.#values.push(value);
    return `$${this.#values.length}`;
  }

  /** Adds a condition. All conditions must hold. */
  add(text: string): void {
    this.#texts.push(`(${text})`);
  }

  /** Number of conditions. */
  get count(): number {
    return this.#texts.length;
  }

  /** The conditions joined by `and`; `true` if there are none. */
  get text(): string {
    return this.#texts.join(' and ') || 'true';
  }

  /** Values of the placeholders, in order. */
  get values(): readonly unknown[] {
    return this.#values;
  }
}
