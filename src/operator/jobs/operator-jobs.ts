import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudits } from '../../platform/audit/record-audit.ts';
import {
  ConflictError,
  InvalidInputError,
  NotFoundError,
} from '../../platform/base/errors/domain-error.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import {
  itemsOf,
  type PageOf,
  pageOf,
  pageToken,
  readPageToken,
  type TokenPage,
} from '../../platform/database/page-token.ts';
import type { Database, Sql } from '../../platform/database/sql.ts';
import type { Steered } from '../../job-statuses/steered.ts';
import type { ActionTerms } from './job-actions.ts';
import { isOpen, readFacts, readJobs } from './job-rows.ts';
import { findJobs } from './job-search.ts';
import { readTimeline } from './job-timeline.ts';
import {
  type AllowedAction,
  type BulkResult,
  JOB_ACTION_NAMES,
  type JobActionName,
  type JobDetails,
  type JobFilter,
  type JobSummary,
  type SettledOutcome,
} from './job-types.ts';
import { countBriefly, withinSeconds } from '../search/search-limit.ts';

/** The modules of all queues. Lists do not need them, so that `carillon` lists jobs at once. */
const loadActions = () => import('./job-actions.ts');

/** How long a search may take. */
const SEARCH_SECONDS = 5;
/** Jobs that one transaction changes, and those that one call handles. */
const BATCH = 200;
const MOST_OF_A_CALL = 5_000;
const SAMPLE = 10;

/** What a bulk action does. */
export interface BulkAction {
  action: JobActionName;
  filter: JobFilter;
  dryRun: boolean;
  /** Words of the operator, for the audit log, and for users if jobs are cancelled. */
  reason?: string | null | undefined;
  /** `nextPageToken` of the call before. */
  pageToken?: string | undefined;
}

/**
 * Finds jobs of all accounts, shows what is known of them, and acts on them. The only class that
 * the admin API, the command and the console use for jobs. Needs no framework.
 */
