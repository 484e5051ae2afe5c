import { parseArgs } from 'node:util';

/** Options of a run. */
export interface BenchOptions {
  /**
   * Runs fewer rounds with smaller numbers. Such a run shows that everything works, but its figures
   * prove nothing.
   */
  quick: boolean;
  /** Keys of the rows to measure, or `null` for all. */
  only: readonly string[] | null;
  /** File for the result as JSON, or `null` for none. */
  json: string | null;
  /** Whether a missed value makes the exit code 1. */
  strict: boolean;
  /** Folder for CPU profiles of the processes, or `null` for none. */
  profile: string | null;
  /** URL of a PostgreSQL server, or `null` for the embedded one. */
  database: string | null;
  /** Messages of a mirrored mailbox, or `null` for the number of the scale. */
  messages: number | null;
}

/** Size of a run. */
export interface Scale {
  /** Alternating rounds per side. */
  rounds: number;
  /** How often each side of `accept` and `read` is started. Each start has one round. */
  starts: number;
  acceptSeconds: number;
  /**
   * Requests until the code of both sides is compiled. A number instead of a time, so that busy
   * machines are warm too.
   */
  acceptWarmRequests: number;
  /** Messages of a round of `send`, and before the first round, until the code is compiled. */
  sendMessages: number;
  sendWarmMessages: number;
  engineMessages: number;
  /** Events of a round of `webhooks`. Each goes to 20 webhooks. */
  webhookEvents: number;
  /** Waiting rows in the queue while the engine and the lateness are measured. */
  pending: number;
  latenessSeconds: number;
  connectPosts: number;
  /** Waiting rows of the small and the large queue whose claims are compared. */
  claimSmall: number;
  claimLarge: number;
  claimsPerRound: number;
  neighbourMessages: number;
  neighbourSeconds: number;
  idleSeconds: number;
  /** Workers on one database, the messages that are due at once, and single notifications. */
  fleetWorkers: number;
  fleetMessages: number;
  fleetNotifications: number;
  /** Seconds for which the connections of idle workers are counted. */
  fleetIdleSeconds: number;
  /** Messages of the mirrored mailbox, and alternating rounds per side. */
  mailboxMessages: number;
  mailboxRounds: number;
  /** Mailboxes that one worker watches, and seconds of measurement. */
  watchedMailboxes: number;
  watchedSeconds: number;
  /** Mailboxes that one worker polls, seconds between two polls of each, and of measurement. */
  polledMailboxes: number;
  pollSeconds: number;
  polledSeconds: number;
  /** Watches of the small and the large table whose claims are compared. */
  watchesSmall: number;
  watchesLarge: number;
  deliveries: number;
  /** Messages of the searched account. The other accounts have as many together. */
  searchedMessages: number;
  /** Repetitions of each query. */
  searches: number;
  /** Files uploaded, and then downloaded, at the same time. */
  largeFiles: number;
  /** Messages of each of the mailboxes that the row `read` reads, and seconds of a round. */
  readMessages: number;
  readSeconds: number;
  /** Requests until the code of both sides is compiled. */
  readWarmRequests: number;
  /** Time limit of one row in seconds. The row then counts as not measured. */
  rowLimitSeconds: number;
  /** Time limit of the whole run in seconds. The run then ends with the results so far. */
  limitSeconds: number;
}

const FULL: Scale = {
  rounds: 5,
  starts: 6,
  acceptSeconds: 8,
  acceptWarmRequests: 3_000,
  sendMessages: 3_000,
  sendWarmMessages: 15_000,
  engineMessages: 30_000,
  webhookEvents: 4_000,
  pending: 5_000_000,
  latenessSeconds: 40,
  connectPosts: 300,
  claimSmall: 10_000,
  claimLarge: 10_000_000,
  claimsPerRound: 40,
  neighbourMessages: 30_000,
  neighbourSeconds: 30,
  idleSeconds: 60,
  fleetWorkers: 20,
  fleetMessages: 20_000,
  fleetNotifications: 60,
  fleetIdleSeconds: 20,
  mailboxMessages: 10_000,
  mailboxRounds: 3,
  watchedMailboxes: 1_000,
  watchedSeconds: 330,
  polledMailboxes: 1_000,
  pollSeconds: 60,
  polledSeconds: 65,
  watchesSmall: 1_000,
  watchesLarge: 100_000,
  deliveries: 100,
  searchedMessages: 100_000,
  searches: 30,
  largeFiles: 50,
  readMessages: 5_000,
  readSeconds: 2,
  readWarmRequests: 3_000,
  rowLimitSeconds: 900,
  limitSeconds: 5_400,
};

