import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../base/time/clock.ts';
import { Database, type Sql } from '../database/sql.ts';
import { ApiUseCounter } from './api-use-counter.ts';
import { BudgetExhaustedError } from './budget-exhausted-error.ts';
import { bucketOf, type BudgetPriority, type BudgetShare, reserveOf } from './budget-limit.ts';
import { MailboxSlots } from './mailbox-slots.ts';
import { noteBudget } from '../metrics/budget-shares.ts';
import { budgetRefusals } from '../metrics/sync-metrics.ts';

/** How long `take` waits for units that will soon be there, in milliseconds. */
const PATIENCE_MS: Readonly<Record<BudgetPriority, number>> = {
  send: 1_000,
  interactive: 2_000,
  history: 0,
};

interface Answer {
  /** Buckets that exist. */
  found: number;
  taken: boolean;
  /** Seconds until the units are there. */
  wait: number;
  /** Seconds until the buckets that lack units are full. */
  full: number;
  /** Lowest share of a bucket that was left before, 0 to 1. */
  left: number;
}

/**
 * Rows are locked in the order of their keys, so that statements cannot deadlock. The time is read
 * when all locks are held: one that was read before a wait would let the same seconds fill a bucket
 * twice. What a crash of the database forgets, at most the last second, does not have to be flushed
 * to its disk before each request.
 */
const TAKE = `
  with wanted as (
    select * from unnest($1::text[], $2::float8[], $3::float8[], $4::float8[], $5::float8[])
      w(key, cost, capacity, per_second, reserve)
  ), locked as materialized (
    select b.key, b.tokens, b.refilled_at, b.blocked_until from provider_bucket b
    where b.key = any($1) order by b.key for update
  ), moment as materialized (
    select count(*)::int as found, clock_timestamp() as now, set_config('synchronous_commit', 'off', true) from locked
  ), state as materialized (
    select w.key, w.cost, w.capacity, w.per_second, m.now,
      least(w.capacity, l.tokens + w.per_second * greatest(0, extract(epoch from m.now - l.refilled_at))) as tokens,
      w.reserve, l.blocked_until, greatest(0, extract(epoch from l.refilled_at - m.now)) as pause
    from locked l join wanted w using (key) cross join moment m
  ), verdict as materialized (
    select m.found, greatest(0, max(extract(epoch from s.blocked_until - s.now)),
      max(s.pause + (s.cost + s.reserve - s.tokens) / s.per_second) filter (where s.cost + s.reserve > s.tokens)) as wait,
      max(s.pause + (s.capacity - s.tokens) / s.per_second) filter (where s.cost + s.reserve > s.tokens) as "full",
      min(case when s.blocked_until > s.now then 0 else s.tokens / s.capacity end) as "left"
    from moment m left join state s on true group by m.found
  ), taken as (
    update provider_bucket b
    set tokens = s.tokens - s.cost, refilled_at = s.now, blocked_until = null,
      full_at = s.now + make_interval(secs => (s.capacity - s.tokens + s.cost) / s.per_second)
    from state s cross join verdict v
    where b.key = s.key and v.found = cardinality($1) and v.wait = 0
  )
  select found, found = cardinality($1) and wait = 0 as taken, coalesce(wait, 0)::float8 as wait,
    coalesce("full", 0)::float8 as "full", coalesce("left", 1)::float8 as "left" from verdict`;

const CREATE = `
  insert into provider_bucket (key, tokens, refilled_at, full_at)
  select key, capacity, clock_timestamp(), clock_timestamp() from unnest($1::text[], $2::float8[]) n(key, capacity)
  order by key on conflict (key) do nothing`;

// The bucket starts empty after the pause: the provider has counted more than we have.
const PENALIZE = `
  insert into provider_bucket as b (key, tokens, refilled_at, blocked_until, full_at)
  select $1, 0, until, until, until + make_interval(secs => $3)
  from (select clock_timestamp() + make_interval(secs => $2) as until) n
  on conflict (key) do update set
    tokens = 0, refilled_at = greatest(b.refilled_at, excluded.refilled_at),
    blocked_until = greatest(b.blocked_until, excluded.blocked_until),
    full_at = greatest(b.full_at, excluded.full_at)`;

/**
 * Keeps our requests below the limits of a provider (docs/adr/0075). A limit is a token bucket in
 * the database, which all processes share; the time is the database's. Connectors take what a
 * request costs, in the provider's own units, right before they make it.
 */
@Injectable()
export class ProviderBudget {
  readonly #slots = new MailboxSlots();
  /** Ends of the pauses that this process has learned of, in monotonic milliseconds, by bucket. */
  readonly #pauses = new Map<string, number>();

