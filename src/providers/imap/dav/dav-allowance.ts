/** An answer was longer than what is read: ask for less. */
export class DavAnswerTooLongError extends Error {
  override name = 'DavAnswerTooLongError';
}

/** How much the answers to the requests of one piece of work may bring, and how long it may take. */
export class DavAllowance {
  #left: number;

  /**
   * @param answerBytes for one answer
   * @param totalBytes for all of them together
   * @param signal aborted: requests end at once with `temporary`; null: each has its own deadline only
   */
  constructor(
    readonly answerBytes: number,
    totalBytes: number,
    readonly signal: AbortSignal | null,
  ) {
    this.#left = totalBytes;
  }

  get next(): number {
    return Math.min(this.answerBytes, this.#left);
  }

  /** @throws {DavAnswerTooLongError} */
  spend(bytes: number): void {
    if (bytes > this.next) throw new DavAnswerTooLongError();
    this.#left -= bytes;
  }
}
