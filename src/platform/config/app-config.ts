import { z } from 'zod';
import type { EncryptionKey } from '../base/crypto/secret-box.ts';
import { isEgressAllowEntry } from '../egress/egress-policy.ts';
import { operatorMailConfig, operatorMailVariables } from './operator-mail.ts';
import { quotaConfig, quotaVariables } from './quota-config.ts';
import { smsConfig, smsVariables } from './sms-config.ts';
import { trustedProxies } from './trusted-proxies.ts';

/** Thrown at start when the environment is wrong. Names the variables, never their values. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(
      `The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    );
    this.name = 'ConfigError';
  }
}

const text = (fallback: string) => z.string().trim().min(1).default(fallback);
const integer = (fallback: number, min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be between ${min} and ${max}`)
    .default(fallback);
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
const address = z
  .string()
  .refine(
    (value) => /^https?:\/\//.test(value) && URL.canParse(value),
    'must be an http(s) address',
  )
  .transform((value) => value.replace(/\/+$/, ''));

/** The roles one process can have. */
export const ROLES = ['api', 'worker'] as const;
export type Role = (typeof ROLES)[number];

/** Regions of the integrations address (spec, introduction). */
export const REGIONS = ['us', 'eu'] as const;
export type Region = (typeof REGIONS)[number];

/** The groups of addresses one process can serve: the main API, the integrations and grants address, or both. */
export const SURFACES = ['main', 'integrations'] as const;
export type Surface = (typeof SURFACES)[number];

/**
 * Every variable Carillon reads. `docs/configuration.md` is checked against this list.
 * Empty values count as absent.
 */
export const environmentSchema = z.object({
  NODE_ENV: z.enum(['development', 'production', 'test']).default('development'),
  ROLES: list(['api', 'worker']).pipe(z.array(z.enum(ROLES, 'must be api, worker or both')).min(1)),
  SERVE: list(['main', 'integrations']).pipe(
    z.array(z.enum(SURFACES, 'must be main, integrations or both')).min(1),
  ),
  HOST: text('127.0.0.1'),
  PORT: integer(3000, 0, 65535),
  BASE_URL: address.optional(),
  INTEGRATIONS_URL_US: address.optional(),
  INTEGRATIONS_URL_EU: address.optional(),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
    .optional(),
  DATABASE_POOL: integer(10, 1, 200),
  DATA_DIR: text('.carillon'),
  INSTANCE_NAME: text('carillon').pipe(z.string().max(100, 'must have at most 100 characters')),
  ENCRYPTION_KEYS: z.string().optional(),
  EGRESS_ALLOW: entries
    .pipe(
      z.array(
        z.string().refine(isEgressAllowEntry, 'must be host names, addresses or CIDR ranges'),
      ),
    )
    .optional(),
  ISPDB_URL: address.optional(),
  TRUST_PROXY: trustedProxies,
  PUBLIC_IP_ADDRESSES: list([]).pipe(
    z.array(z.union([z.ipv4(), z.ipv6()], 'must be IP addresses')),
  ),
  MAX_BODY_BYTES: integer(10 * 1024 * 1024, 1024, 100 * 1024 * 1024),
  UNUSED_UPLOADS_MB: integer(2_048, 0, 1_000_000),
  RATE_LIMIT_APPLICATION: integer(500, 0, 1_000_000),
  RATE_LIMIT_ACCOUNT: integer(50, 0, 1_000_000),
  RATE_LIMIT_CONCURRENT: integer(5, 0, 1_000_000),
  RATE_LIMIT_FAILURES: integer(200, 0, 1_000_000),
  OUTBOX_RETRY_REJECTED: flag(false),
  OUTBOX_ON_UNKNOWN: z.enum(['resend', 'fail'], 'must be resend or fail').default('resend'),
  SEND_SLOTS: integer(192, 1, 10_000),
  SYNC_HORIZON_DAYS: integer(0, 0, 36_500),
  SYNC_SLOTS: integer(16, 1, 1_000),
  SYNC_POLL_SECONDS: integer(60, 1, 86_400),
  SYNC_POLL_WATCHED_SECONDS: integer(300, 1, 86_400),
  SYNC_WATCHES: integer(5_000, 0, 100_000),
  CONNECT_CHECKS: integer(32, 1, 10_000),
  CONNECT_CHECKS_PER_APPLICATION: integer(16, 1, 10_000),
  CONNECT_CHECKS_PER_ADDRESS: integer(8, 1, 10_000),
  CONNECT_CHECKS_PER_HOST: integer(8, 1, 10_000),
  IMAP_CONNECTIONS_PER_ACCOUNT: integer(3, 1, 100),
  IMAP_CONNECTIONS_PER_HOST: integer(200, 1, 100_000),
  ...smsVariables,
  ...quotaVariables,
  ...operatorMailVariables,
  NEURAL: flag(false),
  SANDBOX: z.enum(['true', 'false'], 'must be true or false').optional(),
  MAIL_DOMAIN: z
    .string()
    .regex(/^[a-z0-9.-]+$/i, 'must be a domain name')
    .default('carillon.invalid'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  SHUTDOWN_SECONDS: integer(25, 1, 600),
});

/** Nest token of the configuration. */
export const APP_CONFIG = Symbol('AppConfig');

function parseKeyRing(value: string, problems: string[]): EncryptionKey[] {
  return value.split(',').map((entry, index) => {
    const [id, encoded, ...rest] = entry.trim().split(':');
    const key = Buffer.from(encoded ?? '', 'base64');
    if (!id || !/^[A-Za-z0-9_-]+$/.test(id) || rest.length > 0 || key.length !== 32) {
      problems.push(`ENCRYPTION_KEYS: entry ${index + 1} must be "<id>:<base64 of 32 bytes>"`);
    }
    return { id: id ?? '', key };
  });
}

/** Variables of a process or a file. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What local mode supplies for what the environment leaves out. */
export interface LocalDefaults {
  /** The embedded database; absent when DATABASE_URL is set. */
  databaseUrl?: string;
  /** A generated key ring; absent where the operator has to name one. */
  encryptionKeys?: string;
}

function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
}

