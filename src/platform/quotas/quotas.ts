import { Inject, Injectable, Logger } from '@nestjs/common';
import { newId } from '../base/ids/ids.ts';
import { Clock } from '../base/time/clock.ts';
import { toUnixSeconds } from '../base/time/unix-seconds.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import type { QuotaConfig } from '../config/sections/quota-config.ts';
import { columnsOf, afterCommit, Database, type Sql } from '../database/sql.ts';
import { recordChanges } from '../changes/change-log.ts';
import {
  dayOf,
  type Quota,
  QUOTA_OWNERS,
  type QuotaOwner,
  type UsedUp,
  type Use,
  windowOf,
} from './quota.ts';
import type { QuotaUse } from './quota-use.entity.ts';
import type { RowOf } from '../database/rows/row-of.ts';

/** The count of one quota for one owner today. */
interface Count {
  quota: Quota;
  per: QuotaOwner;
  ownerId: string;
  limit: number;
  /** Number of uses requested. */
  requested: number;
}

interface StoredCount extends RowOf<QuotaUse, 'id' | 'quota' | 'ownerId' | 'used'> {
  alerted: boolean;
}

/** A count whose row this transaction has locked. */
interface LockedCount extends Count, Omit<StoredCount, 'used'> {
  /** Uses counted before this transaction. */
  before: number;
  admitted: number;
  /** First account whose use this count refused; `null` if none was refused. */
  refused: string | null;
}

/** A count that has refused a use. */
type FullCount = Pick<LockedCount, 'id' | 'quota' | 'per' | 'limit' | 'refused'>;

// Rows are locked in the order of their key, so that transactions cannot deadlock. They stay
// locked until the commit, so that two transactions never start from the same count.
const COUNT = `
  insert into quota_use as q (id, quota, per, owner_id, day, used)
  select n.id, n.quota, n.per, n.owner_id, $1::date, n.requested
  from unnest($2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::int[]) n(id, quota, per, owner_id, requested)
  order by n.owner_id, n.quota
  on conflict (owner_id, quota, day) do update set used = q.used + excluded.used
  returning q.id, q.quota, q.owner_id as "ownerId", q.used, q.alerted_at is not null as alerted`;

const CORRECT = `
  update quota_use q set used = n.used from unnest($1::uuid[], $2::int[]) n(id, used) where q.id = n.id`;

const ALERT = `
  update quota_use set alerted_at = $2 where id = any($1::uuid[]) and alerted_at is null returning id`;

const FULL = `
  select q.id, q.quota, q.owner_id as "ownerId", q.used, q.alerted_at is not null as alerted from quota_use q
  where q.day = $1::date and q.quota = $2 and q.owner_id = any($3::uuid[])`;

const keyOf = ({ quota, ownerId }: { quota: Quota; ownerId: string }) => `${ownerId} ${quota}`;

/**
 * Counts operations that cost the operator money, per account, application and UTC day, and refuses
 * those beyond the limits (docs/adr/0060). The counts are exact with any number of workers: a count
 * changes in the transaction that decides.
 */
