import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import type { Clock } from '../base/time/clock.ts';
import type { Database } from '../database/sql.ts';
import { apiUnits } from '../metrics/sync-metrics.ts';
import { dayOf } from '../quotas/quota.ts';
import { ownCeilings } from './api-ceilings.ts';
import { addApiUse, usedOn } from './api-use-rows.ts';
import { isInBackground } from './background-work.ts';
import type { BudgetPriority } from './budget-limit.ts';
import { CeilingReachedError } from './ceiling-reached-error.ts';
import { type Ceilings, type CompanyApi, describeApi } from './company-api.ts';

/** What an application has used of an API in one day, as this process knows it. */
interface Count {
  applicationId: string;
  api: CompanyApi;
  day: string;
  /** Stored by all processes, when this process last wrote or read the row. */
  stored: number;
  /** Used by this process and not stored yet. */
  waiting: number;
  /** Reads `stored` once; `null` before the first reading. */
  reading: Promise<void> | null;
}

/** Rows that one statement writes. */
const TOGETHER = 1_000;

/**
 * The share of a ceiling that calls may use: older content first stops, then all background work,
 * then requests. Sends have no share: a message that is due leaves.
 */
const SHARES = { history: 0.8, background: 0.9, requests: 1 };

function shareOf(priority: BudgetPriority): number {
  if (priority === 'history') return SHARES.history;
  return isInBackground() ? SHARES.background : SHARES.requests;
}

/**
 * Counts what each application uses of companies' APIs in a day (UTC), and keeps applications below
 * their ceilings (docs/adr/0125). Calls are counted in memory. Every ten seconds each process adds
 * its counts to those of the others, in one statement. A process that is killed loses at most ten
 * seconds, and a ceiling may be exceeded by what all processes use in that time.
 */
@Injectable()
export class ApiUseCounter implements BeforeApplicationShutdown {
  readonly #log = new Logger('ApiUseCounter');
  readonly #counts = new Map<string, Count>();
  /** Ceilings of single applications; `null` before the first reading. */
  #own: Promise<ReadonlyMap<string, number>> | null = null;
  /** Stores run one after the other: two at a time would add the same counts twice. */
  #storing: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly ceilings: Ceilings,
  ) {}

  /**
   * Counts a call that is about to be made. Runs no statement.
   * @param units in what the company counts: quota units or requests
   */
  count(applicationId: string, api: CompanyApi, units: number): void {
    this.#countOf(applicationId, api).waiting += units;
    apiUnits.inc({ company: describeApi(api).company, api }, units);
  }

  /**
   * Call it before units are taken from a budget. Without a ceiling it runs no statement, except
   * for the first call of the process; otherwise the first call of a day reads what other processes
   * have counted.
   * @throws {CeilingReachedError} if the application has used its share of the ceiling
   */
  async assertBelowCeiling(
    applicationId: string,
    api: CompanyApi,
    priority: BudgetPriority,
  ): Promise<void> {
    if (priority === 'send') return;
    const own = (await this.#ownCeilings()).get(`${applicationId} ${api}`);
    const ceiling = own ?? this.ceilings[api] ?? 0;
    if (ceiling === 0) return;
    const count = this.#countOf(applicationId, api);
    count.reading ??= this.#read(count);
    await count.reading;
    const share = shareOf(priority);
    if (count.stored + count.waiting >= ceiling * share)
      throw new CeilingReachedError(
        api,
        { units: ceiling, isOwn: own !== undefined },
        share,
        this.clock.now(),
      );
  }

  /** Read with the first call, and again whenever counts are stored: operators change them. */
  #ownCeilings(): Promise<ReadonlyMap<string, number>> {
    this.#own ??= this.#readCeilings().catch((error: unknown) => {
      this.#own = null;
      throw error;
    });
    return this.#own;
  }

  async #readCeilings(): Promise<ReadonlyMap<string, number>> {
    const all = await ownCeilings(this.database);
    return new Map(all.map(({ applicationId, api, units }) => [`${applicationId} ${api}`, units]));
  }

  /**
   * Adds the counts of this process to those of all, and reads the ceilings again. What cannot be
   * stored is tried again.
   */
  async store(): Promise<void> {
    const earlier = this.#storing.catch(() => undefined);
    this.#storing = earlier.then(() => this.#store());
    await this.#storing;
  }

  async beforeApplicationShutdown(): Promise<void> {
    try {
      await this.store();
    } catch (error) {
      this.#log.warn(`the last use of companies' APIs could not be stored: ${String(error)}`);
    }
  }

  #countOf(applicationId: string, api: CompanyApi): Count {
    const day = dayOf(this.clock.now());
    const key = `${day} ${api} ${applicationId}`;
    const known = this.#counts.get(key);
    if (known) return known;
    const count = { applicationId, api, day, stored: 0, waiting: 0, reading: null };
    this.#counts.set(key, count);
    return count;
  }

  async #read(count: Count): Promise<void> {
    try {
      const stored = await usedOn(this.database, count);
      count.stored = Math.max(count.stored, stored);
    } catch (error) {
      count.reading = null;
      throw error;
    }
  }

  async #store(): Promise<void> {
    const waiting = [...this.#counts.values()].filter((count) => count.waiting > 0);
    for (let from = 0; from < waiting.length; from += TOGETHER)
      await this.#storeSome(waiting.slice(from, from + TOGETHER));
    if (this.#own) this.#own = Promise.resolve(await this.#readCeilings());
    const today = dayOf(this.clock.now());
    for (const [key, { day, waiting: left }] of this.#counts)
      if (day !== today && left === 0) this.#counts.delete(key);
  }

  async #storeSome(counts: readonly Count[]): Promise<void> {
    const given = counts.map(({ applicationId, api, day, waiting: units }) => {
      return { applicationId, api, day, units };
    });
    const totals = await addApiUse(this.database, given);
    counts.forEach((count, index) => {
      count.waiting -= given[index]?.units ?? 0;
      // An application that was deleted meanwhile has no total.
      count.stored = totals[index] ?? count.stored;
    });
  }
}
