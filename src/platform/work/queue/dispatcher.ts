import type { Sql, SqlConnection } from '../../database/sql.ts';
import type { QueueName } from '../signals.ts';

/*
 * The contract between the engine and the dispatcher of a queue. A dispatcher belongs to a feature
 * module and knows what a row of its queue means.
 *
 * 1. The engine claims a row and loads what it needs.
 * 2. The dispatcher runs the row. It talks to the outside, without a transaction.
 * 3. The engine settles: one transaction updates the queue row and calls the dispatcher's
 *    `record`.
 */

/** A claimed row of a queue. */
export interface ClaimedRow {
  id: string;
  /** Fencing token: proves that the claim still belongs to this worker. */
  fence: number;
  /** 1 for the first attempt. */
  attempt: number;
  /**
   * Whether an earlier attempt may have taken effect. The dispatcher must look that attempt up
   * before it repeats it.
   */
  ambiguous: boolean;
  /**
   * Key of the row's rate gate: an account or a webhook. Pace and concurrency are counted by it.
   */
  gateId: string;
  /** When the row was promised to run. */
  dueAt: Date;
  /**
   * Consecutive troubles of its rate gate when the row was claimed. At least 1 while the circuit
   * breaker is stopped or testing; 0 if the gate was well.
   */
  gateFailures: number;
  /**
   * Span under which the row was queued, as a `traceparent`; `null` or absent if nobody listened
   * (docs/tracing.md).
   */
  traceparent?: string | null;
}

/** What a run may ask about its claim. */
export interface Lease {
  /**
   * Commits the hand-off marker: from here on the outside may see an effect. Call it once, right
   * before that effect. If the worker dies afterwards, the row's next attempt is `ambiguous`.
   * @returns false if the row no longer belongs to this worker: stop without any effect
   */
  handOff(): Promise<boolean>;
  /**
   * Whether the claim certainly still belongs to this worker. False after a pause in which another
   * worker may have claimed the row, and once `signal` is aborted. Ask right before an irrevocable
   * step.
   */
  trusted(): boolean;
  /**
   * Aborted if the claim is lost, if a stopping process has no time left, or if the run takes
   * longer than 15 minutes.
   */
  signal: AbortSignal;
  /**
   * Whether the process has begun to stop. A run of several steps then ends after the current step.
   */
  stopping(): boolean;
}

/**
 * Thrown by a run that did not begin, because the process already does too much of the kind. The
 * row goes back as if it had never been claimed, and waits.
 */
export class PostponedError extends Error {
  override name = 'PostponedError';

  constructor(readonly waitMs: number) {
    super(`postponed by ${waitMs} ms`);
  }
}

/**
 * What a run does with its queue row: it is done, or it waits until `at`. An `at` in the past means
 * at once.
 */
export type Next = { kind: 'done' } | { kind: 'again'; at: Date; ambiguous: boolean };

/**
 * What a run reports about its rate gate (the account or the webhook) as a whole. A dispatcher
 * returns it in `Outcome.gate`, and the engine's circuit breaker combines the reports of all
 * workers. Only queues with `QueueTable.breaker` report signals: `send` and `hook`.
 *
 * A *trouble* is a run that could not reach the account or webhook at all. Several troubles in a
 * row stop the circuit breaker; each further one stops it for twice as long (`BreakerLimits`). Then
 * it is testing: one row at a time runs until one reports `well`. A trouble counts only if no other
 * trouble was counted since its row was claimed.
 *
 * Rows that wait for a stopped breaker make no attempts. Only a row that has reached its own
 * deadline runs.
 */
export type RateGateSignal =
  /**
   * The account or webhook was reached, or the account's rows no longer need it, because a relay
   * sends them. Resets the count of troubles. A `stop` still lasts its full time.
   */
  | { kind: 'well' }
  /** The account or webhook could not be reached at all. The cause was not the row itself. */
  | { kind: 'trouble'; reason: string }
  /**
   * The account or webhook asked for a pause. Stops the circuit breaker at once, for `seconds`.
   * `reason` is shown to the user.
   */
  | { kind: 'stop'; seconds: number; reason: string };

