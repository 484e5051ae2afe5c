import type { ImapFlow } from 'imapflow';
import type { ProviderAccount } from '../../port/connector.ts';
import type { ImapSessions } from '../sessions/imap-sessions.ts';

/**
 * If the connection ends later than this after a message was requested, the message is not the
 * reason.
 */
const AT_ONCE_MS = 10_000;
/** A message that ended the connection this many times while it was requested alone is skipped. */
const FATAL_LOSSES = 2;
/** How often a sync pass is repeated while the responsible message is unknown. */
const MOST_LOSSES = 4;
/** How often a sync pass is repeated because a message that was requested alone ended it. */
const MOST_LOSSES_ALONE = 50;

/**
 * Finds messages that end the connection whenever they are fetched, because the server fails on
 * them. The sync pass is repeated, then with one message at a time. A message that ends the
 * connection twice is not requested any more.
 */
export class FatalMessages {
  readonly #losses = new Map<string, number>();
  #asked: { messages: readonly string[]; since: number } | null = null;
  #count = 0;
  #blamed = 0;

  /** Whether messages have to be fetched one at a time. */
  get careful(): boolean {
    return this.#count + this.#blamed > 0;
  }

  /** Whether the connection ended when this message was requested alone. */
  mayBeFatal(message: string): boolean {
    return this.#losses.has(message);
  }

  /**
   * Whether a message must not be fetched. Messages are identified by `providerId`s or any other
   * unique text.
   */
  mustSkip(message: string): boolean {
    return (this.#losses.get(message) ?? 0) >= FATAL_LOSSES;
  }

  /**
   * Runs `fetch` and records which messages it requests. An empty list stands for a command that a
   * connection may not survive after a long time without use.
   */
  async watch<T>(messages: readonly string[], fetch: () => Promise<T>): Promise<T> {
    this.#asked = { messages, since: performance.now() };
    const value = await fetch();
    this.#asked = null;
    return value;
  }

  /**
   * Call this after a sync pass failed because the connection ended.
   * @returns whether a message may be the reason, so that the sync pass should be repeated
   */
  shouldRepeatSyncPass(): boolean {
    const asked = this.#asked;
    this.#asked = null;
    if (!asked || performance.now() - asked.since > AT_ONCE_MS) return false;
    const [message, ...others] = asked.messages;
    if (message !== undefined && others.length === 0) {
      this.#losses.set(message, (this.#losses.get(message) ?? 0) + 1);
      this.#blamed += 1;
    } else this.#count += 1;
    return this.#count <= MOST_LOSSES && this.#blamed <= MOST_LOSSES_ALONE;
  }

  /**
   * Runs `work`, and repeats it if the connection ended and a message may be the reason.
   * @throws {ProviderError} see `ImapSessions.use`
   */
  async repeating<T>(
    sessions: ImapSessions,
    account: ProviderAccount,
    work: (client: ImapFlow) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      let connection: ImapFlow | undefined;
      try {
        return await sessions.use(account, (client) => {
          connection = client;
          return work(client);
        });
      } catch (error) {
        if (!connection || connection.usable || !this.shouldRepeatSyncPass()) throw error;
      }
    }
  }
}
