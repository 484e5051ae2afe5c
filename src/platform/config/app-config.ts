import { z } from 'zod';
import { address, companyAddresses, companyVariables } from './company-addresses.ts';
import { OperatorError } from '../base/errors/operator-error.ts';
import { isEgressAllowEntry } from '../egress/egress-policy.ts';
import { operatorConfig, operatorVariables } from './sections/operator-config.ts';
import { LOG_LEVELS } from '../base/log-level.ts';
import { operatorMailConfig, operatorMailVariables } from './sections/operator-mail.ts';
import { budgetConfig, budgetVariables } from './sections/budget-config.ts';
import { databaseConfig, databaseVariables } from './sections/database-config.ts';
import { defaultEgressAllow } from './egress-allow.ts';
import { renamedVariables } from './renamed-variables.ts';
import { objectsVariables } from './sections/objects-config.ts';
import { quotaConfig, quotaVariables } from './sections/quota-config.ts';
import { smsConfig, smsVariables } from './sections/sms-config.ts';
import { parseKeyRing } from './key-ring.ts';
import { pushUrl } from './push-url.ts';
import { tlsConfig, tlsVariables } from './sections/tls-config.ts';
import { trustedProxies } from './trusted-proxies.ts';
import { wholeNumber } from './whole-number.ts';

/**
 * Thrown at start if the environment is not valid. Its message names the variables, never their
 * values.
 */
