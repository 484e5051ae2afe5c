import type { StubAnswer, StubRequest } from './messages.ts';

/**
 * What a fault does with a request:
 * - an answer: this is answered, and nothing is done;
 * - `drop`: the connection is cut, and nothing is done;
 * - `drop-after-done`: the request is done, then the connection is cut;
 * - `504-after-done`: the request is done, then 504 is answered.
 */
export type FaultAnswer = StubAnswer | 'drop' | 'drop-after-done' | '504-after-done' | 'none';

/** A fault that a test adds. */
export interface Fault {
  /** Requests that the fault may answer. Default: every request. */
  match?: (request: StubRequest) => boolean;
  /** How many matching requests pass before the first that it answers. Default: 0. */
  after?: number;
  /** How many requests it answers before it is gone. Default: 1. */
  times?: number;
  /** `none` only delays. */
  answer: FaultAnswer;
  /** Milliseconds to wait before the request is looked at. Default: 0. */
  delayMs?: number;
  /**
   * The response, or the cut of the connection, waits for this. What the fault lets happen is done
   * before.
   */
  until?: Promise<unknown>;
}

/** Faults of a stub, in the order in which they were added. The first that matches is taken. */
export class Faults {
  #faults: (Fault & { left: number; toPass: number })[] = [];

  /** Adds a fault, after those that are already there. */
  add(fault: Fault): void {
    this.#faults.push({ ...fault, left: fault.times ?? 1, toPass: fault.after ?? 0 });
  }

  clear(): void {
    this.#faults = [];
  }

  /** Number of requests that faults are still waiting for. */
  get pending(): number {
    return this.#faults.reduce((sum, { left }) => sum + left, 0);
  }

  /** Takes the fault for a request; null for none. */
  take(request: StubRequest): Fault | null {
    const matching = this.#faults.filter(({ match }) => match?.(request) ?? true);
    const fault = matching.find(({ toPass }) => toPass === 0);
    for (const one of matching) if (one !== fault && one.toPass > 0) one.toPass -= 1;
    if (!fault) return null;
    fault.left -= 1;
    if (fault.left === 0) this.#faults = this.#faults.filter((other) => other !== fault);
    return fault;
  }
}
