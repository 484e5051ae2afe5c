import { Injectable } from '@nestjs/common';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { annotateSpan, underTrace } from '../../platform/tracing/spans.ts';
import { wakeAfterCommit } from '../../platform/work/signals.ts';
import type {
  ClaimedRow,
  Dispatcher,
  Lease,
  Outcome,
  QueueTable,
  Settled,
} from '../../platform/work/queue/dispatcher.ts';
import { databaseTrouble } from '../../platform/database/health/database-trouble.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { type CredentialsRefusal, markGrantsInvalid } from '../grants/mark-invalid.ts';
import { type ConnectedAccount, ProviderAccounts } from '../grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { BudgetExhaustedError } from '../../platform/budgets/budget-exhausted-error.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { scheduleChangedSync } from '../sync-schedule/schedule-sync.ts';
import type { JobAction } from '../../job-statuses/job-status.ts';
import { recordAttempts } from '../../job-statuses/job-attempts.ts';
import { type JobTransition, transitionJobs } from '../../job-statuses/jobs.ts';
import { decideAfterFailure, type WriteFailure } from './provider-write-policy.ts';
import { ProviderWrites, type WriteOutcome } from './provider-writes.ts';
import { notesOf } from './write-notes.ts';
import { ROW_CLAIMED, ROW_WAITING } from '../../platform/work/queue/row-state.ts';
import type { ProviderJob } from './provider-job.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

export interface ProviderWriteRow extends ClaimedRow {
  action: JobAction;
  objectId: string;
  /** The payload when the row was claimed, including later additions. */
  payload: Record<string, unknown>;
}

/** The result of a run, for `record`. */
export type WriteResult =
  /** Another write of the object must end first. Not counted as an attempt. */
  | { kind: 'waits' }
  /** One step of the write is done. Not counted as an attempt. */
  | { kind: 'continues'; store: Extract<WriteOutcome, { kind: 'continues' }>['store'] }
  /** The account has been deleted, and its queue row with it. */
  | { kind: 'gone' }
  | { kind: 'superseded'; reason: string }
  | {
      kind: 'written';
      startedAt: Date;
      endedAt: Date;
      store: Extract<WriteOutcome, { kind: 'written' }>['store'];
    }
  | {
      kind: 'failed' | 'delayed';
      startedAt: Date;
      endedAt: Date;
      failure: WriteFailure;
      reason: string;
      rule: string;
      /** The credentials used; `null` if none. */
      settingsSealed: string | null;
      /**
       * The payload used, which may contain additions from after the claim; `null` if no call was
       * made.
       */
      payload: Record<string, unknown> | null;
    };

type SettledWrite = Settled<ProviderWriteRow, WriteResult>;

/**
 * Minimum wait for another write to end, in milliseconds. A write that ends wakes the next one
 * anyway.
 */
const WAIT_MS = 500;
/** How long a write of a suspended application waits before it is looked at again. */
const SUSPENDED_WAIT_MS = 15 * 60_000;

/*
 * Finds writes of the same object that must end first: earlier open ones, and later ones that are
 * already calling the provider. Ids are created on several machines, so their order is total but
 * may differ from the order in time. Every run commits its hand-off marker before this query. So at
 * most one of two writes of an object continues: the other one sees the marker and waits. For a
 * short time both may wait.
 */
const ORDER = `
  select j.payload,
    (select max(case when o.state = ${ROW_CLAIMED} then now() else greatest(o.run_at, now()) end)
     from provider_job o
     where o.object_id = j.object_id and o.id <> j.id
       and (o.id < j.id or (o.state = ${ROW_CLAIMED} and o.handoff_at is not null))) as "behind"
  from provider_job j where j.id = $1`;

interface WriteOrder extends RowOf<ProviderJob, 'payload'> {
  /**
   * The writes that must end first cannot all have ended before this time; `null` if there are
   * none.
   */
  behind: Date | null;
}

