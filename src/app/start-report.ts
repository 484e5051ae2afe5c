import os from 'node:os';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AppConfig } from '../platform/config/app-config.ts';
import { Database } from '../platform/database/sql.ts';
import { isTraced } from '../platform/tracing/spans.ts';
import { addressOfUrl } from '../platform/database/database-hosts.ts';
import { DISPATCHERS } from '../platform/work/engine.ts';
import type { AnyDispatcher } from '../platform/work/queue/dispatcher.ts';
import { VERSION } from '../platform/base/version.ts';

/** What the log says when a process starts. */
export interface StartReport {
  lines: string[];
  /** Settings that are unusual in production. Empty outside production. */
  warnings: string[];
}

const FACTS = `
  select current_setting('server_version') as version, count(*)::int as migrations, max(name) as last
  from mikro_orm_migrations`;

interface DatabaseFacts {
  version: string;
  migrations: number;
  last: string | null;
}

/**
 * What matters about a process that starts: program, database, work, addresses, keys and limits.
 * Names no password, key or secret. Does not throw if the database is unavailable.
 */
export async function startReport(
  app: NestExpressApplication,
  config: AppConfig,
): Promise<StartReport> {
  const facts = await app
    .get(Database)
    .query<DatabaseFacts>(FACTS)
    .then(
      ([row]) => row,
      () => undefined,
    );
  const dispatchers = app.get<AnyDispatcher[]>(DISPATCHERS);
  return {
    lines: [
      programLine(config),
      databaseLine(config, facts),
      workLine(config, dispatchers),
      addressLine(config),
      keyLine(config),
      egressLine(config),
      operatorLine(config),
      observationLine(config),
    ],
    warnings: config.environment === 'production' ? warningsOf(config) : [],
  };
}

const some = (values: readonly string[], none: string): string =>
  values.length === 0 ? none : values.join(', ');

function programLine({ environment, roles, surfaces }: AppConfig): string {
  const serves = roles.includes('api') ? `; serves ${surfaces.join(' and ')}` : '';
  return `Carillon ${VERSION} on Node ${process.versions.node}, ${environment}, process ${process.pid} on ${os.hostname()}; roles ${roles.join(' and ')}${serves}`;
}

function databaseLine({ database }: AppConfig, facts: DatabaseFacts | undefined): string {
  const where = database.embedded ? 'embedded' : addressOfUrl(database.url);
  const pooling = database.transactionPooling ? ', pooled by transaction' : '';
  const pools = `at most ${database.connections} connections${pooling}`;
  if (!facts) return `database ${where}, not readable yet; ${pools}`;
  const schema = `schema up to date, ${facts.migrations} migrations, last ${facts.last ?? 'none'}`;
  return `database ${where}, PostgreSQL ${facts.version}; ${schema}; ${pools}`;
}

function workLine({ roles }: AppConfig, dispatchers: readonly AnyDispatcher[]): string {
  if (!roles.includes('worker')) return 'work: none, this process has no role worker';
  const queues = dispatchers.map(({ table, slots }) => `${table.queue} ${slots}`);
  return `work: rows at a time of each queue: ${queues.join(', ')}`;
}

function addressLine({ baseUrl, integrationsUrl, pushUrl, trustedProxies }: AppConfig): string {
  const others = Object.entries(integrationsUrl).flatMap(([region, url]) =>
    url === baseUrl ? [] : [`integrations ${region} ${url}`],
  );
  const push = pushUrl
    ? `notifications of providers at ${pushUrl}`
    : 'no notifications of providers';
  const proxies = trustedProxies === false ? 'no proxy is trusted' : 'proxies are trusted';
  return `addresses: ${[baseUrl, ...others].join(', ')}; ${push}; ${proxies}`;
}

function keyLine({ encryptionKeys }: AppConfig): string {
  const [newest] = encryptionKeys;
  return `keys: ${encryptionKeys.length} in ENCRYPTION_KEYS, new secrets are sealed with "${newest?.id ?? ''}"`;
}

function egressLine({ egressAllow, rateLimits }: AppConfig): string {
  const limit = (count: number) => (count === 0 ? 'off' : String(count));
  const { applicationPerSecond, accountPerSecond, failuresPerClient } = rateLimits;
  return (
    `outgoing requests: public addresses, and ${some(egressAllow, 'no others')}; limits per second: ` +
    `application ${limit(applicationPerSecond)}, account ${limit(accountPerSecond)}; wrong credentials per address ${limit(failuresPerClient)}`
  );
}

function operatorLine({ environment, operator, roles }: AppConfig): string {
  if (operator.port !== null)
    return `operators: console ${operator.url}/console, admin API and metrics on ${operator.host}; sign-in ${operator.oidc ? `by ${operator.oidc.issuer}` : 'by password'}`;
  return environment !== 'production' && roles.includes('api')
    ? 'operators: console, admin API and metrics on the port of the API (OPERATOR_PORT is not set)'
    : 'operators: no console, admin API and metrics here (OPERATOR_PORT is not set)';
}

function observationLine({ logLevel, metricsToken }: AppConfig): string {
  const traces = isTraced() ? 'on' : 'off';
  return `observed by: log level ${logLevel}, traces ${traces}, metrics ${metricsToken ? 'with a token' : 'without a token'}`;
}

const LOOPBACK = /^https?:\/\/(localhost|127\.|\[::1\])/;

function warningsOf(config: AppConfig): string[] {
  const { baseUrl, outbox, rateLimits, sandbox, egressAllow } = config;
  const unlimited = [
    rateLimits.applicationPerSecond === 0 && 'RATE_LIMIT_APPLICATION=0',
    rateLimits.accountPerSecond === 0 && 'RATE_LIMIT_ACCOUNT=0',
    rateLimits.failuresPerClient === 0 && 'RATE_LIMIT_FAILURES=0',
  ].filter((setting) => setting !== false);
  return [
    LOOPBACK.test(baseUrl) && `BASE_URL is ${baseUrl}, which other machines cannot open`,
    baseUrl.startsWith('http:') && !LOOPBACK.test(baseUrl) && `BASE_URL is not https: ${baseUrl}`,
    outbox.mailDomain === 'carillon.invalid' &&
      'MAIL_DOMAIN is not set: Message-IDs end with @carillon.invalid, which some spam filters mark',
    sandbox && 'SANDBOX=true: anybody with a client id can connect sandbox accounts',
    egressAllow.some((entry) => entry.endsWith('/0')) &&
      'EGRESS_ALLOW allows every address: users can reach your internal network',
    unlimited.length > 0 && `no limit on requests: ${unlimited.join(', ')}`,
  ].filter((warning) => warning !== false);
}
