import { hostname } from 'node:os';
import { type Moment, moment, monotonicMs, mostMsBetween } from '../base/time/clock.ts';
import type { Sql } from '../database/sql.ts';
import { DEAD_AFTER_SECONDS, WORKER_LOCKS } from './queue-statements.ts';

/** After a pause this long others may soon declare us dead: nothing may leave until a heartbeat is answered. */
const TRUST_MS = 2_500;

/** A process that has just started lets the others show first whether they live: they do so each second. */
const FIRST_LOOK_MS = 3_000;

// Nobody sees the row before the lock is held.
const REGISTER = `
  with entered as (insert into worker (host, pid) values ($1, $2) returning id)
  select id, pg_try_advisory_lock(${WORKER_LOCKS}, id) from entered`;

/**
 * This process as the others see it: a row in `worker`, refreshed each second. Who stops refreshing is dead after 8 s
 * and its claims are given back; who has merely been paused notices it here before it does harm.
 */
export class WorkerIdentity {
  #id = 0;
  #epoch = 0;
  #lastBeat: Moment | null = null;
  #judgesFrom = Infinity;

  /** 0 before the first `register`. */
  get id(): number {
    return this.#id;
  }

  /** Grows whenever everything in hand has become void. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Whether the claims of this epoch are surely still ours. */
  trusted(): boolean {
    return (
      this.#id > 0 && this.#lastBeat !== null && mostMsBetween(this.#lastBeat, moment()) < TRUST_MS
    );
  }

  /**
   * Takes a new row, and with it a new epoch.
   * @param accept told the number of the row; false leaves it unused
   */
  async register(sql: Sql, accept: (id: number) => Promise<boolean>): Promise<void> {
    const before = moment();
    const [row] = await sql.query<{ id: number }>(REGISTER, [hostname(), process.pid]);
    if (!row || !(await accept(row.id))) return;
    this.#id = row.id;
    this.#epoch += 1;
    this.#noteContact(before);
  }

  /**
   * Takes the lock by which others see that this process has a connection; for a heartbeat's connection that is a new one.
   * @returns false while the lost connection still has it
   */
  async hold(sql: Sql): Promise<boolean> {
    const [row] = await sql.query<{ held: boolean }>(
      'select pg_try_advisory_lock($1, $2) as held',
      [WORKER_LOCKS, this.#id],
    );
    return row?.held === true;
  }

  /**
   * Notes a heartbeat that was answered. However long the pause was: as long as the row is there, nobody has given
   * away what we hold.
   * @param sentAt before the heartbeat was sent: the answer proves nothing later than that
   */
  noteBeat(sentAt: Moment): void {
    this.#noteContact(sentAt);
  }

  /** Begins a new epoch without a row: `register` is due. */
  forget(): void {
    this.#id = 0;
    this.#epoch += 1;
  }

  /**
   * Whether silence of others may be held against them. After a pause of ours it may have been the database, or this
   * whole machine, that was away: then they get as long to come back as it takes to be dead. So what a worker held at
   * its death is given back within ten seconds while others live, and within four seconds of the start of the
   * first process after all of them have died.
   */
  mayJudge(): boolean {
    return monotonicMs() >= this.#judgesFrom;
  }

  #noteContact(at: Moment): void {
    const last = this.#lastBeat;
    if (last === null) this.#judgesFrom = at.monotonicMs + FIRST_LOOK_MS;
    else if (mostMsBetween(last, at) > TRUST_MS)
      this.#judgesFrom = at.monotonicMs + DEAD_AFTER_SECONDS * 1000;
    this.#lastBeat = at;
  }

  /** Takes the row away on an orderly stop. */
  async leave(sql: Sql): Promise<void> {
    if (this.#id === 0) return;
    await sql.query('delete from worker where id = $1', [this.#id]);
    this.#id = 0;
  }
}
