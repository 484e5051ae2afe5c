import type { Sql } from '../database/sql.ts';
import type { QueueName } from './signals.ts';

/*
 * The contract between the engine and what a claimed row of a queue means (a dispatcher in its module).
 * claim and load (engine) → run (dispatcher, talks to the outside, no transaction) → settle: queue row and `record`
 * (dispatcher) in one transaction.
 */

/** A claimed row of a queue. */
export interface ClaimedJob {
  id: string;
  /** Proves that the claim is still ours. */
  fence: number;
  /** 1 for the first attempt. */
  attempt: number;
  /** An earlier attempt may have taken effect: look before repeating it. */
  ambiguous: boolean;
  /** The account, or the webhook: what pace and concurrency are counted by. */
  gateId: string;
  /** When it was promised. */
  dueAt: Date;
  /** Troubles in a row of its gate, as the claim saw them: 0 when it was well. */
  gateFailures: number;
}

/** What holds a claim together while it runs. */
export interface Lease {
  /**
   * Commits the marker "from here on the outside may see an effect". Call it right before that, once.
   * @returns false when the row is not ours any more: stop, without any effect
   */
  handOff(): Promise<boolean>;
  /**
   * Whether the claim is surely still ours; false after a pause in which it may have been given to somebody else, and
   * once `signal` is aborted. Ask at the last moment before something irrevocable.
   */
  trusted(): boolean;
  /** Aborted when the claim is lost, when a stopping process has no more time, or a run takes longer than any should. */
  signal: AbortSignal;
  /** Whether the process has begun to stop: what comes in steps ends after the present one. */
  stopping(): boolean;
}

/** What becomes of the queue row: gone, or waiting again (an instant in the past means at once). */
export type Next = { kind: 'done' } | { kind: 'again'; at: Date; ambiguous: boolean };

/**
 * What a run says about its gate (the account, the webhook) as a whole, for all workers: the engine's breaker. Five
 * troubles in a row close the gate, for 30 s and twice as long each time up to 15 minutes; then one row at a time is
 * let through until one is well. Runs that were claimed before a trouble was counted do not count again. What waits
 * at a closed gate makes no attempts; only a row whose own deadline has come is let through. Given by queues with
 * `QueueTable.breaker` only.
 */
export type GateSignal =
  /** It was reached, or need not be any more: earlier troubles are forgotten. A closing that was asked for stays until its time is over. */
  | { kind: 'well' }
  /** It could not be reached at all, whatever the row was about. */
  | { kind: 'trouble'; reason: string }
  /** It asked to be left alone: closed at once. `reason` is for the user. */
  | { kind: 'close'; seconds: number; reason: string };

/** How a run ended; `result` is the dispatcher's own business. */
export interface Outcome<R> {
  next: Next;
  result: R;
  /** Absent: the run says nothing about its gate. */
  gate?: GateSignal;
}

/** A row that waits for its gate, more than a minute beyond what was promised. */
export interface LateRow {
  id: string;
  /** For the user: why the gate is closed, or its pace. */
  reason: string;
}

/** A run whose queue row was still ours. */
export interface Settled<J extends ClaimedJob, R> extends Outcome<R> {
  job: J;
}

/**
 * What rows of a queue need to be run, as SQL in which `j` is the row of the queue. The rows of a claim are loaded together,
 * before they run.
 */
export interface RowLoading {
  /** Select list, without the row's id. */
  columns: string;
  /** `join … on …`: at most one match each. A row without one has nothing to be loaded. */
  joins: string;
  /**
   * Which rows are handed off in the same round trip: those that will go out as soon as they are loaded. `Lease.handOff`, which
   * is to be called all the same, then answers at once.
   */
  ready: string;
}

/** Where a queue is stored. */
export interface QueueTable {
  queue: QueueName;
  table: string;
  /** Column that pace and concurrency are counted by. */
  gateColumn: string;
  /** Further columns of a claimed row: property name → column. */
  columns: Readonly<Record<string, string>>;
  /** Whether finished rows stay, waiting for their next time (sync). */
  permanent?: boolean;
  /**
   * Whether its rows give gate signals and wait while their gate is closed. Queues without it go on: that an account
   * takes no mail for an hour is no reason not to read it.
   */
  breaker?: boolean;
  /** Column of a row's own deadline: no gate makes it wait beyond that. Absent: rows have none. */
  deadlineColumn?: string;
  /**
   * Rows that find all places of their gate taken come back so many milliseconds apart, whatever the gate's own pace, which
   * other queues share. Absent: at the gate's pace.
   */
  paceMs?: number;
  /**
   * Whether a row has no effect before its hand-off. What a worker has not handed off yet is given to others as soon as its
   * connection is gone, and not when its death is believed: should it live after all, its hand-off is refused.
   */
  inertUntilHandOff?: boolean;
  /** What `Dispatcher.run` gets with the row. Absent: the queue has nothing to be loaded. */
  loading?: RowLoading;
}

/** What the rows of one queue mean. `L` is what its `QueueTable.loading` loads. */
export interface Dispatcher<
  J extends ClaimedJob = ClaimedJob,
  R = unknown,
  L extends object = object,
> {
  readonly table: QueueTable;
  /** How many run at a time in one process. */
  readonly slots: number;
  /**
   * Claims of a process are at least so many milliseconds apart: rows that come one by one are
   * taken together, later by at most that. Default 5.
   */
  readonly claimEveryMs?: number;
  /**
   * Rows in hand before their hand-off, at most: a worker that dies leaves them behind until its death is noticed.
   * Default: as many as `slots`.
   */
  readonly mostUnbegun?: number;
  /**
   * Does it. Throwing is for bugs and surprises: expected failures are outcomes.
   * @param loaded undefined when there is nothing to be loaded (any more)
   * @returns null when nothing was done, because the hand-off was refused or `lease.signal` aborted: the row goes
   * back as if it had never been claimed
   */
  run(job: J, lease: Lease, loaded: L | undefined): Promise<Outcome<R> | null>;
  onError(job: J, error: unknown): Outcome<R>;
  /** What to record for a row that was in hand at three deaths of its worker; it is not run again. */
  onPoison(job: J): Outcome<R>;
  /**
   * Writes what happened, in the transaction that settles the queue rows. No network here.
   */
  record(sql: Sql, settled: readonly Settled<J, R>[]): Promise<void>;
  /**
   * Tells that rows wait for their gate, each once; in a transaction of its own. Their rows may have been claimed or
   * removed since. Absent: nobody is told.
   */
  recordLate?(sql: Sql, late: readonly LateRow[]): Promise<void>;
}

/** What a feature module provides to the scheduler for one queue. */
export type AnyDispatcher = Dispatcher;
