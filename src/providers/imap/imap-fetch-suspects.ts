/** A connection that ends later than this after it was asked for a message has ended for another reason. */
const AT_ONCE_MS = 10_000;
/** A message that ends the connection so often when it is asked for alone is passed. */
const CONVICTED = 2;
/** How often a look is begun anew when it is not known which message is the reason. */
const MOST_LOSSES = 4;
/** How often it is begun anew when one is blamed. */
const MOST_BLAMED = 50;

/**
 * Finds the message that ends the connection whenever it is fetched, as a server does that stumbles over it. The look is
 * begun anew, then with one message at a time; the one it stops at twice is not asked for any more.
 */
export class Suspects {
  readonly #losses = new Map<string, number>();
  #asked: { messages: readonly string[]; since: number } | null = null;
  #count = 0;
  #blamed = 0;

  /** Whether messages have to be fetched one at a time. */
  get careful(): boolean {
    return this.#count + this.#blamed > 0;
  }

  /** Whether the connection has ended when this message was asked for alone. */
  isSuspect(message: string): boolean {
    return this.#losses.has(message);
  }

  /** Whether a message is not to be fetched. Messages are told by `providerId`s, or whatever tells them apart. */
  isConvicted(message: string): boolean {
    return (this.#losses.get(message) ?? 0) >= CONVICTED;
  }

  /** Runs what fetches these messages; or, with none, what a connection may not survive that was kept for long. */
  async watch<T>(messages: readonly string[], fetch: () => Promise<T>): Promise<T> {
    this.#asked = { messages, since: performance.now() };
    const value = await fetch();
    this.#asked = null;
    return value;
  }

  /**
   * The look has failed and its connection is gone.
   * @returns whether a message may be the reason, so that it is worth to begin anew
   */
  isWorthAnotherLook(): boolean {
    const asked = this.#asked;
    this.#asked = null;
    if (!asked || performance.now() - asked.since > AT_ONCE_MS) return false;
    const [message, ...others] = asked.messages;
    if (message !== undefined && others.length === 0) {
      this.#losses.set(message, (this.#losses.get(message) ?? 0) + 1);
      this.#blamed += 1;
    } else this.#count += 1;
    return this.#count <= MOST_LOSSES && this.#blamed <= MOST_BLAMED;
  }
}
