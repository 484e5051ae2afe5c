import { hostname } from 'node:os';
import { monotonicMs } from '../common/time/clock.ts';
import type { Sql } from '../database/sql.ts';

/** After a pause this long others may have declared us dead: nothing in hand may leave any more. */
const TRUST_MS = 2_500;

/**
 * This process as the others see it: a row in `worker`, refreshed each second. Who stops refreshing is dead after 8 s
 * and its claims are given back; who has merely been paused notices it here before it does harm.
 */
export class WorkerIdentity {
  #id = 0;
  #epoch = 0;
  #lastBeat = -Infinity;

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
    return this.#id > 0 && monotonicMs() - this.#lastBeat < TRUST_MS;
  }

  /** Takes a new row, and with it a new epoch. */
  async register(sql: Sql): Promise<void> {
    const before = monotonicMs();
    const [row] = await sql.query<{ id: number }>(
      'insert into worker (host, pid) values ($1, $2) returning id',
      [hostname(), process.pid],
    );
    this.#id = row?.id ?? 0;
    this.#epoch += 1;
    this.#lastBeat = before;
  }

  /**
   * Notes the answer to a heartbeat.
   * @param sentAtMs monotonic time before the heartbeat was sent: the answer proves nothing later than that
   * @returns false when a new epoch has begun and `register` is due
   */
  noteBeat(alive: boolean, sentAtMs: number): boolean {
    if (!alive) {
      this.#id = 0;
      this.#epoch += 1;
      return false;
    }
    if (sentAtMs - this.#lastBeat > TRUST_MS) this.#epoch += 1;
    this.#lastBeat = sentAtMs;
    return true;
  }

  /** Takes the row away on an orderly stop. */
  async leave(sql: Sql): Promise<void> {
    if (this.#id === 0) return;
    await sql.query('delete from worker where id = $1', [this.#id]);
    this.#id = 0;
  }
}