/** How a run ended. Only the dispatcher knows what `result` means. */
export interface Outcome<R> {
  next: Next;
  result: R;
  /** Absent if the run reports nothing about its rate gate. */
  gate?: RateGateSignal;
}

/** A row that its rate gate delays by more than a minute beyond its promised time. */
export interface LateRow {
  id: string;
  /**
   * For the user: why the circuit breaker is stopped, or that the row waits for the account's pace.
   */
  reason: string;
}

/** A run whose queue row still belonged to this worker when it was settled. */
export interface Settled<Row extends ClaimedRow, R> extends Outcome<R> {
  row: Row;
  /** Span of the run, as a `traceparent`, for work that follows; absent if nobody listens. */
  traceparent?: string | null;
}

/**
 * SQL that loads what the rows of a queue need to run. In it, `j` is the row of the queue. The
 * engine loads all rows of a claim together, before it runs them.
 */
export interface RowLoading {
  /** Select list, without the row's id. */
  columns: string;
  /** `join … on …`, with at most one match for each row. A row without a match loads nothing. */
  joins: string;
  /**
   * Condition for rows to hand off in the same round trip, because they go out as soon as they are
   * loaded. The dispatcher still has to call `Lease.handOff`, which then needs no query.
   */
  ready: string;
}

/** When and for how long the circuit breakers of a queue stop. */
export interface BreakerLimits {
  /** Number of consecutive troubles that stops the breaker. */
  troubles: number;
  /** How long it is stopped then. Each further trouble doubles the time. */
  firstStopSeconds: number;
  longestStopSeconds: number;
}

/** Where a queue is stored. */
export interface QueueTable {
  queue: QueueName;
  table: string;
  /** Column with the key of the rate gate, by which pace and concurrency are counted. */
  gateColumn: string;
  /** Further columns of a claimed row: property name → column. */
  columns: Readonly<Record<string, string>>;
  /** Whether a finished row stays and waits for its next time, as in the queue `sync`. */
  permanent?: boolean;
  /**
   * SQL assignments that the claim makes in the row `j`, such as `a = coalesce(j.a, j.b)`. Absent:
   * none.
   */
  claimSets?: string;
  /**
   * SQL condition on row `j`: a run that reports `done` ends it. Otherwise the row was extended
   * during the run: it waits again, due at once, and `Settled.next` says so. Absent: always.
   */
  endsIf?: string;
  /**
   * Limits of the circuit breaker, if rows of this queue report rate gate signals and wait while
   * their breaker is stopped. Queues without it ignore breakers: an account that cannot send for an
   * hour can still be read.
   */
  breaker?: BreakerLimits;
  /**
   * Column of a row's own deadline. No rate gate delays a row beyond it. Absent: rows have no
   * deadline.
   */
  deadlineColumn?: string;
  /**
   * Milliseconds between rows that find their rate gate full. Set it to ignore the gate's own pace,
   * which other queues share. Default: the gate's pace.
   */
  paceMs?: number;
  /**
   * True if a run changes nothing outside the database before its hand-off. If its worker loses the
   * connection before the hand-off, other workers then take the row over at once. They need not
   * wait until that worker counts as dead: if it still lives, its hand-off is refused.
   */
  noEffectBeforeHandOff?: boolean;
  /**
   * True if a run may be repeated, even while it still goes on. If its worker loses the connection,
   * other workers then take the row over at once, unless PostgreSQL has been restarted since. They
   * need not wait until that worker counts as dead. For queues without hand-offs.
   */
  repeatable?: boolean;
  /**
   * SQL of the time when a row `j` was created. After a failover, rows that were created on the new
   * server need no look-up. Absent: all due rows are looked up.
   */
  createdAt?: string;
  /**
   * Column that a failover sets on rows that it marks as `ambiguous` although the database knows of
   * no attempt. The next hand-off clears it. Absent: the queue makes no difference.
   */
  attemptAssumedColumn?: string;
  /**
   * SQL of the latest time at which a look-up of row `j` is of use. After a failover it is made by
   * then, even before its usual wait is over. Absent: it waits its full time.
   */
  lookUpBy?: string;
  /** What `Dispatcher.run` gets with the row. Absent: the queue loads nothing. */
  loading?: RowLoading;
  /**
   * SQL condition: there is work that is not in rows of the queue yet. The heartbeat then lets the
   * queue claim at once, and `Dispatcher.beforeClaim` makes the rows. Absent: all work is in rows.
   */
  unqueued?: string;
}

