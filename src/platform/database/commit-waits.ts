import type pg from 'pg';
import { Logger } from '../nest/light.ts';
import { COMMITS_WAIT, UNCONFIRMED } from './health/database-trouble.ts';
import { cut } from './health/timelines.ts';

/*
 * Commits that wait for a synchronous standby (docs/adr/0135). PostgreSQL lets them wait without
 * limit. The connection of each is occupied, and if the client leaves, its session stays on the
 * server until a standby is back. So while no commit ends, this process begins no further one.
 */

/** Refused because no commit would end. Nothing was stored. */
export class CommitsWaitError extends Error {
  readonly code = COMMITS_WAIT;

  constructor() {
    super('commits wait for a synchronous standby of the database, so nothing is written');
  }
}

/** This process gave up the wait for a commit. It is stored as soon as a standby is back. */
class UnconfirmedCommitError extends Error {
  readonly code = UNCONFIRMED;

  constructor() {
    super('no synchronous standby of the database has confirmed a commit');
  }
}

/** A statement with one of these words may write, or lock rows, and then waits like a write. */
const MAY_WRITE = /\b(insert|update|delete|merge|truncate|nextval|setval|for (key )?share)\b/i;

/** Whether commits of this process end. There is one, because all pools have the same server. */
class CommitWaits {
  readonly #log = new Logger('Database');
  /** Process ids of the sessions on the server. */
  readonly #sessions = new Map<pg.ClientBase, number>();
  #waiting = false;

  /**
   * Follows a connection until it ends, so that `note` can give it up if its commit waits.
   * @param session process id of its session on the server (`pg_backend_pid`)
   */
  watch(client: pg.ClientBase, session: number): void {
    this.#sessions.set(client, session);
    client.once('end', () => this.#sessions.delete(client));
  }

  /**
   * Says whether commits end at present.
   * @param waiting whether they wait for a standby that does not confirm them
   * @param sessions process ids of the sessions that have been waiting for too long. Those of this
   *   process are left, so that their connections do not keep reads waiting
   */
  note(waiting: boolean, sessions: readonly number[]): void {
    if (waiting !== this.#waiting)
      this.#log.warn(
        waiting
          ? 'commits wait for a synchronous standby; nothing is written until one confirms them (docs/failover.md)'
          : 'commits end again; work goes on',
      );
    this.#waiting = waiting;
    if (!waiting) return;
    for (const [client, session] of this.#sessions)
      if (sessions.includes(session)) cut(client, new UnconfirmedCommitError());
  }

  /**
   * Call it before a statement runs.
   * @throws {CommitsWaitError} if it may write, and no commit would end
   */
  admit(text: string): void {
    if (this.#waiting && MAY_WRITE.test(text)) throw new CommitsWaitError();
  }
}

/** The commits of this process. */
export const commitWaits = new CommitWaits();
