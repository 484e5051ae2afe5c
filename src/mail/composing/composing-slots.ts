import { Injectable } from '@nestjs/common';
import { ByteBudget } from '../../platform/base/concurrency/byte-budget.ts';
import { KeyedLimit } from '../../platform/base/concurrency/keyed-limit.ts';

/** Smaller messages never wait. */
const SMALL_BYTES = 512 * 1024;
/**
 * Total bytes of the messages that one process composes and stores at a time. They take several
 * times as much memory.
 */
export const COMPOSING_BYTES = 48 * 1024 * 1024;
/**
 * Large messages of one account at a time. The limit keeps an account whose messages wait for files
 * of its provider from delaying the others for long.
 */
const MOST_OF_ONE = 1;

/** Limits how many large messages are in memory, however many arrive together. */
@Injectable()
export class ComposingSlots {
  readonly #budget = new ByteBudget(COMPOSING_BYTES);
  readonly #accounts = new KeyedLimit(MOST_OF_ONE);

  /**
   * Runs the work that composes a message and needs all of it in memory.
   * @param bytes approximate size of the message before it is encoded
   * @throws what the work throws
   */
  run<T>(accountId: string, bytes: number, work: () => Promise<T>): Promise<T> {
    if (bytes <= SMALL_BYTES) return work();
    return this.#accounts.run(accountId, () => this.#budget.run(bytes, work));
  }

  /**
   * Like `run`, for work that can be repeated later and would delay others while it waits.
   * @returns `null` if there is no free slot; then nothing was done
   * @throws what the work throws
   */
  async runNow<T>(accountId: string, bytes: number, work: () => Promise<T>): Promise<T | null> {
    if (bytes > SMALL_BYTES && !(this.#accounts.isFree(accountId) && this.#budget.isFree(bytes)))
      return null;
    return this.run(accountId, bytes, work);
  }
}
