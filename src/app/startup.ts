import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import v8 from 'node:v8';
import vm from 'node:vm';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { OperatorError } from '../platform/base/errors/operator-error.ts';
import { forTerminal } from '../platform/base/text/plain-text.ts';
import type { AppConfig } from '../platform/config/app-config.ts';
import type { TwoListeners } from '../platform/http/listeners/operator-listener.ts';
import {
  databaseTrouble,
  describeDatabaseTrouble,
} from '../platform/database/health/database-trouble.ts';
import { addressOfUrl } from '../platform/database/database-hosts.ts';
import { type Sql, SqlPool } from '../platform/database/sql.ts';
import { pendingMigrations } from './pending-migrations.ts';

/** A few names, or the number of migrations with the first and the last. */
function listed(names: readonly string[]): string {
  const [first, last] = [names.at(0), names.at(-1)];
  return names.length <= 3 ? names.join(', ') : `${names.length} from ${first} to ${last}`;
}

/** The database schema is older than the program. */
export class SchemaBehindError extends OperatorError {
  constructor(pending: readonly string[]) {
    super(
      'unavailable',
      `The database schema is behind (to run: ${listed(pending)}).\n` +
        'Run: npm run db:migrate   (in the container: node dist/src/cli/migrate.js)',
    );
  }
}

/** Another process listens on the port. */
export class PortTakenError extends OperatorError {
  /** @param variable the setting that names the port */
  constructor(port: number, variable: 'PORT' | 'OPERATOR_PORT' = 'PORT') {
    super(
      'refused',
      `Port ${port} is taken. Choose another one: ${variable}=${port === 65_535 ? 3000 : port + 1} npm start`,
    );
  }
}

/** The database cannot be reached, or refuses access. */
export class DatabaseAccessError extends OperatorError {
  /** @param url address of the database, whose host and name the message has */
  constructor(cause: Error & { code?: string }, url?: string) {
    const where =
      url === undefined ? '' : `; ${addressOfUrl(url)} ${describeDatabaseTrouble(cause)}`;
    super(
      'unavailable',
      `Cannot use the database of DATABASE_URL: ${cause.message || cause.code}${where}`,
      { cause },
    );
  }
}

/**
 * Class 08: connection; 28: authorization; 3D: no such database; 42501: missing privilege; others:
 * network errors.
 */
const NO_ACCESS = /^(08|28|3D|57P03|42501|E[A-Z]+$)/;

/**
 * @throws {DatabaseAccessError} instead of the driver's error if `work` cannot reach the database
 */
export async function withDatabaseAccess<T>(work: () => Promise<T>, url?: string): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code } = error as { code?: unknown };
    const denied = typeof code === 'string' && NO_ACCESS.test(code);
    if (error instanceof Error && (denied || databaseTrouble(error) === 'away'))
      throw new DatabaseAccessError(error, url);
    throw error;
  }
}

/** @throws {SchemaBehindError} if the database lacks migrations that this program has */
export async function assertCurrentSchema(sql: Sql): Promise<void> {
  const pending = await pendingMigrations(sql);
  if (pending.length > 0) throw new SchemaBehindError(pending);
}

const SCHEMA_STATEMENT_MS = 15_000;

/**
 * @throws {SchemaBehindError} if the database lacks migrations that this program has
 * @throws {DatabaseAccessError}
 */
export async function requireCurrentSchema({
  url,
  transactionPooling,
}: Pick<AppConfig['database'], 'url' | 'transactionPooling'>): Promise<void> {
  const sql = new SqlPool({
    url,
    max: 1,
    transactionPooling,
    statementTimeoutMs: SCHEMA_STATEMENT_MS,
    applicationName: 'carillon-start',
  });
  try {
    await withDatabaseAccess(() => assertCurrentSchema(sql), url);
  } finally {
    await sql.close();
  }
}

/** How long a starting server waits for its database. */
const DATABASE_PATIENCE_MS = 60_000;
const DATABASE_PAUSE_MS = 1_000;

/**
 * Repeats `look` for up to a minute while the database cannot be reached. After a power cut, or if
 * everything starts at once, the database is ready last.
 * @throws errors of `look`, at once if waiting would not help
 */
