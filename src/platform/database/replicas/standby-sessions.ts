import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { monotonicMs } from '../../base/time/clock.ts';
import { answered } from '../connections.ts';
import { cut } from '../health/timelines.ts';
import type { Position, PrimaryPosition } from './primary-position.ts';
import { StandbyUnusableError } from './standby-unusable-error.ts';

/** How long a read waits for the standby. The primary answers most reads within this time. */
const PATIENCE_MS = 50;
/** Between two questions to a standby that has not replayed a position. */
const PAUSE_MS = 1;
/** How long the standby may take to say what it is. */
const ANSWER_MS = 1_000;

/** What a server says about itself. */
export interface StandbyFacts {
  /** Whether it replays the log of another server. False after a promotion. */
  standby: boolean;
  /** Its system identifier. */
  server: string;
  /** Timeline of the log that it replays. */
  timeline: number;
  /** How far it has replayed the log, in bytes since its beginning. */
  bytes: number;
}

/**
 * A standby shows the timeline that it receives only to the role `pg_monitor`. Its control file,
 * which every role may read, follows with the next restart point: at most `checkpoint_timeout`
 * later, and never too early.
 */
const FACTS = {
  name: 'standby-facts',
  text: `
    select pg_is_in_recovery() as standby, (select system_identifier::text from pg_control_system()) as server,
      greatest(
        (select min_recovery_end_timeline from pg_control_recovery()),
        (select timeline_id from pg_control_checkpoint()),
        (select received_tli from pg_stat_wal_receiver)) as timeline,
      pg_wal_lsn_diff(coalesce(pg_last_wal_replay_lsn(), '0/0'), '0/0')::float8 as bytes`,
};

/**
 * Returns why a server must not answer a read, or `null` if it may.
 * @param facts what it said before `position` was asked for, or after
 * @param position of the primary
 * @param askedBefore whether it said so before: then it cannot have replayed more than `position`
 */
export function problemOf(
  facts: StandbyFacts,
  position: Position,
  askedBefore: boolean,
): string | null {
  if (!facts.standby) return 'is no standby: it was promoted, or never was one';
  if (facts.timeline !== position.timeline)
    return `replays timeline ${facts.timeline}, and the primary has timeline ${position.timeline}`;
  if (askedBefore && facts.bytes > position.bytes)
    return 'has replayed more than the primary has written: rebuild it from this primary';
  return null;
}

/**
 * The connections to the standby, each with what its server said last. They are checked one by one,
 * so the address may also lead to several standbys.
 */
export class StandbySessions {
  readonly #primary: PrimaryPosition;
  /** The open connections; `null` if the server must be asked before the next statement. */
  readonly #facts = new Map<pg.ClientBase, StandbyFacts | null>();
  #server: string | null = null;

  constructor(primary: PrimaryPosition) {
    this.#primary = primary;
  }

  /** Notes the system identifier of the primary. Before, no connection is admitted. */
  expect(server: string): void {
    this.#server = server;
  }

  /** The server of each connection is asked before its next statement: it may be another by now. */
  forget(): void {
    for (const client of this.#facts.keys()) this.#facts.set(client, null);
  }

  /**
   * Prepares a new connection.
   * @param settings select list of its settings
   */
  readonly greet = async (client: pg.ClientBase, limitMs: number, settings = '1') => {
    this.#facts.set(client, null);
    client.once('end', () => this.#facts.delete(client));
    await answered(client as pg.Client, Math.min(limitMs, ANSWER_MS), {
      text: `select ${settings}`,
    });
    await this.#ask(client);
  };

  /**
   * Resolves when statements on the connection see everything that was committed before the call.
   * @throws {StandbyUnusableError} if that takes too long, or the server is no standby of the
   *   primary
   */
  readonly admit = async (client: pg.ClientBase): Promise<void> => {
    const known = this.#facts.get(client) ?? (await this.#ask(client));
    const position = await this.#primary.read();
    // After a failover, a standby follows the new primary and has its timeline when asked again.
    if (known.timeline === position.timeline) {
      this.#refuse(problemOf(known, position, true));
      if (known.server === this.#server && known.bytes >= position.bytes) return;
    }
    await this.#catchUp(client, position);
  };

  /** Ends all connections at once: their statements fail with this error. */
  cut(error: Error): void {
    for (const client of this.#facts.keys()) cut(client, error);
  }

  async #catchUp(client: pg.ClientBase, position: Position): Promise<void> {
    for (const deadline = monotonicMs() + PATIENCE_MS; ; await sleep(PAUSE_MS)) {
      const facts = await this.#ask(client);
      if (facts.server !== this.#server)
        throw new StandbyUnusableError('does not belong to the database system of the primary');
      this.#refuse(problemOf(facts, position, false));
      if (facts.bytes >= position.bytes) return;
      if (monotonicMs() > deadline)
        throw new StandbyUnusableError(`lags behind by more than ${PATIENCE_MS} ms`);
    }
  }

  #refuse(problem: string | null): void {
    if (problem !== null) throw new StandbyUnusableError(problem);
  }

  async #ask(client: pg.ClientBase): Promise<StandbyFacts> {
    const { rows } = await answered<StandbyFacts & pg.QueryResultRow>(
      client as pg.Client,
      ANSWER_MS,
      FACTS,
    );
    const [facts] = rows;
    if (!facts) throw new StandbyUnusableError('does not say what it is');
    this.#facts.set(client, facts);
    return facts;
  }
}