const QUICK: Scale = {
  rounds: 2,
  starts: 2,
  acceptSeconds: 3,
  acceptWarmRequests: 500,
  sendMessages: 1_000,
  sendWarmMessages: 500,
  engineMessages: 10_000,
  webhookEvents: 500,
  pending: 300_000,
  latenessSeconds: 10,
  connectPosts: 100,
  claimSmall: 10_000,
  claimLarge: 1_000_000,
  claimsPerRound: 20,
  neighbourMessages: 5_000,
  neighbourSeconds: 8,
  idleSeconds: 20,
  fleetWorkers: 6,
  fleetMessages: 5_000,
  fleetNotifications: 30,
  fleetIdleSeconds: 12,
  mailboxMessages: 2_000,
  mailboxRounds: 2,
  watchedMailboxes: 100,
  watchedSeconds: 20,
  polledMailboxes: 100,
  pollSeconds: 3,
  polledSeconds: 20,
  watchesSmall: 1_000,
  watchesLarge: 20_000,
  deliveries: 20,
  searchedMessages: 10_000,
  searches: 5,
  largeFiles: 10,
  readMessages: 500,
  readSeconds: 1,
  readWarmRequests: 1_000,
  rowLimitSeconds: 180,
  limitSeconds: 1_200,
};

/** Size of a run with these options. */
export function scaleOf(options: BenchOptions): Scale {
  const scale = options.quick ? QUICK : FULL;
  return { ...scale, mailboxMessages: options.messages ?? scale.mailboxMessages };
}

/** Help text. */
export const usageOf = (parts: readonly Part[]): string => `Usage: npm run bench -- [options]

  --quick           fewer rounds and smaller numbers (20 minutes at most); keeps no figures
  --only row,row    these rows only; the name of a part stands for all its rows
  --json file       writes the result as JSON
  --strict          exit code 1 when a needed value is missed
  --profile folder  writes CPU profiles of the processes (they are slower then); keeps no figures
  --messages n      messages of the mailbox (mirror, google, microsoft); keeps no figures
  --database url    a PostgreSQL server (its user may create databases) instead of the embedded
                    one; keeps no figures

Parts and their rows:
${parts.map(({ name, rows }) => `  ${name.padEnd(13)} ${rows.map(({ key }) => key).join(' ')}`).join('\n')}

Full runs keep their figures in bench/results.json and docs/performance.md.
`;

/** A part of the bench, as the options see it. */
export interface Part {
  name: string;
  rows: readonly { key: string }[];
}

/** Whether a run with these options is full, so that its figures are kept. */
export function keepsFigures({ quick, profile, database, messages }: BenchOptions): boolean {
  return !quick && profile === null && database === null && messages === null;
}

/**
 * Parses the command line.
 * @returns the options, or 'help' if help was requested
 * @throws {TypeError} if an option is unknown
 * @throws {Error} if a row is unknown
 */
export function parseOptions(
  args: readonly string[],
  parts: readonly Part[],
): BenchOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      json: { type: 'string' },
      strict: { type: 'boolean', default: false },
      profile: { type: 'string' },
      database: { type: 'string' },
      messages: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const only = values.only === undefined ? null : keysOf(values.only.split(','), parts);
  const messages = values.messages === undefined ? null : Number(values.messages);
  if (messages !== null && !(Number.isInteger(messages) && messages > 0))
    throw new Error('--messages must be a whole number above 0');
  const { quick, strict, json = null, profile = null, database = null } = values;
  return { quick, strict, json, profile, database, messages, only };
}

/** Keys of the named rows, and of all rows of the named parts. */
function keysOf(names: readonly string[], parts: readonly Part[]): string[] {
  return names.flatMap((name) => {
    const wanted = name.trim();
    const part = parts.find((one) => one.name === wanted);
    if (part) return part.rows.map(({ key }) => key);
    if (parts.some(({ rows }) => rows.some(({ key }) => key === wanted))) return [wanted];
    const keys = parts.flatMap(({ rows }) => rows.map(({ key }) => key));
    throw new Error(
      `Unknown row ${wanted}. Parts: ${parts.map((one) => one.name).join(', ')}. Rows: ${keys.join(', ')}`,
    );
  });
}
