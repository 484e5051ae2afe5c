/** Random choices that depend on a seed only, so that a failure can be repeated. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to `below` - 1. */
  below(below: number): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  }

  /** True in one of `of` cases. */
  oneIn(of: number): boolean {
    return this.below(of) === 0;
  }

  /** @returns `undefined` if there is nothing to choose from */
  pick<T>(from: readonly T[]): T | undefined {
    return from[this.below(from.length)];
  }

  /** Up to `most` different ones. */
  some<T>(from: readonly T[], most: number): T[] {
    const left = [...from];
    const count = Math.min(left.length, this.below(most + 1));
    return Array.from({ length: count }, () => left.splice(this.below(left.length), 1)).flat();
  }
}
