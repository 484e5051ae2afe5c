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
  acceptSeconds: number;
  /**
   * Requests until the code of both sides is compiled. A number instead of a time, so that busy
   * machines are warm too.
   */
  acceptWarmRequests: number;
  sendMessages: number;
  engineMessages: number;
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
  /** Messages of the mirrored mailbox, and alternating rounds per side. */
  mailboxMessages: number;
  mailboxRounds: number;
  /** Mailboxes that one worker watches, and seconds of measurement. */
  watchedMailboxes: number;
  watchedSeconds: number;
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
  /** Time limit of the whole run in seconds. The run then ends with the results so far. */
  limitSeconds: number;
}

const FULL: Scale = {
  rounds: 5,
  acceptSeconds: 8,
  acceptWarmRequests: 3_000,
  sendMessages: 3_000,
  engineMessages: 30_000,
  pending: 5_000_000,
  latenessSeconds: 40,
  connectPosts: 300,
  claimSmall: 10_000,
  claimLarge: 10_000_000,
  claimsPerRound: 40,
  neighbourMessages: 30_000,
  neighbourSeconds: 30,
  idleSeconds: 60,
  mailboxMessages: 10_000,
  mailboxRounds: 3,
  watchedMailboxes: 1_000,
  watchedSeconds: 330,
  deliveries: 100,
  searchedMessages: 100_000,
  searches: 30,
  largeFiles: 50,
  readMessages: 5_000,
  readSeconds: 2,
  readWarmRequests: 1_000,
  limitSeconds: 900,
};

const QUICK: Scale = {
  rounds: 2,
  acceptSeconds: 3,
  acceptWarmRequests: 500,
  sendMessages: 1_000,
  engineMessages: 10_000,
  pending: 300_000,
  latenessSeconds: 10,
  connectPosts: 100,
  claimSmall: 10_000,
  claimLarge: 1_000_000,
  claimsPerRound: 20,
  neighbourMessages: 5_000,
  neighbourSeconds: 8,
  idleSeconds: 20,
  mailboxMessages: 2_000,
  mailboxRounds: 2,
  watchedMailboxes: 100,
  watchedSeconds: 20,
  deliveries: 20,
  searchedMessages: 10_000,
  searches: 5,
  largeFiles: 10,
  readMessages: 500,
  readSeconds: 1,
  readWarmRequests: 300,
  limitSeconds: 180,
};

/** Size of a run with these options. */
export function scaleOf(options: BenchOptions): Scale {
  const scale = options.quick ? QUICK : FULL;
  return { ...scale, mailboxMessages: options.messages ?? scale.mailboxMessages };
}

/**
 * Help text.
 * @param name npm script
 */
export const usageOf = (name: string): string => `Usage: npm run ${name} -- [options]

  --quick           fewer rounds and smaller numbers (3 minutes at most)
  --only row,row    these rows only
  --json file       writes the result as JSON
  --strict          exit code 1 when a needed value is missed
  --profile folder  writes CPU profiles of the processes (they are slower then)
  --messages n      messages of the mailbox (bench:mailbox mirror, bench:first-mirror)
  --database url    a PostgreSQL server (its user may create databases) instead of the embedded one
`;

/**
 * Parses the command line.
 * @returns the options, or 'help' if help was requested
 * @throws {TypeError} if an option is unknown
 * @throws {Error} if a row is unknown
 */
export function parseOptions(
  args: readonly string[],
  rows: readonly string[],
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
  const only = values.only?.split(',').map((key) => key.trim()) ?? null;
  const unknown = only?.filter((key) => !rows.includes(key)) ?? [];
  if (unknown.length > 0)
    throw new Error(`Unknown row ${unknown.join(', ')}. Rows: ${rows.join(', ')}`);
  const messages = values.messages === undefined ? null : Number(values.messages);
  if (messages !== null && !(Number.isInteger(messages) && messages > 0))
    throw new Error('--messages must be a whole number above 0');
  const { quick, strict, json = null, profile = null, database = null } = values;
  return { quick, strict, json, profile, database, messages, only };
}