export class ConfigError extends OperatorError {
  constructor(readonly problems: readonly string[]) {
    super(
      'usage',
      `The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    );
  }
}

const text = (fallback: string) => z.string().trim().min(1).default(fallback);
const integer = (fallback: number, min: number, max: number) =>
  wholeNumber(min, max).default(fallback);
const flag = (fallback: boolean) =>
  z
    .enum(['true', 'false'], 'must be true or false')
    .transform((value) => value === 'true')
    .default(fallback);
const entries = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean),
);
const list = (fallback: string[]) => entries.default(fallback);
/** Roles that one process can have. */
export const ROLES = ['api', 'worker'] as const;
export type Role = (typeof ROLES)[number];

export { type Region, REGIONS } from './regions.ts';

/**
 * The groups of paths that one process can serve: the main API, and the paths of integrations and
 * grants.
 */
export const SURFACES = ['main', 'integrations'] as const;
export type Surface = (typeof SURFACES)[number];

/**
 * Every variable that Carillon reads. A test compares `docs/configuration.md` with this list. An
 * empty value counts as absent.
 */
export const environmentSchema = z.object({
  NODE_ENV: z.enum(['development', 'production', 'test']).default('development'),
  ROLES: list(['api', 'worker']).pipe(
    z.array(z.enum(ROLES, 'must be api, worker or api,worker')).min(1),
  ),
  SERVE: list(['main', 'integrations']).pipe(
    z.array(z.enum(SURFACES, 'must be main, integrations or main,integrations')).min(1),
  ),
  HOST: text('127.0.0.1'),
  PORT: integer(3000, 0, 65535),
  ...tlsVariables,
  BASE_URL: address.optional(),
  INTEGRATIONS_URL_US: address.optional(),
  INTEGRATIONS_URL_EU: address.optional(),
  PUSH_URL: z
    .union([z.literal('off'), address], 'must be off, or an address that starts with https://')
    .optional(),
  ...databaseVariables,
  DATA_DIR: text('.carillon'),
  INSTANCE_NAME: text('carillon').pipe(z.string().max(100, 'must be at most 100 characters long')),
  ENCRYPTION_KEYS: z.string().optional(),
  EGRESS_ALLOW: entries
    .pipe(
      z.array(
        z
          .string()
          .refine(
            isEgressAllowEntry,
            'must be host names, IP addresses or CIDR ranges, separated by commas',
          ),
      ),
    )
    .optional(),
  ISPDB_URL: address.optional(),
  TRUST_PROXY: trustedProxies,
  PUBLIC_IP_ADDRESSES: list([]).pipe(
    z.array(z.union([z.ipv4(), z.ipv6()], 'must be IP addresses, separated by commas')),
  ),
  STRICT_REQUESTS: flag(false),
  MAX_BODY_BYTES: integer(10 * 1024 * 1024, 1024, 100 * 1024 * 1024),
  UNUSED_UPLOADS_MB: integer(2_048, 0, 1_000_000),
  RATE_LIMIT_APPLICATION: integer(500, 0, 1_000_000),
  RATE_LIMIT_ACCOUNT: integer(50, 0, 1_000_000),
  RATE_LIMIT_CONCURRENT: integer(5, 0, 1_000_000),
  RATE_LIMIT_FAILURES: integer(200, 0, 1_000_000),
  OUTBOX_RETRY_REJECTED: flag(false),
  OUTBOX_ON_UNKNOWN: z.enum(['resend', 'fail'], 'must be resend or fail').default('resend'),
  SEND_SLOTS: integer(192, 1, 10_000),
  SEND_PER_HOST: integer(0, 0, 10_000),
  SYNC_HORIZON_DAYS: integer(0, 0, 36_500),
  SYNC_SLOTS: integer(16, 1, 1_000),
  SYNC_POLL_SECONDS: integer(60, 1, 86_400),
  SYNC_POLL_WATCHED_SECONDS: integer(300, 1, 86_400),
  SYNC_POLL_QUIET_FACTOR: integer(3, 1, 100),
  SYNC_WATCHES: integer(5_000, 0, 100_000),
  SYNC_AUDIT_SECONDS: integer(3_600, 0, 604_800),
  SYNC_AUDIT_RECENT_DAYS: integer(7, 1, 365),
  SYNC_AUDIT_FULL_DAYS: integer(7, 1, 365),
  CONNECT_CHECKS: integer(32, 1, 10_000),
  CONNECT_CHECKS_PER_APPLICATION: integer(16, 1, 10_000),
  CONNECT_CHECKS_PER_ADDRESS: integer(8, 1, 10_000),
  CONNECT_CHECKS_PER_HOST: integer(8, 1, 10_000),
  IMAP_CONNECTIONS_PER_ACCOUNT: integer(3, 1, 100),
  IMAP_CONNECTIONS_PER_HOST: integer(200, 1, 100_000),
  ...companyVariables,
  ...smsVariables,
  ...quotaVariables,
  ...budgetVariables,
  ...operatorMailVariables,
  ...operatorVariables,
  ...objectsVariables,
  AUDIT_LOG_DAYS: integer(400, 30, 36_500),
  NEURAL: flag(false),
  SANDBOX: z.enum(['true', 'false'], 'must be true or false').optional(),
  MAIL_DOMAIN: z
    .string()
    .regex(/^[a-z0-9.-]+$/i, 'must be a domain name')
    .default('carillon.invalid'),
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  SHUTDOWN_SECONDS: integer(25, 1, 600),
  METRICS_TOKEN: z
    .string()
    .regex(/^[!-~]{16,200}$/, 'must be 16 to 200 characters without spaces')
    .optional(),
});

/** Nest token of the configuration. */
export const APP_CONFIG = Symbol('AppConfig');

/** Environment variables by name, from a process or a file. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Values of local mode (`npm start`) for variables that the environment does not set. */
export interface LocalDefaults {
  /** URL of the embedded database; absent if `DATABASE_URL` is set. */
  databaseUrl?: string;
  /** A generated key ring; absent if the operator must set `ENCRYPTION_KEYS`. */
  encryptionKeys?: string;
}

function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
}

/**
 * Builds the configuration from the environment.
 * @param local values from local mode. With an embedded database, outgoing requests may reach more
 *   addresses (`defaultEgressAllow`)
 * @throws {ConfigError} naming every variable with a wrong value, or, if all values are right,
 *   every variable that is missing
 */
export function loadConfig(environment: Environment, local: LocalDefaults = {}) {
  const present = withoutEmpty(environment);
  const parsed = environmentSchema.safeParse(present);
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map((issue) => `${String(issue.path[0])}: ${issue.message}`),
    );
  }
  const env = parsed.data;
  const problems = renamedVariables(present);
  const embedded = env.DATABASE_URL === undefined;
  const databaseUrl = env.DATABASE_URL ?? local.databaseUrl;
  if (!databaseUrl) {
    problems.push(
      'DATABASE_URL: is required (npm start without it runs its own embedded database)',
    );
  }
  const keys = env.ENCRYPTION_KEYS ?? local.encryptionKeys;
  if (!keys) {
    problems.push(
      'ENCRYPTION_KEYS: is required (generate one with: npm run carillon -- keys generate)',
    );
  }
  const encryptionKeys = keys ? parseKeyRing(keys, problems) : [];
  const database = databaseConfig(env, env.ROLES, problems);
  const sms = smsConfig(env, problems);
  const operatorMail = operatorMailConfig(env, problems);
  const budgets = budgetConfig(env, problems);
  const tls = tlsConfig(env, problems);
  const push = pushUrl(env, problems);
  const baseUrl = env.BASE_URL ?? `${tls ? 'https' : 'http'}://localhost:${env.PORT}`;
  const operator = operatorConfig(env, { baseUrl, tls }, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    environment: env.NODE_ENV,
    /** `api` serves HTTP, `worker` runs due work. */
    roles: env.ROLES,
    /** Groups of paths that this process serves. All other paths return 404 here. */
    surfaces: env.SERVE,
    /** Interface to listen on. Default: loopback. */
    host: env.HOST,
    /** Port to listen on; 0 = any free port. */
    port: env.PORT,
    /** Files of the server's TLS certificate; `null` = the server speaks plain HTTP. */
    tls,
    /** Public address of the main API, without a trailing slash. */
    baseUrl,
    /** Public address of integrations and grants for each region, without a trailing slash. */
    integrationsUrl: {
      us: env.INTEGRATIONS_URL_US ?? baseUrl,
      eu: env.INTEGRATIONS_URL_EU ?? baseUrl,
    },
    /**
     * Public https address at which providers notify this server of changes, without a trailing
     * slash; `null` = there is none, and polling finds the changes.
     */
    pushUrl: push,
    database: {
      /** `postgres://` URL; always set once the application starts. */
      url: databaseUrl ?? '',
      ...database,
      /** True if Carillon itself started the database server, from npm binaries. */
      embedded,
    },
    /** Folder of the embedded database and of generated encryption keys. */
    dataDir: env.DATA_DIR,
    /**
     * Name of this installation. A worker refuses to run if the database was claimed under a
     * different name (docs/adr/0022).
     */
    instanceName: env.INSTANCE_NAME,
    /** Keys that encrypt stored secrets, newest first. */
    encryptionKeys,
    /**
     * Host names, addresses or CIDR ranges that outgoing requests may reach over plain http and
     * even if they are private.
     */
    egressAllow: env.EGRESS_ALLOW ?? defaultEgressAllow(env, { embedded, baseUrl }),
    /**
     * Base address of a database of mail servers (Thunderbird's ISPDB), without a trailing slash.
     * Carillon queries it if it finds the mail servers of a domain in no other way. `null` = none.
     */
    ispdbUrl: env.ISPDB_URL ?? null,
    /** Addresses of Google and Microsoft. */
    companies: companyAddresses(env),
    /**
     * IP addresses of outgoing requests, as `GET /a/{client_id}/ip_addresses` lists them; empty =
     * the machine's own addresses.
     */
    publicIpAddresses: env.PUBLIC_IP_ADDRESSES,
    /**
     * Proxies in front of the main listener whose `X-Forwarded-For` is trusted; `false` = none
     * (docs/network.md). The operators' listener has a setting of its own.
     */
    trustedProxies: env.TRUST_PROXY,
    /** Whether a request with an unknown query parameter or field is refused, not reported. */
    strictRequests: env.STRICT_REQUESTS,
    /** Maximum size of a request body, in bytes. */
    maxBodyBytes: env.MAX_BODY_BYTES,
    uploads: {
      /**
       * Maximum total bytes of one account's uploads that no draft or message uses; 0 = no limit.
       */
      mostUnusedBytes: env.UNUSED_UPLOADS_MB * 1024 * 1024,
    },
    rateLimits: {
      /** Requests per second to one endpoint from one application; 0 = no limit. */
      applicationPerSecond: env.RATE_LIMIT_APPLICATION,
      /** Requests per second to one endpoint from one account; 0 = no limit. */
      accountPerSecond: env.RATE_LIMIT_ACCOUNT,
      /** Simultaneous requests of one account to messages, threads and contacts; 0 = no limit. */
      accountConcurrent: env.RATE_LIMIT_CONCURRENT,
      /** Failed attempts to sign in from one network address within 15 minutes; 0 = no limit. */
      failuresPerClient: env.RATE_LIMIT_FAILURES,
    },
    outbox: {
      /**
       * True if a message is retried until its deadline even after a definite rejection of its
       * recipient or content. False: such a message fails at once.
       */
      retryRejected: env.OUTBOX_RETRY_REJECTED,
      /**
       * What to do after an unknown outcome, if the message does not decide it: `resend` sends the
       * message again, `fail` gives it up.
       */
      onUnknown: env.OUTBOX_ON_UNKNOWN,
      /** Number of messages that one worker sends at the same time. */
      slots: env.SEND_SLOTS,
      /** How many of them go to one mail server, at least 1. */
      perHost: env.SEND_PER_HOST || Math.ceil(env.SEND_SLOTS / 2),
      /** Domain of generated Message-IDs, the part after the `@`. */
      mailDomain: env.MAIL_DOMAIN,
    },
    sync: {
      /**
       * Messages received more than this many days ago are not mirrored; 0 = all messages are
       * mirrored.
       */
      horizonDays: env.SYNC_HORIZON_DAYS,
      /** Number of mailboxes that one worker syncs at the same time. */
      slots: env.SYNC_SLOTS,
      /** Seconds between two sync passes of a mailbox without a watch. */
      pollSeconds: env.SYNC_POLL_SECONDS,
      /** Seconds between two sync passes of a watched mailbox. */
      pollWatchedSeconds: env.SYNC_POLL_WATCHED_SECONDS,
      /**
       * How many times longer these intervals may become for an account that does not change; 1 =
       * never. A change whose notification was lost appears after that time at the latest.
       */
      pollQuietFactor: env.SYNC_POLL_QUIET_FACTOR,
      /**
       * Maximum number of mailboxes that one worker watches, with one connection each; 0 = none.
       */
      watches: env.SYNC_WATCHES,
      audit: {
        /**
         * Seconds between two audits of the recent messages of a mailbox; 0 = mailboxes are not
         * audited, and calendars and contacts only if a list of them lacks something.
         */
        seconds: env.SYNC_AUDIT_SECONDS,
        /** Messages received in this many days are recent. */
        recentDays: env.SYNC_AUDIT_RECENT_DAYS,
        /** Days between two audits of a whole mailbox. */
        fullDays: env.SYNC_AUDIT_FULL_DAYS,
      },
    },
    /**
     * How many accounts, mailing services and conferencing services one process verifies at the
     * same time. Further requests get 429.
     */
    checks: {
      /** In all. */
      perProcess: env.CONNECT_CHECKS,
      /** For one application. */
      perApplication: env.CONNECT_CHECKS_PER_APPLICATION,
      /** For one client address, counting only requests without a client secret. */
      perAddress: env.CONNECT_CHECKS_PER_ADDRESS,
      /** At one mail server. */
      perHost: env.CONNECT_CHECKS_PER_HOST,
    },
    imap: {
      /**
       * Maximum connections of one process to one account's mailbox, including the connection that
       * watches it. With 1, no mailbox is watched.
       */
      connectionsPerAccount: env.IMAP_CONNECTIONS_PER_ACCOUNT,
      /**
       * Maximum connections of one process to one IMAP server, not counting the connections that
       * watch.
       */
      connectionsPerHost: env.IMAP_CONNECTIONS_PER_HOST,
    },
    /** The gateway that delivers SMS reminders. */
    sms,
    /** Days after which entries of the audit log are deleted. */
    auditLogDays: env.AUDIT_LOG_DAYS,
    /** Where operators reach this process, and how they sign in. */
    operator,
    /** Mail server for the server's own mails; `null` = Carillon sends none. */
    operatorMail,
    /** Quotas on operations that cost the operator money. */
    quotas: quotaConfig(env),
    /** Limits of providers that our requests stay below. */
    budgets,
    objects: {
      /** The object store of bodies; `null` = all bodies are in the database. */
      store: env.OBJECTS_URL ?? null,
      /** Whether new bodies go to the store. If false, the bodies that are there stay there. */
      writes: env.OBJECTS_WRITE,
      /** Stored bodies of at least this many bytes go to the object store. */
      minBytes: env.OBJECTS_MIN_BYTES,
      /** Objects that no row names are kept for this many days, for backups that name them. */
      keepDays: env.OBJECTS_KEEP_DAYS,
    },
    /**
     * True if `/neural` serves applications that have the feature `neural`. Otherwise it returns
     * 403.
     */
    neural: env.NEURAL,
    /**
     * True if sandbox accounts can be connected. Sandbox accounts that are already connected keep
     * working if it is false.
     */
    sandbox: env.SANDBOX === undefined ? env.NODE_ENV !== 'production' : env.SANDBOX === 'true',
    logLevel: env.LOG_LEVEL,
    /** Time that a stopping process has to finish its claimed work, in milliseconds. */
    shutdownMs: env.SHUTDOWN_SECONDS * 1000,
    /** Token that requests for `/metrics` must have; `null` = they need none. */
    metricsToken: env.METRICS_TOKEN ?? null,
  };
}

/** The whole configuration. It is validated once at start; no other code reads the environment. */
export type AppConfig = Readonly<ReturnType<typeof loadConfig>>;
