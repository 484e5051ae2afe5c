/** A session on the server whose commit waits for a standby. */
export interface WaitingSession {
  /** Its process id on the server. */
  session: number;
  /** When its statement began, as text. */
  began: string;
  /** For how long its statement has been running. */
  seconds: number;
}

/**
 * Measures how long commits have been waiting. PostgreSQL says when a statement began, and not when
 * its wait began. But a statement that was not waiting when the sessions were read before has been
 * waiting for less than the time since then.
 */
export class CommitClock {
  #readMs = -Infinity;
  /** When each wait began at the earliest, by session and statement. */
  #began = new Map<string, number>();

  /**
   * Returns the seconds of each session, in the same order: right to about the time between two
   * readings, and never too few. After the first reading, they are those of the statement.
   * @param nowMs the time of the reading, in monotonic milliseconds
   */
  measure(waiting: readonly WaitingSession[], nowMs: number): number[] {
    const before = this.#began;
    this.#began = new Map();
    const measured = waiting.map(({ session, began, seconds }) => {
      const statement = `${session} ${began}`;
      const sinceMs = before.get(statement) ?? this.#readMs;
      this.#began.set(statement, sinceMs);
      return Math.min(seconds, (nowMs - sinceMs) / 1000);
    });
    this.#readMs = nowMs;
    return measured;
  }
}