/**
 * Knows what the rows of one queue mean. `Row` is the claimed row, `R` the result of a run, and `L`
 * what `QueueTable.loading` loads.
 */
export interface Dispatcher<
  Row extends ClaimedRow = ClaimedRow,
  R = unknown,
  L extends object = object,
> {
  readonly table: QueueTable;
  /** How many rows run at a time in one process. */
  readonly slots: number;
  /**
   * Minimum milliseconds between two claims of a process. Rows that become due one by one are then
   * claimed together, later by at most this time. Default: 5.
   */
  readonly claimEveryMs?: number;
  /**
   * How long the result of a run waits for others while results are being written, in milliseconds.
   * Default: 40.
   */
  readonly resultsWaitMs?: number;
  /**
   * Maximum number of claimed rows that were not handed off yet. If the worker dies, these rows
   * wait until its death is noticed. Default: `slots`.
   */
  readonly mostBeforeHandOff?: number;
  /**
   * Called before each claim, outside of a transaction. Makes rows of work that is not in the queue
   * yet (`QueueTable.unqueued`). Absent: nothing.
   */
  beforeClaim?(sql: SqlConnection): Promise<void>;
  /**
   * Runs a row. Expected failures are outcomes; throw only for bugs, other surprises, and
   * `PostponedError` before the hand-off.
   * @param loaded undefined if nothing was found to load
   * @returns null if nothing was done, because the hand-off was refused or `lease.signal` was
   *   aborted. The row then goes back as if it had never been claimed.
   */
  run(row: Row, lease: Lease, loaded: L | undefined): Promise<Outcome<R> | null>;
  onError(row: Row, error: unknown): Outcome<R>;
  /**
   * Returns what to record for a row that was claimed during three deaths of its worker. Such a row
   * does not run again.
   */
  onPoison(row: Row): Outcome<R>;
  /**
   * Called first in the transaction that writes results, before the rows are locked; some of them
   * may no longer belong to this worker. Locks what other code locks before rows of this queue
   * (`test/medium/sync-locks`), or sets what triggers of this queue read. Absent: nothing.
   */
  beforeWriting?(sql: Sql, settled: readonly Settled<Row, R>[]): Promise<void>;
  /**
   * Writes what the runs did, in the transaction that settles their queue rows. It must not use the
   * network.
   */
  record(sql: Sql, settled: readonly Settled<Row, R>[]): Promise<void>;
  /**
   * Called after each run, when its result is written or will never be written. Absent: nothing.
   */
  afterWriting?(row: Row): void;
  /**
   * Records results of runs whose claims were void when they ended: their worker had stood still
   * and counts as dead, or the database failed over without the claim. Other workers may have
   * claimed the rows since, and a result may come again. Called in a transaction of its own.
   * Absent: such results are dropped.
   */
  recordFenced?(sql: Sql, fenced: readonly Settled<Row, R>[]): Promise<void>;
  /**
   * Reports rows that wait for their rate gate, each row once, in a transaction of its own. The
   * rows may have been claimed or removed since. Absent: late rows are not reported.
   */
  recordLate?(sql: Sql, late: readonly LateRow[]): Promise<void>;
}

/** A dispatcher of any queue, as a feature module provides it to the engine. */
export type AnyDispatcher = Dispatcher;