const OUT_OF_DATE = "The account's credentials are out of date: the user has to authenticate again";

/** Waiting does not count as an attempt. */
const UNCOUNT = `update provider_job set attempt = attempt - 1 where id = any($1::uuid[]) and attempt > 0`;

/** Maximum number of steps of one write, far more than any write needs. */
const MOST_STEPS = 100;

const COUNT_STEP = `
  update provider_job
  set payload = payload || jsonb_build_object('steps', coalesce((payload ->> 'steps')::int, 0) + 1)
  where id = any($1::uuid[])`;

// Rows are locked in the order of their ids.
const NEXT_IN_LINE = `
  update provider_job set run_at = now()
  where id = any(array(
    select id from provider_job
    where state = ${ROW_WAITING} and run_at > now()
      and id in (select distinct on (object_id) id from provider_job where object_id = any($1::uuid[]) order by object_id, id)
    order by id for update))`;

function failureOf(error: unknown): WriteFailure {
  if (error instanceof ProviderError) {
    const { code, message, retryAfterSeconds, server } = error;
    const ownLimit = error instanceof BudgetExhaustedError;
    return { code, message, retryAfterSeconds, server, ownLimit };
  }
  if (error instanceof DomainError) {
    return { code: 'unsupported', message: error.message, retryAfterSeconds: null };
  }
  // A bug or an error of our own database. The engine logs the error; the client does not need to
  // see it.
  return { code: 'temporary', message: 'An unexpected error on our side', retryAfterSeconds: null };
}

/**
 * Queue `provider`: writes changes of objects to their provider. Writes of one object reach the
 * provider one at a time and in order, each with the object's current state. Modules register how
 * to perform each action (`ProviderWrites`).
 */
@Injectable()
export class ProviderWriteDispatcher implements Dispatcher<ProviderWriteRow, WriteResult> {
  readonly table: QueueTable = {
    queue: 'provider',
    table: 'provider_job',
    gateColumn: 'account_id',
    columns: {
      action: 'action',
      objectId: 'object_id',
      payload: 'payload',
      traceparent: 'traceparent',
    },
    noEffectBeforeHandOff: true,
  };
  readonly slots = 20;

  constructor(
    private readonly database: Database,
    private readonly accounts: ProviderAccounts,
    private readonly connectors: ConnectorRegistry,
    private readonly writes: ProviderWrites,
    private readonly clock: Clock,
  ) {}

  async run(row: ProviderWriteRow, lease: Lease): Promise<Outcome<WriteResult> | null> {
    const startedAt = this.clock.now();
    annotateSpan({ 'carillon.action': row.action });
    const account = await this.accounts.find(row.gateId);
    if (!account) return { next: { kind: 'done' }, result: { kind: 'gone' } };
    if (account.pause?.by === 'suspension')
      return this.#waits(new Date(startedAt.getTime() + SUSPENDED_WAIT_MS));
    if (!(await lease.handOff())) return null;
    try {
      const [order] = await this.database.query<WriteOrder>(ORDER, [row.id]);
      if (!order) return { next: { kind: 'done' }, result: { kind: 'gone' } };
      if (order.behind) return this.#waits(order.behind);
      if (account.grantStatus === 'invalid') {
        const refusal = new ProviderError('auth-invalid', OUT_OF_DATE);
        return this.#failed(row, startedAt, refusal, account, order.payload);
      }
      return await this.#perform(row, account, order.payload, startedAt);
    } catch (error) {
      // Our own database was unavailable for a short time. This is not a failure of the provider,
      // and writes may be repeated.
      if (databaseTrouble(error)) return this.#waits(startedAt, true);
      throw error;
    }
  }