export class OperatorJobs {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * Newest first.
   * @throws {NotFoundError} if there is no such account or application
   * @throws {SearchTooBroadError} if the search takes too long
   */
  async list(filter: JobFilter, page: TokenPage): Promise<PageOf<JobSummary>> {
    const items = itemsOf(page);
    const before = cursorOf(page.pageToken);
    return this.#search(async (sql) => {
      const found = await findJobs(sql, filter, before, items + 1);
      const { items: shown, nextPageToken } = pageOf(found, items, ({ id }) => pageToken(id));
      return { items: await readJobs(sql, shown), nextPageToken };
    });
  }

  /**
   * How many jobs a list has, counted up to `MOST_COUNTED`; `null` if that takes too long.
   * @throws {NotFoundError} if there is no such account or application
   */
  count(filter: JobFilter): Promise<number | null> {
    return countBriefly(
      this.database,
      async (sql, most) => (await findJobs(sql, filter, null, most)).length,
    );
  }

  /** @throws {NotFoundError} */
  async get(id: string): Promise<JobDetails> {
    return this.#search(async (sql) => {
      const job = await this.#find(sql, id);
      const facts = await readFacts(sql, id, job.kind);
      if (!facts) throw new NotFoundError('job', id);
      const { retryLimitAt, accepted, refused, workerId, workerSeenAt, stoppedUntil } = facts;
      return {
        ...job,
        retryLimitAt,
        accepted,
        refused,
        worker: job.running && workerId !== null ? { id: workerId, seenAt: workerSeenAt } : null,
        accountClosed: stoppedUntil && { until: stoppedUntil, reason: facts.stopReason },
        timeline: await readTimeline(sql, job, facts),
        allowed: await this.#allowed(sql, job),
      };
    });
  }

  /**
   * Retries (now), cancels or releases one job.
   * @param reason words of the operator; absent or `null` for none
   * @throws {NotFoundError}
   * @throws {ConflictError} saying why the job was left alone
   */
  async act(
    actor: Actor,
    action: JobActionName,
    id: string,
    reason?: string | null,
  ): Promise<JobDetails> {
    await this.database.transaction(async (sql) => {
      const job = await this.#find(sql, id);
      const steered = await this.#act(
        sql,
        actor,
        action,
        [job],
        this.#terms(reason ?? null, false),
      );
      leftAlone(steered);
    });
    return this.get(id);
  }

  /**
   * Decides whether a message of unknown outcome was sent. Its job goes on as after a look-up with
   * this result.
   * @param reason how the operator found out; users see it
   * @throws {NotFoundError}
   * @throws {ConflictError} saying why the job was left alone
   */
  async settle(
    actor: Actor,
    id: string,
    outcome: SettledOutcome,
    reason: string,
  ): Promise<JobDetails> {
    const { settle } = await loadActions();
    await this.database.transaction(async (sql) => {
      const { kind, applicationId, accountId } = await this.#find(sql, id);
      const settlement = { outcome, why: reason, at: this.clock.now(), dryRun: false };
      leftAlone(await settle(sql, kind, id, settlement));
      await recordAudits(sql, [
        {
          actor,
          action: 'job.settle',
          target: { type: 'job', id },
          applicationId,
          accountId,
          details: { kind, outcome, reason },
        },
      ]);
    });
    return this.get(id);
  }

  /**
   * Retries, cancels or releases all jobs that match, newest first: at most 5,000 in a call, in
   * transactions of 200. A dry run changes nothing and reports the same.
   * @throws {InvalidInputError} if the filter is empty
   * @throws {NotFoundError} and {SearchTooBroadError} as `list`
   */
  async actOnAll(actor: Actor, bulk: BulkAction): Promise<BulkResult<JobSummary>> {
    const { filter, dryRun, action } = bulk;
    if (Object.values(filter).every((value) => value === undefined))
      throw new InvalidInputError('filter: name at least one condition, such as state=delayed');
    const result = { matched: 0, changed: 0, sample: [] as JobSummary[] };
    const skipped = new Map<string, number>();
    const terms = this.#terms(bulk.reason ?? null, dryRun);
    let before = cursorOf(bulk.pageToken);
    let more = true;
    while (more && result.matched < MOST_OF_A_CALL) {
      const found = await this.#search((sql) => findJobs(sql, filter, before, BATCH + 1));
      more = found.length > BATCH;
      const batch = found.slice(0, BATCH);
      before = batch.at(-1)?.id ?? before;
      const { jobs, steered } = await this.database.transaction(async (sql) => {
        const read = await readJobs(sql, batch);
        return { jobs: read, steered: await this.#act(sql, actor, action, read, terms) };
      });
      result.matched += jobs.length;
      result.changed += steered.changed.length;
      for (const { reason } of steered.skipped) skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
      const shown = jobs.filter(({ id }) => steered.changed.includes(id));
      result.sample.push(...shown.slice(0, SAMPLE - result.sample.length));
    }
    const reasons = [...skipped].map(([reason, count]) => ({ reason, count }));
    return {
      ...result,
      skipped: reasons.toSorted((a, b) => b.count - a.count),
      dryRun,
      nextPageToken: more && before !== null ? pageToken(before) : null,
    };
  }

  #terms(reason: string | null, dryRun: boolean): ActionTerms {
    return { reason, dryRun, at: this.clock.now() };
  }

  #search<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return withinSeconds(this.database, SEARCH_SECONDS, SEARCH_ADVICE, work);
  }

  async #find(sql: Sql, id: string): Promise<JobSummary> {
    const [job] = await readJobs(sql, await findJobs(sql, { id }, null, 1));
    if (!job) throw new NotFoundError('job', id);
    return job;
  }

  async #allowed(sql: Sql, job: JobSummary): Promise<AllowedAction[]> {
    const { actOn, settle } = await loadActions();
    const allowed: AllowedAction[] = [];
    for (const action of JOB_ACTION_NAMES) {
      if (isOpen(job.state) === (action === 'release')) continue;
      const { changed } = await actOn(sql, job.kind, action, [job.id], this.#terms(null, true));
      if (changed.length > 0) allowed.push(action);
    }
    const settlement = { outcome: 'sent', why: '', at: this.clock.now(), dryRun: true } as const;
    const { changed } = await settle(sql, job.kind, job.id, settlement);
    return changed.length > 0 ? [...allowed, 'settle'] : allowed;
  }

  /** Acts on jobs and records it, in one transaction. */
  async #act(
    sql: Sql,
    actor: Actor,
    action: JobActionName,
    jobs: readonly JobSummary[],
    terms: ActionTerms,
  ): Promise<Steered> {
    const { actOn } = await loadActions();
    const result: Steered = { changed: [], skipped: [] };
    for (const [kind, ofKind] of Map.groupBy(jobs, (job) => job.kind)) {
      const ids = ofKind.map(({ id }) => id).toSorted();
      const { changed, skipped } = await actOn(sql, kind, action, ids, terms);
      result.changed.push(...changed);
      result.skipped.push(...skipped);
    }
    if (terms.dryRun) return result;
    const changed = new Set(result.changed);
    const reason = terms.reason === null ? {} : { reason: terms.reason };
    const entries = jobs
      .filter(({ id }) => changed.has(id))
      .map(({ id, kind, applicationId, accountId }) => ({
        actor,
        action: `job.${action}`,
        target: { type: 'job', id },
        applicationId,
        accountId,
        details: { kind, ...reason },
      }));
    await recordAudits(sql, entries);
    return result;
  }
}

/** @throws {ConflictError} if the job was left alone */
function leftAlone({ skipped: [skipped] }: Steered): void {
  if (skipped)
    throw new ConflictError('job.not-changed', `The job was left alone: ${skipped.reason}`);
}

const SEARCH_ADVICE =
  'add account, recipient, message_id or id to the filter, or a shorter time with since and until';

function cursorOf(token: string | undefined): string | null {
  const id = readPageToken(token, ['id'])?.[0];
  return id === undefined || id === null ? null : String(id);
}
