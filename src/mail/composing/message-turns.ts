import { Injectable } from '@nestjs/common';
import { ByteBudget } from '../../platform/base/concurrency/byte-budget.ts';
import { KeyedLimit } from '../../platform/base/concurrency/keyed-limit.ts';

/** Smaller messages do not wait for anybody. */
const SMALL_BYTES = 512 * 1024;
/** Bytes of the messages that one process composes and stores at a time. They take several times as much memory. */
const MOST_BYTES = 48 * 1024 * 1024;
/** Large messages of one account at a time: one that waits for its provider's files holds up nobody else for long. */
const MOST_OF_ONE = 1;

/** Turns of large messages: however many arrive together, only a few are in memory. */
@Injectable()
export class MessageTurns {
  readonly #budget = new ByteBudget(MOST_BYTES);
  readonly #accounts = new KeyedLimit(MOST_OF_ONE);

  /**
   * Runs what composes a message and everything that needs it whole.
   * @param bytes about how large the message is, before it is encoded
   * @throws what the work throws
   */
  run<T>(accountId: string, bytes: number, work: () => Promise<T>): Promise<T> {
    if (bytes <= SMALL_BYTES) return work();
    return this.#accounts.run(accountId, () => this.#budget.run(bytes, work));
  }

  /**
   * The same for work that can come again later, and holds up others where it waits.
   * @returns null: it is not its turn, and nothing has been done
   * @throws what the work throws
   */
  async runNow<T>(accountId: string, bytes: number, work: () => Promise<T>): Promise<T | null> {
    if (bytes > SMALL_BYTES && !(this.#accounts.isFree(accountId) && this.#budget.isFree(bytes)))
      return null;
    return this.run(accountId, bytes, work);
  }
}