  async #perform(
    row: ProviderWriteRow,
    account: ConnectedAccount,
    payload: Record<string, unknown>,
    startedAt: Date,
  ): Promise<Outcome<WriteResult>> {
    const { id: jobId, objectId } = row;
    const mayHaveRun = row.ambiguous || row.attempt > 1;
    try {
      if (Number(payload['steps'] ?? 0) >= MOST_STEPS)
        throw new ProviderError(
          'unsupported',
          `Given up: the write did not finish within ${MOST_STEPS} steps`,
        );
      const notes = notesOf(this.database, row, payload);
      const write = { jobId, objectId, payload, mayHaveRun, attempt: row.attempt, notes };
      return this.#ended(
        await this.writes.require(row.action).run(this.connectors, account, write),
        startedAt,
      );
    } catch (error) {
      if (error instanceof ProviderError || error instanceof DomainError)
        return this.#failed(row, startedAt, error, account, payload);
      throw error;
    }
  }

  onError(row: ProviderWriteRow, error: unknown): Outcome<WriteResult> {
    return this.#failed(row, this.clock.now(), error);
  }

  onPoison(row: ProviderWriteRow): Outcome<WriteResult> {
    const reason = 'quarantined: several workers crashed while they ran this write';
    return this.#failed(row, this.clock.now(), new ProviderError('unsupported', reason));
  }

  async record(sql: Sql, settled: readonly SettledWrite[]): Promise<void> {
    const at = this.clock.now();
    const waiting = settled.filter(({ result }) => isUncounted(result));
    const steps = settled
      .filter(({ result }) => result.kind === 'continues')
      .map(({ row }) => row.id);
    if (waiting.length > 0) await sql.query(UNCOUNT, [waiting.map(({ row }) => row.id)]);
    if (steps.length > 0) await sql.query(COUNT_STEP, [steps]);
    for (const { result, traceparent } of settled) {
      if (result.kind === 'written' || result.kind === 'continues')
        await underTrace(traceparent, () => result.store?.(sql, at));
    }
    for (const write of settled)
      await underTrace(write.traceparent, () => this.#correctFailed(sql, write, at));
    await markGrantsInvalid(sql, refusedCredentials(settled), at);
    const moved = await transitionJobs(sql, settled.flatMap(toMove), at);
    const attempts = settled.filter(({ row }) => moved.includes(row.id)).flatMap(toAttempt);
    await recordAttempts(sql, attempts);
    const finished = settled
      .filter(({ next }) => next.kind === 'done')
      .map(({ row }) => row.objectId);
    if (finished.length > 0) await sql.query(NEXT_IN_LINE, [finished]);
    if (finished.length + steps.length > 0) wakeAfterCommit(sql, 'provider');
  }

  /**
   * Starts a sync pass of mailboxes whose writes have ended: the mirror shows the wanted state, and
   * the provider's state decides. Sync passes and removals of accounts also lock the row of the
   * sync queue before those of this queue.
   */
  async beforeWriting(sql: Sql, settled: readonly SettledWrite[]): Promise<void> {
    const ended = settled.filter(
      ({ row, next, result }) =>
        next.kind === 'done' && result.kind !== 'gone' && this.writes.changesMail(row.action),
    );
    await scheduleChangedSync(sql, [...new Set(ended.map(({ row }) => row.gateId))]);
  }

  async #correctFailed(sql: Sql, { row, next, result }: SettledWrite, at: Date): Promise<void> {
    if (result.kind !== 'failed' || next.kind !== 'done') return;
    const { failed } = this.writes.require(row.action);
    const { id: jobId, objectId, gateId: accountId } = row;
    const { reason, failure } = result;
    const payload = result.payload ?? row.payload;
    await failed?.(sql, { jobId, objectId, payload, accountId, code: failure.code, reason }, at);
  }

  #ended(outcome: WriteOutcome, startedAt: Date): Outcome<WriteResult> {
    switch (outcome.kind) {
      case 'waits':
        return this.#waits(outcome.until);
      case 'continues':
        return {
          next: { kind: 'again', at: this.clock.now(), ambiguous: false },
          result: { kind: 'continues', store: outcome.store },
        };
      case 'superseded':
        return { next: { kind: 'done' }, result: outcome };
      case 'written':
        return {
          next: { kind: 'done' },
          result: {
            kind: 'written',
            startedAt,
            endedAt: this.clock.now(),
            store: outcome.store,
          },
        };
    }
  }

  /**
   * @param until no other write is expected to end before this time
   * @param ambiguous whether the write may have reached the provider
   */
  #waits(until: Date, ambiguous = false): Outcome<WriteResult> {
    const soon =
      Math.max(this.clock.now().getTime(), until.getTime()) + WAIT_MS * (1 + Math.random());
    return { next: { kind: 'again', at: new Date(soon), ambiguous }, result: { kind: 'waits' } };
  }

  #failed(
    row: ProviderWriteRow,
    startedAt: Date,
    error: unknown,
    account?: ConnectedAccount,
    payload: Record<string, unknown> | null = null,
  ): Outcome<WriteResult> {
    const endedAt = this.clock.now();
    const failure = failureOf(error);
    const verdict = decideAfterFailure(failure, row.attempt, endedAt, Math.random());
    const { reason, rule } = verdict;
    const settingsSealed = account?.settingsSealed ?? null;
    const evidence = { startedAt, endedAt, failure, reason, rule, settingsSealed, payload };
    return verdict.kind === 'failed'
      ? { next: { kind: 'done' }, result: { kind: 'failed', ...evidence } }
      : {
          // A write of several requests may have to wait for our own limit after some of them.
          next: {
            kind: 'again',
            at: verdict.at,
            ambiguous: failure.code === 'outcome-unknown' || failure.ownLimit === true,
          },
          result: { kind: 'delayed', ...evidence },
        };
  }
}

