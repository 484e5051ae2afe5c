/** How many lines of one kind are written within one period. */
export interface LineLimits {
  most: number;
  periodMs: number;
}

/** What was left out at the end of a period. */
export interface LeftOut<K> {
  kind: K;
  count: number;
  seconds: number;
}

interface Period {
  written: number;
  leftOut: number;
}

/**
 * Limits log lines by kind. Of each kind, the first lines of a period are written. If more follow,
 * their number is reported once when the period ends.
 */
export class LineLimit<K extends string> {
  readonly #limits: LineLimits;
  readonly #report: (leftOut: LeftOut<K>) => void;
  readonly #later: (work: () => void, ms: number) => unknown;
  readonly #periods = new Map<K, Period>();

  /**
   * @param report called at the end of a period in which lines were left out
   * @param later calls a function once after so many milliseconds
   */
  constructor(
    limits: LineLimits,
    report: (leftOut: LeftOut<K>) => void,
    later: (work: () => void, ms: number) => unknown = (work, ms) => setTimeout(work, ms).unref(),
  ) {
    this.#limits = limits;
    this.#report = report;
    this.#later = later;
  }

  /** Whether a line of this kind may be written now. If not, it is counted as left out. */
  allows(kind: K): boolean {
    const period = this.#periods.get(kind) ?? this.#begin(kind);
    if (period.written < this.#limits.most) {
      period.written += 1;
      return true;
    }
    period.leftOut += 1;
    return false;
  }

  /** Ends all periods now, and reports what was left out. For a process that stops. */
  flush(): void {
    for (const [kind, period] of this.#periods) this.#end(kind, period);
  }

  #begin(kind: K): Period {
    const period = { written: 0, leftOut: 0 };
    this.#periods.set(kind, period);
    this.#later(() => this.#end(kind, period), this.#limits.periodMs);
    return period;
  }

  #end(kind: K, period: Period): void {
    if (this.#periods.get(kind) !== period) return;
    this.#periods.delete(kind);
    if (period.leftOut > 0)
      this.#report({ kind, count: period.leftOut, seconds: this.#limits.periodMs / 1000 });
  }
}