  /** @param use what applications use of companies' APIs, and their ceilings */
  constructor(
    private readonly database: Database,
    readonly use: ApiUseCounter,
  ) {}

  /**
   * Takes all shares, or none of them. If they are there soon, waits for them: up to 1 s for
   * `send`, 2 s for `interactive`; `history` does not wait. Lower priorities leave a reserve for
   * higher ones: `interactive` a fifth of the bucket, `history` half of it.
   * @param shares with different keys; for example of the mailbox and of the application
   * @param signal ends the wait
   * @throws {BudgetExhaustedError} if the units are not there in time. Nothing was taken
   * @throws {RangeError} if a share is larger than its bucket
   */
  async take(
    shares: readonly BudgetShare[],
    priority: BudgetPriority,
    signal?: AbortSignal,
  ): Promise<void> {
    const until = monotonicMs() + PATIENCE_MS[priority];
    signal?.throwIfAborted();
    for (;;) {
      const { taken, wait, full, left } = await this.#try(shares, priority);
      const provider = providerOf(shares);
      noteBudget(provider, left);
      if (taken) return;
      signal?.throwIfAborted();
      if (monotonicMs() + wait * 1000 > until) {
        budgetRefusals.inc({ provider, priority });
        throw new BudgetExhaustedError(wait, full);
      }
      await delay(Math.ceil(wait * 1000), undefined, { signal });
    }
  }

  /**
   * Passes on that the provider wants a pause, as it says with a 429: for that time nothing is
   * taken from the bucket, by any process. Afterwards the bucket is empty and fills again. A longer
   * pause that has begun stays.
   */
  async penalize({ key, limit }: Pick<BudgetShare, 'key' | 'limit'>, seconds: number) {
    const { capacity, perSecond } = bucketOf(limit);
    const now = monotonicMs();
    for (const [other, until] of this.#pauses) if (until <= now) this.#pauses.delete(other);
    this.#pauses.set(key, Math.max(this.#pauses.get(key) ?? 0, now + seconds * 1000));
    await this.database.query(PENALIZE, [key, Math.max(0, seconds), capacity / perSecond]);
  }

  /**
   * Call it before a request whose units were taken earlier: the provider may have asked for a
   * pause since then. Only pauses that this process has recorded count.
   * @throws {BudgetExhaustedError}
   */
  assertNoPause(key: string): void {
    const left = (this.#pauses.get(key) ?? 0) - monotonicMs();
    if (left > 0) throw new BudgetExhaustedError(left / 1000);
  }

  /**
   * Runs work when the mailbox has a free slot in this process, for providers that limit how many
   * requests run at the same time. Take the budget inside, so that nothing is taken while the
   * request waits.
   * @see MailboxSlots.run
   */
  withSlot<T>(
    mailbox: string,
    most: number,
    priority: BudgetPriority,
    work: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.#slots.run(mailbox, most, priority, work, signal);
  }

  async #try(shares: readonly BudgetShare[], priority: BudgetPriority): Promise<Answer> {
    const buckets = shares.map(({ limit }) => bucketOf(limit));
    const keys = shares.map(({ key }) => key);
    const capacities = buckets.map(({ capacity }) => capacity);
    const values = [
      keys,
      shares.map(({ cost }) => cost),
      capacities,
      buckets.map(({ perSecond }) => perSecond),
      shares.map((share) => reserveOf(share, priority)),
    ];
    for (;;) {
      const [answer] = await this.database.query<Answer>(TAKE, values);
      if (!answer) throw new Error('a budget gave no answer');
      if (answer.found === keys.length) return answer;
      // Used for the first time, or full for so long that the row was deleted.
      await this.database.query(CREATE, [keys, capacities]);
    }
  }
}

/** Keys begin with the provider (`BudgetShare.key`). */
const providerOf = ([share]: readonly BudgetShare[]): string =>
  share?.key.split(':', 1)[0] ?? 'none';

/** How long a full bucket is kept, in milliseconds: an account is often asked again soon. */
const RETENTION_MS = 3_600_000;

const PRUNE = `
  delete from provider_bucket where key in (
    select key from provider_bucket where full_at < $1 and (blocked_until is null or blocked_until < $1)
    order by full_at limit 5000 for update skip locked)
  returning 1`;

/**
 * Deletes buckets that have been full for an hour, at most 5000. A missing bucket counts as full.
 * @returns the number of deleted buckets; 0 if none is left
 */
export async function pruneProviderBuckets(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [new Date(now.getTime() - RETENTION_MS)])).length;
}
