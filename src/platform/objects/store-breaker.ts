import { monotonicMs } from '../base/time/clock.ts';

const TROUBLES = 5;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * The circuit breaker of one process for the object store. After five troubles in a row it is
 * stopped for two seconds, and for twice as long after each test that fails, up to a minute. Then
 * one request tests the store, and others are still refused until it has succeeded.
 */
export class StoreBreaker {
  #troubles = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #stoppedUntilMs: number | null = null;
  #testing = false;
  #problem: string | null = null;
  #hasWorked = false;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = monotonicMs) {
    this.#nowMs = nowMs;
  }

  /** What the last trouble was, while the breaker is stopped or testing; else `null`. */
  get problem(): string | null {
    return this.#stoppedUntilMs === null ? null : this.#problem;
  }

  /** Whether the store has ever answered. */
  get hasWorked(): boolean {
    return this.#hasWorked;
  }

  /** @returns milliseconds to wait, or 0 if a request may run now. It must then report its end. */
  waitMs(): number {
    if (this.#stoppedUntilMs === null) return 0;
    const left = this.#stoppedUntilMs - this.#nowMs();
    if (left > 0) return Math.ceil(left);
    if (this.#testing) return FIRST_PAUSE_MS;
    this.#testing = true;
    return 0;
  }

  /** Reports a request that the store has answered. */
  succeeded(): void {
    this.#hasWorked = true;
    this.#troubles = 0;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#stoppedUntilMs = null;
    this.#testing = false;
    this.#problem = null;
  }

  /** Reports a request that the store has not answered, or refused. */
  failed(problem: string): void {
    this.#problem = problem;
    this.#troubles += 1;
    if (this.#troubles < TROUBLES) return;
    // Requests that began before the breaker stopped do not make the pause longer.
    if (this.#stoppedUntilMs !== null && !this.#testing) return;
    this.#stoppedUntilMs = this.#nowMs() + this.#pauseMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    this.#testing = false;
  }
}
