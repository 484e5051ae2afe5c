import type { Stall } from '../../providers/port/connector.ts';
import { STABLE_SECONDS } from '../sync-policy.ts';

/** Collects which parts of a mailbox could not be read in a sync pass. */
export class Stalls {
  readonly #all: Stall[] = [];

  add(stall: Stall): void {
    this.#all.push(stall);
  }

  get any(): boolean {
    return this.#all.length > 0;
  }

  /**
   * Why the account is shown as failing: a part of its mailbox could not be read for a while.
   * `null` if it is not.
   */
  problem(now: Date): string | null {
    const shown = now.getTime() - STABLE_SECONDS * 1000;
    return this.#all.find(({ since }) => since.getTime() <= shown)?.reason ?? null;
  }
}
