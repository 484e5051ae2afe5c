import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { OperatorError } from '../../platform/base/errors/operator-error.ts';
import { type AppConfig, type Environment, loadConfig } from '../../platform/config/app-config.ts';
import type { EmbeddedPostgres } from '../../platform/database/embedded/embedded-postgres.ts';
import { localKeyRing } from './key-file.ts';

/** Modules that a database of one's own does not need. */
const loadEmbedded = async () => {
  const [lock, running, embedded] = await Promise.all([
    import('./instance-lock.ts'),
    import('./running-server.ts'),
    import('../../platform/database/embedded/embedded-postgres.ts'),
  ]);
  return { ...lock, ...running, ...embedded };
};

/** A database and a configuration for this machine. */
export interface LocalEnvironment {
  /** The complete configuration. Its database is running. */
  config: AppConfig;
  /**
   * Sets a listener that is called once if the embedded database ends by itself. The listener is
   * never called for a database that another process runs.
   */
  onDatabaseExit(listener: (reason: string) => void): void;
  /** Stops the embedded database if this process started it, and unlocks the data folder. */
  close(): Promise<void>;
}

export interface LocalOptions {
  /** Default: `localConfig` with the environment of the process. */
  config?: AppConfig;
  /**
   * Whether to use the database of a Carillon that is already running with the same folder. If
   * false, a running one is an error. Default true, so that operator commands work next to `npm
   * start`.
   */
  share?: boolean;
}

/** The data folder cannot be used. */
export class DataDirError extends OperatorError {
  constructor(message: string, options?: ErrorOptions) {
    super('usage', message, options);
  }
}

function makeDataDir(dataDir: string): void {
  try {
    fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    fs.accessSync(dataDir, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
  } catch (cause) {
    throw new DataDirError(
      `Cannot use the folder ${dataDir} (${(cause as NodeJS.ErrnoException).code}). Name another one: DATA_DIR=…`,
      { cause },
    );
  }
}

/**
 * Defaults of local mode: SMS are recorded instead of refused, and the terminal shows only
 * warnings.
 */
function withLocalDefaults(environment: Environment): Environment {
  const present = Object.entries(environment).filter(
    ([, value]) => value !== undefined && value !== '',
  );
  return { SMS_GATEWAY: 'recording', LOG_LEVEL: 'warn', ...Object.fromEntries(present) };
}

/**
 * The configuration of local mode. The key ring comes from ENCRYPTION_KEYS, else from a generated
 * file in DATA_DIR, which is not generated in production. Every setting is checked before anything
 * is written.
 * @throws {ConfigError} naming every wrong variable
 * @throws {DataDirError}
 */
export function localConfig(given: Environment): AppConfig {
  const environment = withLocalDefaults(given);
  const production = environment['NODE_ENV'] === 'production';
  const local = (keyRing: () => string) => ({
    databaseUrl: 'postgresql://127.0.0.1/carillon',
    ...(production || environment['ENCRYPTION_KEYS'] ? {} : { encryptionKeys: keyRing() }),
  });
  const config = loadConfig(
    environment,
    local(() => `check:${randomBytes(32).toString('base64')}`),
  );
  const dataDir = path.resolve(config.dataDir);
  if (config.database.embedded || !environment['ENCRYPTION_KEYS']) makeDataDir(dataDir);
  return {
    ...loadConfig(
      environment,
      local(() => localKeyRing(dataDir)),
    ),
    dataDir,
  };
}

/**
 * Opens the database of DATABASE_URL, else an embedded PostgreSQL with its data in DATA_DIR. Does
 * not run migrations.
 * @throws {ConfigError} naming every wrong variable
 * @throws {InstanceRunningError} if another Carillon uses the folder and `share` is false
 * @throws {EmbeddedPostgresError} if the embedded server cannot run here
 */
export async function openLocalEnvironment(options: LocalOptions = {}): Promise<LocalEnvironment> {
  const config = options.config ?? localConfig(process.env);
  const { dataDir, database } = config;
  const nothing = async (): Promise<void> => undefined;
  if (!database.embedded) return { config, onDatabaseExit: () => undefined, close: nothing };

  const { lockHolder, runningServer, startEmbeddedPostgres, takeInstanceLock } =
    await loadEmbedded();
  const folder = path.join(dataDir, 'postgres');
  if ((options.share ?? true) && lockHolder(dataDir) !== undefined) {
    const { url, release } = await runningServer(folder);
    return {
      config: { ...config, database: { ...database, url } },
      onDatabaseExit: () => undefined,
      close: async () => release(),
    };
  }
  const unlock = takeInstanceLock(dataDir);
  let server: EmbeddedPostgres;
  try {
    server = await startEmbeddedPostgres({ dataDir: folder });
  } catch (error) {
    unlock();
    throw error;
  }
  return {
    config: { ...config, database: { ...database, url: server.url } },
    onDatabaseExit: (listener) => server.onExit(listener),
    async close() {
      await server.stop();
      unlock();
    },
  };
}
