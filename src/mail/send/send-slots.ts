import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { ByteBudget } from '../../platform/base/concurrency/byte-budget.ts';
import { KeyedLimit } from '../../platform/base/concurrency/keyed-limit.ts';

/** Messages of one account that a process sends at a time. */
const MOST_OF_ONE = 4;
/** Requests of one account that may wait for a free slot. */
const MOST_WAITING = 50;
/** Total bytes of encoded messages in memory while servers receive them. */
export const DIRECT_SEND_BYTES = 256 * 1024 * 1024;
/**
 * Smaller messages do not wait for large ones. An account that sends large ones slowly would delay
 * all others.
 */
const SMALL_BYTES = 512 * 1024;

/**
 * Limits how many messages are sent within requests at a time, for each account and by their size.
 */
export class SendSlots {
  readonly #accounts = new KeyedLimit(MOST_OF_ONE);
  readonly #bytes = new ByteBudget(DIRECT_SEND_BYTES);
  readonly #inLine = new Map<string, number>();

  /**
   * Runs `work` as soon as the account has a free slot and there is memory for the message.
   * @param bytes approximate size of the encoded message
   * @param isGone whether the client has disconnected; then `work` is not begun
   * @throws {DomainError} 429 if too many requests of the account wait already, 503 if the client
   *   has disconnected
   * @throws what `work` throws
   */
  async run<T>(
    accountId: string,
    bytes: number,
    isGone: () => boolean,
    work: () => Promise<T>,
  ): Promise<T> {
    const inLine = (this.#inLine.get(accountId) ?? 0) + 1;
    if (inLine > MOST_OF_ONE + MOST_WAITING)
      throw new DomainError(
        'send.too-many',
        'rate-limited',
        'Too many messages of the account are being sent at the same time: try again later, or use the outbox',
        { limit: MOST_OF_ONE, retryAfterSeconds: 5 },
      );
    this.#inLine.set(accountId, inLine);
    try {
      const begin = () => {
        if (isGone())
          throw new DomainError(
            'send.abandoned',
            'unavailable',
            'The client has disconnected; the message was not sent',
          );
        return work();
      };
      return await this.#accounts.run(accountId, () =>
        bytes <= SMALL_BYTES ? begin() : this.#bytes.run(bytes, begin),
      );
    } finally {
      const left = (this.#inLine.get(accountId) ?? 1) - 1;
      if (left > 0) this.#inLine.set(accountId, left);
      else this.#inLine.delete(accountId);
    }
  }
}