@Injectable()
export class Quotas {
  readonly #log = new Logger('Quotas');
  readonly #limits: QuotaConfig;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    this.#limits = config.quotas;
  }

  /** Whether any of these quotas has a limit. Without a limit nothing is counted. */
  limits(quotas: readonly Quota[]): boolean {
    return quotas.some((quota) => QUOTA_OWNERS.some((per) => this.#limits[quota][per] > 0));
  }

  /**
   * Counts uses that are about to be made, in the caller's transaction. That transaction must also
   * record that they were counted. The counts stay locked until its commit, so do little after this
   * call. The first refusal of a quota in a day raises an alert: the webhook `quota.reached` and a
   * warning in the log, both at the commit.
   * @returns in the order of `uses`: the limit that refuses the use, or `null` if the use was
   *   counted
   */
  async take(sql: Sql, uses: readonly Use[]): Promise<(UsedUp | null)[]> {
    const at = this.clock.now();
    const requested = this.#countsOf(uses);
    if (requested.length === 0) return uses.map(() => null);
    const locked = await lock(sql, requested, at);
    const refusals = uses.map((use) => admit(use, locked, at));
    if (refusals.every((refusal) => refusal === null)) return refusals;
    const counts = [...locked.values()];
    await sql.query(CORRECT, [
      counts.map(({ id }) => id),
      counts.map(({ before, admitted }) => before + admitted),
    ]);
    const news = counts.filter(({ refused, alerted }) => refused !== null && !alerted);
    if (news.length > 0) await this.#alert(sql, news, uses, at);
    return refusals;
  }

  /**
   * Checks whether a quota is used up, without counting a use. If it is, the caller must refuse the
   * request: the check counts as a refusal, and the first refusal in a day raises the alert.
   * @returns the limit that is used up, or `null` if none is
   */
  async usedUp(quota: Quota, accountId: string, applicationId: string): Promise<UsedUp | null> {
    const at = this.clock.now();
    const use = { accountId, applicationId, quotas: [quota] };
    const counts = this.#countsOf([use]);
    if (counts.length === 0) return null;
    const owners = counts.map(({ ownerId }) => ownerId);
    const rows = await this.database.query<StoredCount>(FULL, [dayOf(at), quota, owners]);
    const stored = new Map(rows.map((row) => [keyOf(row), row]));
    for (const { per, limit, ownerId } of counts) {
      const row = stored.get(keyOf({ quota, ownerId }));
      if (!row || row.used < limit) continue;
      const refused = { id: row.id, quota, per, limit, refused: accountId };
      if (!row.alerted)
        await this.database.transaction((sql) => this.#alert(sql, [refused], [use], at));
      return { quota, per, limit, until: windowOf(at).end };
    }
    return null;
  }

  /** The counts that have a limit, each once, with the number of uses requested. */
  #countsOf(uses: readonly Use[]): Count[] {
    const counts = new Map<string, Count>();
    for (const use of uses)
      for (const quota of use.quotas)
        for (const per of QUOTA_OWNERS) {
          const limit = this.#limits[quota][per];
          const ownerId = ownerOf(use, per);
          const count = counts.get(keyOf({ quota, ownerId })) ?? {
            quota,
            per,
            ownerId,
            limit,
            requested: 0,
          };
          count.requested += 1;
          if (limit > 0) counts.set(keyOf(count), count);
        }
    return [...counts.values()];
  }

  /**
   * Raises one alert for each count, even if several transactions find it full at the same time.
   */
  async #alert(
    sql: Sql,
    counts: readonly FullCount[],
    uses: readonly Use[],
    at: Date,
  ): Promise<void> {
    const rows = await sql.query<{ id: string }>(ALERT, [counts.map(({ id }) => id), at]);
    const first = new Set(rows.map(({ id }) => id));
    const { start, end } = windowOf(at);
    const applications = new Map(
      uses.map(({ accountId, applicationId }) => [accountId, applicationId]),
    );
    const news = counts.filter(({ id }) => first.has(id));
    const changes = news.flatMap(({ id, quota, per, limit, refused: accountId }) => {
      const applicationId = accountId === null ? undefined : applications.get(accountId);
      if (accountId === null || applicationId === undefined) return [];
      const attributes = {
        quota,
        per,
        limit,
        window_start: toUnixSeconds(start),
        window_end: toUnixSeconds(end),
      };
      const webhook = { trigger: 'quota.reached', dedupe: `quota:${id}`, attributes } as const;
      return [
        {
          applicationId,
          accountId,
          object: 'quota',
          objectId: id,
          event: 'modify',
          at,
          webhook,
        } as const,
      ];
    });
    await recordChanges(sql, changes);
    afterCommit(sql, () => {
      for (const { applicationId, accountId, webhook } of changes) {
        const { quota, per, limit } = webhook.attributes;
        this.#log.warn(
          `the quota "${quota}" per ${per} and day (${limit}) is used up by application ${applicationId}, account ${accountId}; further uses are refused until ${end.toISOString()}`,
        );
      }
    });
  }
}

function ownerOf({ accountId, applicationId }: Use, per: QuotaOwner): string {
  return per === 'account' ? accountId : applicationId;
}

/** Adds the requested uses to the counts and locks their rows. */
async function lock(
  sql: Sql,
  requested: readonly Count[],
  at: Date,
): Promise<Map<string, LockedCount>> {
  const rows = await sql.query<StoredCount>(COUNT, [
    dayOf(at),
    requested.map(() => newId()),
    ...columnsOf(requested, 'quota', 'per', 'ownerId'),
    requested.map((count) => count.requested),
  ]);
  const stored = new Map(rows.map((row) => [keyOf(row), row]));
  return new Map(
    requested.map((count) => {
      const row = stored.get(keyOf(count));
      if (!row) throw new Error('a row that was written was not returned');
      const { id, alerted, used } = row;
      return [
        keyOf(count),
        { ...count, id, alerted, before: used - count.requested, admitted: 0, refused: null },
      ];
    }),
  );
}

/** Counts the use in all of its counts, or in none if one of them is full. */
function admit(use: Use, locked: ReadonlyMap<string, LockedCount>, at: Date): UsedUp | null {
  const counts = use.quotas.flatMap((quota) =>
    QUOTA_OWNERS.flatMap((per) => locked.get(keyOf({ quota, ownerId: ownerOf(use, per) })) ?? []),
  );
  const full = counts.find(({ before, admitted, limit }) => before + admitted >= limit);
  if (full) {
    full.refused ??= use.accountId;
    return { quota: full.quota, per: full.per, limit: full.limit, until: windowOf(at).end };
  }
  for (const count of counts) count.admitted += 1;
  return null;
}

/** How long counts are kept. Carillon itself uses only the counts of the current day. */
const RETENTION_MS = 31 * 86_400_000;

const PRUNE = `
  delete from quota_use where id in (
    select id from quota_use where day < $1::date order by day limit 5000 for update skip locked)
  returning 1`;

/**
 * Deletes counts older than 31 days, at most 5000. Safe to run at any time and in several
 * processes.
 * @returns the number of deleted counts; 0 if none is left
 */
export async function pruneQuotaUse(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [dayOf(new Date(now.getTime() - RETENTION_MS))])).length;
}
