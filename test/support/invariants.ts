import type { SqlPool } from '../../src/platform/database/sql.ts';
import { databaseTrouble } from '../../src/platform/database/health/database-trouble.ts';

/*
 * Rules that hold at any time, whatever breaks. One statement checks them in one snapshot, so a
 * transition that is in progress cannot look like a violation.
 */

/** Seconds after a worker's last heartbeat by which all its claims must have been released. */
const LEFT_AFTER_SECONDS = 15;

const QUEUES = `
  select id, worker_id, state from send_job union all select id, worker_id, state from provider_job`;

const VIOLATIONS = `
  with queued as materialized (${QUEUES}),
  reported as materialized (
    select split_part(dedupe, ':', 2)::uuid as id, type, count(*) as times
    from webhook_event where dedupe like 'job:%' and type in ('job.successful', 'job.failed') group by 1, 2),
  job as materialized (
    select s.id, s.status, s.status in ('pending', 'delayed') as open,
      exists (select 1 from webhook w where w.application_id = g.application_id
              and 'job.' || s.status = any(w.triggers)) as subscribed
    from job_status s join "grant" g on g.id = s.account_id),
  found as (
    select 'an open job without a queue row' as rule, id from job where open and id not in (select id from queued)
    union all
    select 'a queue row without an open job', id from queued where id not in (select id from job where open)
    union all
    select 'a finished job without its event', j.id from job j left join reported t on t.id = j.id and t.type = 'job.' || j.status
    where j.status in ('successful', 'failed') and j.subscribed and t.id is null
    union all
    select 'an event more than once', id from reported where times > 1
    union all
    select 'an event that contradicts the status of its job', t.id from reported t join job j using (id)
    where t.type <> 'job.' || j.status)
  select (select coalesce(json_agg(distinct rule || ': ' || id), '[]') from found) as violations,
    (select count(*)::int from worker where seen_at > now() - interval '3 s') as alive,
    (select coalesce(json_agg(json_build_object(
        'id', q.id, 'worker', q.worker_id,
        'silent', extract(epoch from now() - w.seen_at))), '[]')
      from queued q left join worker w on w.id = q.worker_id
      where q.state = 1 and (w.id is null or w.seen_at < now() - interval '8 s')) as "heldByDead"`;

interface CheckResult {
  violations: string[];
  /** Workers that can release the claims of dead workers. */
  alive: number;
  /**
   * Claims of dead workers. `silent` is the number of seconds since the worker's last heartbeat, or
   * `null` if the worker has no row.
   */
  heldByDead: { id: string; worker: number; silent: number | null }[];
}

/** Checks the rules repeatedly while a test breaks things, and remembers every violation. */
export class Invariants {
  readonly #found = new Set<string>();
  /** When the claims of dead workers were first seen, by row and worker. */
  #since = new Map<string, number>();
  /** Last time when the database was unreachable or no worker was alive. */
  #mendedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | null = null;
  /** Number of checks that got a result. */
  checks = 0;

  constructor(private readonly sql: SqlPool) {}

  /** Checks every half second until `end`. */
  begin(): void {
    this.#timer = setInterval(
      () => (this.#checking ??= this.#check().finally(() => (this.#checking = null))),
      500,
    );
  }

  /** Checks one last time. @returns every violation that was ever seen, as sentences */
  async end(): Promise<string[]> {
    clearInterval(this.#timer);
    await this.#checking;
    await this.#check();
    return [...this.#found];
  }

  async #check(): Promise<void> {
    const now = performance.now();
    let result: CheckResult | undefined;
    try {
      [result] = await this.sql.query<CheckResult & object>(VIOLATIONS);
    } catch (error) {
      if (!databaseTrouble(error))
        this.#found.add(`the invariants could not be checked: ${String(error)}`);
      this.#mendedAt = performance.now();
      return;
    }
    if (!result) return;
    this.checks += 1;
    for (const violation of result.violations) this.#found.add(violation);
    if (result.alive === 0) this.#mendedAt = now;
    const since = new Map<string, number>();
    for (const { id, worker, silent } of result.heldByDead) {
      const key = `${id} ${worker}`;
      const first = this.#since.get(key) ?? now;
      since.set(key, first);
      const seconds = Math.min(silent ?? (now - first) / 1000, (now - this.#mendedAt) / 1000);
      if (seconds > LEFT_AFTER_SECONDS)
        this.#found.add(
          `a row is still claimed by a worker that died ${Math.round(seconds)} s ago: ${id}`,
        );
    }
    this.#since = since;
  }
}
