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
 * its wait began. So a wait counts from the reading that first saw it: a long statement that has
 * just begun to commit, or a reading that comes late, makes no wait longer than it is.
 */
export class CommitClock {
  /** Since when each wait is known, by session and statement; `null` before the first reading. */
  #known: Map<string, number> | null = null;

  /**
   * Returns the seconds of each session, in the same order: too few by the time between two
   * readings at most, and never too many. Only the first reading takes those of the statement: a
   * process that starts must not write before it knows that no commit ends.
   * @param nowMs the time of the reading, in monotonic milliseconds
   */
  measure(waiting: readonly WaitingSession[], nowMs: number): number[] {
    const before = this.#known;
    const known = new Map<string, number>();
    const measured = waiting.map(({ session, began, seconds }) => {
      const statement = `${session} ${began}`;
      const sinceMs = before === null ? nowMs - seconds * 1000 : (before.get(statement) ?? nowMs);
      known.set(statement, sinceMs);
      return Math.min(seconds, (nowMs - sinceMs) / 1000);
    });
    this.#known = known;
    return measured;
  }
}
