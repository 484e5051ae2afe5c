import { hostname } from 'node:os';
import { type Moment, moment, monotonicMs, mostMsBetween } from '../../base/time/clock.ts';
import { VERSION } from '../../base/version.ts';
import type { Sql } from '../../database/sql.ts';
import { DEAD_AFTER_SECONDS, WORKER_LOCKS } from '../queue/queue-statements.ts';

/**
 * After a pause of this length other workers may soon declare this one dead. Its runs must have no
 * effect until a heartbeat is answered.
 */
const TRUST_MS = 2_500;

/**
 * How long a process that has just started waits before it may declare others dead. Living workers
 * send a heartbeat each second.
 */
const FIRST_LOOK_MS = 3_000;

// One statement: the row becomes visible only when the lock is held. $4: the previous id of this
// process, if the database failed over since. A server that lacks that row may have given its id to
// another process.
const REGISTER = `
  with moved as (
    update worker set moved_at = now() where id = $4 and host = $1 and pid = $2),
  entered as (insert into worker (host, pid, release) values ($1, $2, $3) returning id)
  select id, pg_try_advisory_lock(${WORKER_LOCKS}, id) from entered`;

/**
 * This process as other workers see it: a row in `worker` with a heartbeat each second. A worker
 * without a heartbeat for 8 s is dead, and its claims are given back. A worker that was only paused
 * learns from `trusted` that it must not use its claims until its next heartbeat.
 */
export class WorkerIdentity {
  #id = 0;
  /** Id on a server that was replaced; 0 if there is none. */
  #idBefore = 0;
  #epoch = 0;
  #lastBeat: Moment | null = null;
  #declaresFrom = Infinity;

  /** Id of this worker's row; 0 if it has none. */
  get id(): number {
    return this.#id;
  }

  /** Grows whenever all claims of this worker become void. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Whether the claims of this epoch certainly still belong to this worker. */
  trusted(): boolean {
    return (
      this.#id > 0 && this.#lastBeat !== null && mostMsBetween(this.#lastBeat, moment()) < TRUST_MS
    );
  }

  /**
   * Creates a new row and begins a new epoch.
   * @param accept called with the id of the row; if it returns false, the row stays unused
   */
  async register(sql: Sql, accept: (id: number) => Promise<boolean>): Promise<void> {
    const before = moment();
    const epoch = this.#epoch;
    const [row] = await sql.query<{ id: number }>(REGISTER, [
      hostname(),
      process.pid,
      VERSION,
      this.#idBefore,
    ]);
    if (!row || !(await accept(row.id))) return;
    // The database failed over meanwhile: on the new server the id may belong to another worker.
    if (epoch !== this.#epoch) return;
    this.#id = row.id;
    this.#idBefore = 0;
    this.#epoch += 1;
    this.#noteContact(before);
  }

  /**
   * Takes the advisory lock that shows other workers that this process has a connection. Needed
   * after each reconnect of the heartbeat.
   * @returns false if the lost connection still holds it
   */
  async acquireLock(sql: Sql): Promise<boolean> {
    const [row] = await sql.query<{ held: boolean }>(
      'select pg_try_advisory_lock($1, $2) as held',
      [WORKER_LOCKS, this.#id],
    );
    return row?.held === true;
  }

  /**
   * Notes that a heartbeat was answered. While this worker's row exists, its claims are valid, even
   * after a long pause.
   * @param sentAt the time before the heartbeat was sent, because the response proves nothing
   *   later than that
   */
  noteBeat(sentAt: Moment): void {
    this.#noteContact(sentAt);
  }

  /** Begins a new epoch without a row. `register` is needed next. */
  forget(): void {
    this.#id = 0;
    this.#epoch += 1;
  }

  /**
   * Begins a new epoch without a row, because the database failed over. Its row on the new server
   * counts as left behind when `register` is called.
   */
  move(): void {
    if (this.#id > 0) this.#idBefore = this.#id;
    this.forget();
  }

  /**
   * Whether this worker may declare others dead. If this worker had no contact with the database
   * for a while, the others may have had none either. So it then waits another 8 s, in which living
   * workers send a heartbeat.
   *
   * The claims of a dead worker are therefore given back within ten seconds while another worker
   * lives. If all workers have died, they are given back within four seconds of the start of the
   * next one.
   */
  mayDeclareDead(): boolean {
    return monotonicMs() >= this.#declaresFrom;
  }

  #noteContact(at: Moment): void {
    const last = this.#lastBeat;
    if (last === null) this.#declaresFrom = at.monotonicMs + FIRST_LOOK_MS;
    else if (mostMsBetween(last, at) > TRUST_MS)
      this.#declaresFrom = at.monotonicMs + DEAD_AFTER_SECONDS * 1000;
    this.#lastBeat = at;
  }

  /** Removes the row at an orderly stop. */
  async leave(sql: Sql): Promise<void> {
    if (this.#id === 0) return;
    await sql.query('delete from worker where id = $1', [this.#id]);
    this.#id = 0;
  }
}
