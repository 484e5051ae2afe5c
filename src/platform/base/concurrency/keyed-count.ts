/** Counts by key. A key whose count falls to zero is removed. */
export class KeyedCount {
  readonly #counts = new Map<string, number>();

  get(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** @param amount may be negative */
  add(key: string, amount: number): void {
    const count = this.get(key) + amount;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
  }
}