/**
 * Environment → configuration.
 * @param local set by local mode. With an embedded database loopback addresses may be called (docs/adr/0006)
 * @throws {ConfigError} naming every wrong variable
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
  const problems: string[] = [];
  const embedded = env.DATABASE_URL === undefined;
  const databaseUrl = env.DATABASE_URL ?? local.databaseUrl;
  if (!databaseUrl) {
    problems.push('DATABASE_URL: is required (npm start without it brings its own database)');
  }
  const keys = env.ENCRYPTION_KEYS ?? local.encryptionKeys;
  if (!keys) {
    problems.push(
      'ENCRYPTION_KEYS: is required (make one with: npm run carillon -- keys generate)',
    );
  }
  const encryptionKeys = keys ? parseKeyRing(keys, problems) : [];
  const sms = smsConfig(env, problems);
  const operatorMail = operatorMailConfig(env, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  const baseUrl = env.BASE_URL ?? `http://localhost:${env.PORT}`;
  return {
    environment: env.NODE_ENV,
    /** `api` answers HTTP, `worker` runs due work. */
    roles: env.ROLES,
    /** Which groups of paths this process answers; the others are 404 here. */
    surfaces: env.SERVE,
    /** Interface to listen on; loopback unless told otherwise. */
    host: env.HOST,
    /** 0 = any free port. */
    port: env.PORT,
    /** `{base_url}` of the specification, without a trailing slash. */
    baseUrl,
    /** `{integrations_url}` per region, without a trailing slash. */
    integrationsUrl: {
      us: env.INTEGRATIONS_URL_US ?? baseUrl,
      eu: env.INTEGRATIONS_URL_EU ?? baseUrl,
    },
    database: {
      /** postgres:// address; always set when the application starts. */
      url: databaseUrl ?? '',
      /** Connections of each of the three pools (requests, the ORM, the engine), at most. */
      poolSize: env.DATABASE_POOL,
      /** Whether the server was started by Carillon itself, from npm binaries. */
      embedded,
    },
    /** Folder of the embedded database and of generated keys. */
    dataDir: env.DATA_DIR,
    /** Tells installations apart whose databases look alike: one whose database knows another name does not work. */
    instanceName: env.INSTANCE_NAME,
    /** Key ring for secrets at rest, newest first. */
    encryptionKeys,
    /** Host names, addresses or CIDR ranges that outgoing requests may reach by http and although they are private. */
    egressAllow: env.EGRESS_ALLOW ?? (embedded ? ['127.0.0.0/8', '::1'] : []),
    /** Database of mail servers that is asked about domains nothing else is known of, without a trailing slash; null: none. */
    ispdbUrl: env.ISPDB_URL ?? null,
    /** Addresses that outgoing requests come from, as applications are told; empty: those of the machine. */
    publicIpAddresses: env.PUBLIC_IP_ADDRESSES,
    /** Proxies in front of this server whose `X-Forwarded-For` is believed; false: none (docs/deployment.md). */
    trustedProxies: env.TRUST_PROXY,
    /** Largest request body accepted, in bytes. */
    maxBodyBytes: env.MAX_BODY_BYTES,
    uploads: {
      /** Bytes of uploads that nothing carries, of one account; 0 = no limit. */
      mostUnusedBytes: env.UNUSED_UPLOADS_MB * 1024 * 1024,
    },
    rateLimits: {
      /** Requests per second, endpoint and application; 0 = no limit. */
      applicationPerSecond: env.RATE_LIMIT_APPLICATION,
      /** Requests per second, endpoint and account; 0 = no limit. */
      accountPerSecond: env.RATE_LIMIT_ACCOUNT,
      /** Simultaneous requests of one account to messages, threads and contacts; 0 = no limit. */
      accountConcurrent: env.RATE_LIMIT_CONCURRENT,
      /** Failed attempts to sign in from one network address within 15 minutes; 0 = no limit. */
      failuresPerClient: env.RATE_LIMIT_FAILURES,
    },
    outbox: {
      /** Whether definite rejections of recipient or content are retried until the deadline (the literal rule of spec 8). */
      retryRejected: env.OUTBOX_RETRY_REJECTED,
      /** What is done with a message of which nobody can tell whether it was sent, where the message does not say. */
      onUnknown: env.OUTBOX_ON_UNKNOWN,
      /** Messages one worker sends at a time. */
      slots: env.SEND_SLOTS,
      /** Right side of generated Message-IDs. */
      mailDomain: env.MAIL_DOMAIN,
    },
    sync: {
      /** Messages received earlier than so many days ago are not mirrored; 0 = all are. */
      horizonDays: env.SYNC_HORIZON_DAYS,
      /** Mailboxes one worker looks at at a time. */
      slots: env.SYNC_SLOTS,
      /** Time between looks at a mailbox that tells nothing by itself. */
      pollSeconds: env.SYNC_POLL_SECONDS,
      /** The same for one that is being watched: what a lost notice costs at most. */
      pollWatchedSeconds: env.SYNC_POLL_WATCHED_SECONDS,
      /** Mailboxes one worker watches, a connection each; 0 = none. */
      watches: env.SYNC_WATCHES,
    },
    /** How many accounts and services one process verifies at the same time. */
    checks: {
      perProcess: env.CONNECT_CHECKS,
      perApplication: env.CONNECT_CHECKS_PER_APPLICATION,
      perAddress: env.CONNECT_CHECKS_PER_ADDRESS,
      perHost: env.CONNECT_CHECKS_PER_HOST,
    },
    imap: {
      /** Connections of one process to the mailbox of an account, the one that watches it included; with 1 none is watched. */
      connectionsPerAccount: env.IMAP_CONNECTIONS_PER_ACCOUNT,
      /** Connections of one process to one IMAP server, those that watch not counted. */
      connectionsPerHost: env.IMAP_CONNECTIONS_PER_HOST,
    },
    /** Who delivers SMS reminders. */
    sms,
    /** The mailing service for mails of the server itself; null: it sends none. */
    operatorMail,
    /** Limits of what costs the operator money. */
    quotas: quotaConfig(env),
    /** Whether /neural is served, to applications that have the feature; otherwise it answers 403. */
    neural: env.NEURAL,
    /** Whether sandbox accounts can be connected. Connected sandbox accounts keep working if it is false. */
    sandbox: env.SANDBOX === undefined ? env.NODE_ENV !== 'production' : env.SANDBOX === 'true',
    logLevel: env.LOG_LEVEL,
    /** How long a stopping process finishes what it holds, in milliseconds. */
    shutdownMs: env.SHUTDOWN_SECONDS * 1000,
  };
}

/** The whole configuration, validated once at start; nothing else reads the environment. */
export type AppConfig = Readonly<ReturnType<typeof loadConfig>>;