/** Whether the run does not count as an attempt. */
function isUncounted(result: WriteResult): boolean {
  if (result.kind === 'delayed') return result.failure.ownLimit === true;
  return result.kind === 'waits' || result.kind === 'continues';
}

/** Accounts whose provider refused the credentials. */
function refusedCredentials(settled: readonly SettledWrite[]): CredentialsRefusal[] {
  return settled.flatMap(({ row, result }) =>
    result.kind === 'failed' &&
    result.failure.code === 'auth-invalid' &&
    result.settingsSealed !== null
      ? [{ accountId: row.gateId, reason: result.reason, settingsSealed: result.settingsSealed }]
      : [],
  );
}

function toMove({ row, result, traceparent }: SettledWrite): JobTransition[] {
  switch (result.kind) {
    case 'written':
      return [{ id: row.id, to: 'successful', traceparent }];
    case 'superseded':
      return [{ id: row.id, to: 'cancelled', reason: result.reason, traceparent }];
    case 'failed':
    case 'delayed':
      return [
        {
          id: row.id,
          to: result.kind,
          reason: result.reason,
          server: result.failure.server ?? null,
          traceparent,
        },
      ];
    case 'waits':
    case 'continues':
    case 'gone':
      return [];
  }
}

function toAttempt({ row, next, result }: SettledWrite): Parameters<typeof recordAttempts>[1] {
  if (result.kind !== 'written' && result.kind !== 'failed' && result.kind !== 'delayed') return [];
  const failure = result.kind === 'written' ? null : result.failure;
  return [
    {
      id: newId(),
      jobId: row.id,
      attempt: row.attempt,
      startedAt: result.startedAt,
      endedAt: result.endedAt,
      outcome: failure ? (failure.code === 'outcome-unknown' ? 'unknown' : 'not-sent') : 'sent',
      route: null,
      phase: null,
      code: failure?.code ?? null,
      detail: failure?.message ?? null,
      server: failure?.server ?? null,
      nextAt: next.kind === 'again' ? next.at : null,
      rule: result.kind === 'written' ? null : result.rule,
    },
  ];
}
