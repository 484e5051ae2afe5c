import { MikroORM } from '@mikro-orm/postgresql';
import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { databaseAddress } from '../work/workers/database-identity.ts';
import { describeDatabaseTrouble, onOpenConnection } from '../database/health/database-trouble.ts';
import { connectionTo } from '../database/database-hosts.ts';
import { refusedWrite } from '../database/health/refused-writes.ts';
import { type CheckResult, type Problem, Readiness, STOPPING } from '../work/readiness.ts';
import { Database } from '../database/sql.ts';
import { Draining } from '../http/http.module.ts';
import { MetricSources } from '../metrics/metric-sources.ts';
import type { ReadRoute } from '../database/replicas/read-database.ts';
import { checkOk } from '../metrics/database-metrics.ts';
import { ReadRoutes } from './read-routes.ts';
import type { ReadyView } from './health.schema.ts';

const ACCEPTS = `
  select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as "readOnly"`;
/** SQLSTATE of a write to a read-only database. */
const READ_ONLY = '25006';

/**
 * Registers the readiness checks that every role has. Other modules add their own checks to
 * `Readiness`.
 */
@Injectable()
export class HealthChecks implements OnModuleInit {
  readonly #log = new Logger('Health');
  readonly #problems = new Map<string, string | null>();
  #schemaSeen = false;

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly readiness: Readiness,
    private readonly database: Database,
    private readonly orm: MikroORM,
    private readonly draining: Draining,
    private readonly sources: MetricSources,
    private readonly routes: ReadRoutes,
  ) {}

  onModuleInit(): void {
    this.readiness.register(STOPPING, () => (this.draining.stopping ? 'is stopping' : null));
    this.readiness.register('database', () => this.#databaseProblem());
    this.readiness.register('schema', () => this.#schemaProblem());
    this.sources.add({
      name: 'checks',
      seconds: 0,
      metrics: [checkOk],
      read: async () => {
        const results = await this.readiness.results();
        return () => {
          for (const { name, problem } of results)
            checkOk.set({ check: name }, problem === null ? 1 : 0);
        };
      },
    });
  }

  /** @param forOperators whether the reader may see hosts of the installation */
  async report(forOperators: boolean): Promise<ReadyView> {
    const results = await this.readiness.results();
    this.#logChanges(results);
    return toReadyView(results, this.routes.route, forOperators);
  }

  /** Writes a line when a check begins to fail, fails for another reason, or succeeds again. */
  #logChanges(results: readonly CheckResult[]): void {
    for (const { name, problem, detail, isOptional } of results) {
      const before = this.#problems.get(name) ?? null;
      if (problem === before) continue;
      this.#problems.set(name, problem);
      const cause = `${name} ${problem}${detail === undefined ? '' : `: ${detail}`}`;
      if (problem === null) this.#log.log(`ready again: ${name}`);
      else this.#log.warn(isOptional ? `ready, but ${cause}` : `not ready: ${cause}`);
    }
  }

  async #databaseProblem(): Promise<Problem | string | null> {
    try {
      const [row] = await onOpenConnection(() =>
        this.database.query<{ standby: boolean; readOnly: boolean }>(ACCEPTS),
      );
      if (row?.standby !== false) return 'is a standby and accepts no writes';
      const { connectionString } = connectionTo(this.config.database.url);
      const code = row.readOnly ? READ_ONLY : refusedWrite(connectionString);
      return code === null ? null : describeDatabaseTrouble({ code });
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      const detail = `${databaseAddress(this.config)}: ${cause}`;
      return { text: describeDatabaseTrouble(error), detail };
    }
  }

  /** Checked until the schema was up to date once: a schema does not go back. */
  async #schemaProblem(): Promise<string | null> {
    if (this.#schemaSeen) return null;
    const pending = await this.orm.migrator.getPending();
    this.#schemaSeen = pending.length === 0;
    if (this.#schemaSeen) return null;
    const count = `${pending.length} ${pending.length === 1 ? 'migration' : 'migrations'}`;
    return `is behind by ${count}, from ${pending[0]?.name} on; run: carillon migrate`;
  }
}

/** Converts the results of the checks to the response. */
function toReadyView(
  results: readonly CheckResult[],
  route: ReadRoute | undefined,
  forOperators: boolean,
): ReadyView {
  return {
    status: results.every(({ problem, isOptional }) => problem === null || isOptional)
      ? 'ready'
      : 'not_ready',
    checks: results.map(({ name, problem, detail }) => ({
      name,
      ok: problem === null,
      ...(problem === null ? {} : { problem }),
      ...(forOperators && detail !== undefined ? { detail } : {}),
    })),
    ...(route && {
      reads: { from: route.from, ...(route.problem === null ? {} : { problem: route.problem }) },
    }),
  };
}