export async function waitForDatabase(look: () => Promise<void>): Promise<void> {
  const begun = performance.now();
  for (let tries = 0; ; tries += 1) {
    try {
      return await look();
    } catch (error) {
      const absent =
        error instanceof DatabaseAccessError && databaseTrouble(error.cause) === 'away';
      if (!absent || performance.now() - begun > DATABASE_PATIENCE_MS) throw error;
      if (tries === 0) process.stderr.write(`${error.message}; waiting up to a minute for it\n`);
    }
    await delay(DATABASE_PAUSE_MS);
  }
}

/**
 * Checks the ports before anything is started, so that the error appears at once and without other
 * output.
 * @throws {PortTakenError}
 */
export async function requireFreePort({ port, host, operator }: AppConfig): Promise<void> {
  await requireFree(port, host, 'PORT');
  if (operator.port !== null) await requireFree(operator.port, operator.host, 'OPERATOR_PORT');
}

function requireFree(port: number, host: string, variable: 'PORT' | 'OPERATOR_PORT') {
  return new Promise<void>((resolve, reject) => {
    const probe = net.createServer();
    probe.once('error', (error) => reject(asPortTaken(error, port, variable)));
    probe.listen(port, host, () => probe.close(() => resolve()));
  });
}

function asPortTaken(error: unknown, port: number, variable: 'PORT' | 'OPERATOR_PORT'): unknown {
  const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
  return isTaken ? new PortTakenError(port, variable) : error;
}

/**
 * Frees about 50 MB that were needed only for starting. An idle process creates so little garbage
 * that V8 would not free them for hours.
 */
function returnStartMemory(): void {
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc') as () => void;
  v8.setFlagsFromString('--no-expose-gc');
  collect();
}

/** @throws {PortTakenError} */
export async function listen(app: NestExpressApplication, config: AppConfig): Promise<void> {
  returnStartMemory();
  const { operator } = config;
  let operatorPort: number | null = null;
  try {
    operatorPort = await listenersOf(app).listenForOperators(operator.port ?? 0, operator.host);
  } catch (error) {
    throw asPortTaken(error, operator.port ?? 0, 'OPERATOR_PORT');
  }
  try {
    await app.listen(config.port, config.host);
  } catch (error) {
    throw asPortTaken(error, config.port, 'PORT');
  }
  // Commands import this file and must not wait for Nest to load.
  const { Logger } = await import('@nestjs/common');
  const forOperators =
    operatorPort === null ? '' : `, for operators on port ${operatorPort} of ${operator.host}`;
  const log = new Logger('Carillon');
  const { startReport } = await import('./start-report.ts');
  const { lines, warnings } = await startReport(app, config);
  for (const line of lines) log.log(line);
  for (const warning of warnings) log.warn(warning);
  log.log(`listening on ${await app.getUrl()}${forOperators} (roles: ${config.roles.join(', ')})`);
}

/** The listeners of an application from `createApp`. */
function listenersOf(app: NestExpressApplication): TwoListeners {
  return app.getHttpAdapter() as unknown as TwoListeners;
}

/**
 * Stops in order on SIGTERM, SIGINT and SIGHUP. A second signal is ignored; the time limit ends a
 * stop that hangs.
 */
export function stopOnSignals(config: AppConfig, stop: () => Promise<void>): void {
  let stopping = false;
  const onSignal = (): void => {
    if (stopping) return;
    stopping = true;
    const limit = setTimeout(() => {
      process.stderr.write('Carillon did not stop in time and was ended\n');
      process.exit(1);
    }, config.shutdownMs + 10_000);
    limit.unref();
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal);
  // The program that started this process over an IPC channel has ended.
  process.on('disconnect', onSignal);
}

/**
 * Ends the process with code 1 and prints the error. Errors that the operator can solve are printed
 * without a stack.
 */
export function fail(error: unknown): never {
  const known = error instanceof OperatorError;
  const text = error instanceof Error ? (known ? error.message : error.stack) : String(error);
  process.stderr.write(`${forTerminal(text ?? '')}\n`);
  process.exit(1);
}
