/**
 * What Google does to its clients beside what its manuals say. A new stub has no such habit; a test
 * switches on single ones, or all of them with `worst`.
 */
export class GoogleHabits {
  /**
   * What Gmail does with the Message-ID of a message that a client sends, files or saves. People
   * have reported that Gmail replaces also well-formed ones.
   */
  messageIds: 'kept' | 'replaced' = 'kept';
  /** What it does with `X-` headers of such a message. */
  ownHeaders: 'kept' | 'dropped' = 'kept';

  /**
   * Every so many requests of each method of Gmail, one is answered with 400 "Precondition check
   * failed." and does nothing. `null`: none is.
   */
  refusesEvery: number | null = null;
  /** Whether that holds for requests that send, too. */
  refusesSending = true;
  /** Milliseconds after which the history shows a change. Pub/Sub reports it at once. */
  historyLagMs = 0;
  /** Whether the history shows the labels of a new message before the message itself. */
  labelsFirst = false;
  /** Milliseconds after which lists of contacts show what was written. */
  contactsLagMs = 0;
  /** Whether a page token is refused if the other parameters differ from the first page's. */
  samePages = false;
  /**
   * Pages of lists. `short`: of three entries at most. `empty first`: the first page has a token
   * and no entry.
   */
  pages: 'full' | 'short' | 'empty first' = 'full';
  readonly #asked = new Map<object, number>();

  /** Counts a request of a method of Gmail. @returns whether it is to be refused */
  refuses(method: object, isSending: boolean): boolean {
    if (this.refusesEvery === null || (isSending && !this.refusesSending)) return false;
    const asked = (this.#asked.get(method) ?? 0) + 1;
    this.#asked.set(method, asked);
    return asked % this.refusesEvery === 0;
  }

  /**
   * Switches on every habit that people have reported of the real Google. Headers of a client's own
   * are kept: no report says that Google drops them. What is
   * shown late is not switched on: a test has to wait for it.
   */
  worst(): void {
    this.messageIds = 'replaced';
    this.refusesEvery = 7;
    this.labelsFirst = true;
    this.samePages = true;
    this.pages = 'empty first';
  }
}
