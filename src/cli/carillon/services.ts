import { localConfig, openLocalEnvironment } from '../../app/local/environment.ts';
import { assertCurrentSchema, withDatabaseAccess } from '../../app/startup.ts';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { Clock, monotonicMs } from '../../platform/base/time/clock.ts';
import type { AppConfig } from '../../platform/config/app-config.ts';
import { Database } from '../../platform/database/sql.ts';

/** What commands work with. */
export interface OperatorServices {
  config: AppConfig;
  database: Database;
  /** The database's clock, read once at start. */
  clock: Clock;
  secretBox: SecretBox;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Maximum time that a statement of a command may run. */
const STATEMENT_MS = 60_000;

/** Counts on from an instant of the database. */
class CountingClock extends Clock {
  readonly #begun = monotonicMs();

  constructor(private readonly instant: Date) {
    super();
  }

  now(): Date {
    return new Date(this.instant.getTime() + monotonicMs() - this.#begun);
  }
}

/**
 * Opens the database of DATABASE_URL, else the embedded one of DATA_DIR, which Carillon may be
 * using at the same time. Closes it after `work`.
 * @throws {DatabaseAccessError} and the errors of `openLocalEnvironment`
 */
export async function withConfig<T>(
  environment: Environment,
  work: (config: AppConfig) => Promise<T>,
): Promise<T> {
  const local = await openLocalEnvironment({ config: localConfig(environment) });
  try {
    return await withDatabaseAccess(() => work(local.config));
  } finally {
    await local.close();
  }
}

/**
 * Runs `work` with a pool and plain services, then closes everything. Loads neither Nest nor the
 * ORM, so it starts within 0.2 s.
 * @throws {SchemaBehindError} and the errors of `withConfig`
 */
export function withServices<T>(
  environment: Environment,
  work: (services: OperatorServices) => Promise<T>,
): Promise<T> {
  return withConfig(environment, async (config) => {
    const database = new Database({
      url: config.database.url,
      // A takeover of the database needs two: one of them holds its lock.
      max: Math.max(2, Math.min(config.database.pools.requests, 4)),
      transactionPooling: config.database.transactionPooling,
      statementTimeoutMs: STATEMENT_MS,
      applicationName: 'carillon-command',
    });
    try {
      await assertCurrentSchema(database);
      const [row] = await database.query<{ now: Date }>('select clock_timestamp() as now');
      const clock = new CountingClock(row?.now ?? new Date());
      const secretBox = new SecretBox(config.encryptionKeys);
      return await work({ config, database, clock, secretBox });
    } finally {
      await database.close();
    }
  });
}
