import { parseArgs } from 'node:util';

/** How a run is made. */
export interface BenchOptions {
  /** Fewer rounds and smaller numbers: shows that everything works, proves nothing. */
  quick: boolean;
  /** Keys of the rows to measure; null: all. */
  only: readonly string[] | null;
  /** Where the result goes as JSON. */
  json: string | null;
  /** Whether a missed value makes the exit code 1. */
  strict: boolean;
  /** Folder for CPU profiles of the processes; null: none. */
  profile: string | null;
  /** A PostgreSQL server of one's own; null: the embedded one. */
  database: string | null;
}

/** How large a run is. */
export interface Scale {
  /** Alternating rounds per side. */
  rounds: number;
  acceptSeconds: number;
  /** Until the code of both sides is compiled; a number and not a time, so that busy machines get there, too. */
  acceptWarmRequests: number;
  sendMessages: number;
  engineMessages: number;
  /** Waiting rows behind the engine and the lateness. */
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
  /** Messages of the mailbox that is mirrored, and alternating rounds per side. */
  mailboxMessages: number;
  mailboxRounds: number;
  /** Mailboxes that one worker watches, and for how long that is looked at. */
  watchedMailboxes: number;
  watchedSeconds: number;
  deliveries: number;
  /** Messages of the account that is searched; others have as many together. */
  searchedMessages: number;
  /** Of each query. */
  searches: number;
  /** Files that go up, and come down, at the same time. */
  largeFiles: number;
  /** The whole run ends after this many seconds, whatever it has. */
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
  limitSeconds: 180,
};

/** The size of a run with these options. */
export function scaleOf(options: BenchOptions): Scale {
  return options.quick ? QUICK : FULL;
}

/** What `--help` says. @param name of the script */
export const usageOf = (name: string): string => `Usage: npm run ${name} -- [options]

  --quick           fewer rounds and smaller numbers (3 minutes at most)
  --only row,row    these rows only
  --json file       writes the result as JSON
  --strict          exit code 1 when a needed value is missed
  --profile folder  writes CPU profiles of the processes (they are slower then)
  --database url    a PostgreSQL server (its user may create databases) instead of the embedded one
`;

/** @throws {TypeError} when an option is not one of ours; {Error} when a row is unknown */
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
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const only = values.only?.split(',').map((key) => key.trim()) ?? null;
  const unknown = only?.filter((key) => !rows.includes(key)) ?? [];
  if (unknown.length > 0)
    throw new Error(`There is no row ${unknown.join(', ')}. There are: ${rows.join(', ')}`);
  const { quick, strict, json = null, profile = null, database = null } = values;
  return { quick, strict, json, profile, database, only };
}
