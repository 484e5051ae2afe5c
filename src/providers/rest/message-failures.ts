import {
  ProviderError,
  type ProviderErrorCode,
} from '../../platform/base/errors/provider-error.ts';
import type { FailedMessage, ListedContent, ReadMessage } from '../port/connector.ts';

const CODES: readonly ProviderErrorCode[] = ['temporary', 'rejected'];

/**
 * Whether the error may concern only the object of the request. It does if the provider answers
 * other requests at the same time.
 */
export function isOfOneObject(error: unknown): error is ProviderError {
  return error instanceof ProviderError && CODES.includes(error.code);
}

/**
 * The failures of messages that a provider has reported and does not find. A change may be reported
 * before it can be read, so they are requested again.
 * @param read as `MailPort.readMessages` returns it
 */
export function notFoundAmong(read: ReadonlyMap<string, unknown>): FailedMessage[] {
  const reason = 'the provider has reported the message, and does not find it';
  return [...read].flatMap(([providerId, found]) =>
    found === null ? [{ providerId, reason }] : [],
  );
}

/**
 * The content of a message on whose content the provider failed.
 * @param reason the provider's error text
 */
export function failedContent(reason: string): ListedContent {
  return { kind: 'listed', headers: null, snippet: null, failed: reason };
}

/** What `MailPort.readMessages` returns, with the messages on which the provider failed. */
export function withFailed(
  read: ReadonlyMap<string, ReadMessage | null>,
  failed: readonly FailedMessage[],
): Map<string, ReadMessage | null> {
  const failures = failed.map(({ providerId, reason }): [string, ReadMessage] => [
    providerId,
    { state: null, content: null, failed: reason },
  ]);
  return new Map([...read, ...failures]);
}

/** Messages that were read one by one, and those on which the provider failed. */
export class MessageReads<T> {
  readonly read = new Map<string, T>();
  readonly #failures = new Map<string, ProviderError>();

  /** @param isOfOne whether an error may concern only the message that was requested */
  constructor(private readonly isOfOne = isOfOneObject) {}

  /**
   * Reads one message.
   * @throws the error, if it does not concern this message only
   */
  async add(providerId: string, work: Promise<T>): Promise<void> {
    try {
      this.read.set(providerId, await work);
    } catch (error) {
      if (!this.isOfOne(error)) throw error;
      this.#failures.set(providerId, error);
    }
  }

  get failed(): FailedMessage[] {
    return [...this.#failures].map(([providerId, { message: reason }]) => ({ providerId, reason }));
  }

  /** True if the provider failed on each message, which it does if it is out of order. */
  get isNothing(): boolean {
    return this.read.size === 0 && this.#failures.size > 0;
  }
}
