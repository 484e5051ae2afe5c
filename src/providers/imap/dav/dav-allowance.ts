/** A response was longer than the limit; request less at a time. */
export class DavAnswerTooLongError extends Error {
  override name = 'DavAnswerTooLongError';
}

/** Limits for one piece of work: how much all responses may contain and how long it may take. */
export class DavAllowance {
  #left: number;

  /**
   * @param answerBytes limit for one response
   * @param totalBytes limit for all responses together
   * @param signal if aborted, requests end at once with `temporary`; `null` if only each
   *   request's own deadline applies
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
