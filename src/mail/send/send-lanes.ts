import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { ByteBudget } from '../../platform/base/concurrency/byte-budget.ts';
import { KeyedLimit } from '../../platform/base/concurrency/keyed-limit.ts';

/** Messages of one account that are sent at a time by one process. */
const MOST_OF_ONE = 4;
/** Requests of one account that wait for that. */
const MOST_WAITING = 50;
/** Bytes of messages in hand while servers take them, encoded. */
const MOST_BYTES = 256 * 1024 * 1024;
/** Smaller messages do not wait for anybody's large ones: whoever sends those slowly would hold up all accounts. */
const SMALL_BYTES = 512 * 1024;

/** Keeps what is sent within requests within bounds. */
export class SendLanes {
  readonly #accounts = new KeyedLimit(MOST_OF_ONE);
  readonly #bytes = new ByteBudget(MOST_BYTES);
  readonly #inLine = new Map<string, number>();

  /**
   * @param bytes about how large the message is, encoded
   * @param isGone whether nobody waits for the answer any more: what has not begun is not done then
   * @throws {DomainError} 429 when too many of the account wait already @throws what the work throws
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
        'Too many messages of the account are being sent at the same time; the outbox takes them all',
        { limit: MOST_OF_ONE, retryAfterSeconds: 5 },
      );
    this.#inLine.set(accountId, inLine);
    try {
      const begin = () => {
        if (isGone())
          throw new DomainError('send.abandoned', 'unavailable', 'Nobody waits for it any more');
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
