import { MikroORM } from '@mikro-orm/postgresql';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type CheckResult, Readiness } from '../work/readiness.ts';
import { Database } from '../database/sql.ts';
import { Draining } from '../http/http.module.ts';
import { MetricSources } from '../metrics/metric-sources.ts';
import { checkOk } from '../metrics/metrics.ts';
import type { ReadyView } from './health.schema.ts';

/**
 * Registers the readiness checks that every role has. Other modules add their own checks to
 * `Readiness`.
 */
@Injectable()
export class HealthChecks implements OnModuleInit {
  #schemaSeen = false;

  constructor(
    private readonly readiness: Readiness,
    private readonly database: Database,
    private readonly orm: MikroORM,
    private readonly draining: Draining,
    private readonly sources: MetricSources,
  ) {}

  onModuleInit(): void {
    this.readiness.register('process', () => (this.draining.stopping ? 'is stopping' : null));
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

  async report(): Promise<ReadyView> {
    return toReadyView(await this.readiness.results());
  }

  async #databaseProblem(): Promise<string | null> {
    const [row] = await this.database.query<{ readOnly: boolean }>(
      `select pg_is_in_recovery() as "readOnly"`,
    );
    return row?.readOnly === false ? null : 'is a standby and accepts no writes';
  }

  /** Checked until the schema was up to date once: a schema does not go back. */
  async #schemaProblem(): Promise<string | null> {
    if (this.#schemaSeen) return null;
    const pending = await this.orm.migrator.getPending();
    this.#schemaSeen = pending.length === 0;
    return this.#schemaSeen ? null : `is behind by ${pending.length} migrations`;
  }
}

/** Converts the results of the checks to the response. */
function toReadyView(results: readonly CheckResult[]): ReadyView {
  return {
    status: results.every(({ problem }) => problem === null) ? 'ready' : 'not_ready',
    checks: results.map(({ name, problem }) => ({
      name,
      ok: problem === null,
      ...(problem === null ? {} : { problem }),
    })),
  };
}
