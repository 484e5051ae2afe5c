/**
 * `away`: the database cannot be reached, is starting or stopping, or has no capacity. `busy`: the
 * statement conflicted with another transaction, or a time limit was reached. Both are temporary.
 */
export type DatabaseTrouble = 'away' | 'busy';

/** Connection exceptions, insufficient resources, operator intervention, read-only standby. */
const AWAY = /^(08|53|57P|25006)/;
/** Serialization failure, deadlock, lock not available, cancelled by a time limit. */
const BUSY = /^(40001|40P01|55P03|57014)$/;
/** Not of the driver: the server was replaced by another one (`timelines.ts`). */
export const OLD_TIMELINE = 'OLD_TIMELINE';
/** Not of the driver: no commit would end, so none was begun (`commit-waits.ts`). */
export const COMMITS_WAIT = 'COMMITS_WAIT';
/** Not of the driver: no standby has confirmed a commit in time (`commit-waits.ts`). */
export const UNCONFIRMED = 'UNCONFIRMED';
const OWN_CODES = [OLD_TIMELINE, COMMITS_WAIT, UNCONFIRMED];
/** SQLSTATE of a server that has no connection left. */
export const TOO_MANY_CONNECTIONS = '53300';
const NETWORK = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
];

/** Errors of the driver that have no code. */
const MESSAGES =
  /^(timeout expired|timeout exceeded when trying to connect|Connection terminated|Connection ended|Query read timeout|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end)/;

/**
 * Returns the temporary problem of the database that an error reports, or `null` for every other
 * error. Pass only errors of the database driver: other connections fail with the same codes.
 */
export function databaseTrouble(error: unknown): DatabaseTrouble | null {
  if (typeof error !== 'object' || error === null) return null;
  const { code, message, syscall } = error as {
    code?: unknown;
    message?: unknown;
    syscall?: unknown;
  };
  if (typeof code === 'string') {
    if (BUSY.test(code)) return 'busy';
    if (AWAY.test(code) || NETWORK.includes(code) || OWN_CODES.includes(code)) return 'away';
    // The socket of a local server that is not running.
    if (code === 'ENOENT' && syscall === 'connect') return 'away';
  }
  return typeof message === 'string' && MESSAGES.test(message) ? 'away' : null;
}

/** Errors before which nothing was committed: no connection, a refused or a cancelled statement. */
const BEFORE_COMMIT =
  /^(COMMITS_WAIT|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT|53|57P03|25006)/;
const NOT_CONNECTED =
  /^(timeout exceeded when trying to connect|Cannot use a pool|Client was closed)/;

/**
 * Whether the statement or transaction that failed with this error of the driver may have been
 * committed, because the connection was lost before the response to the commit.
 */
export function mayBeCommitted(error: unknown): boolean {
  if (databaseTrouble(error) !== 'away') return false;
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string' && BEFORE_COMMIT.test(code)) return false;
  return !(typeof message === 'string' && NOT_CONNECTED.test(message));
}

/** A connection that was open, and that its server or the network has ended. */
const CUT_CODES = /^(57P01|57P02|08006|ECONNRESET|EPIPE)$/;
const CUT_MESSAGES =
  /^(Connection terminated|Connection ended|Client has encountered a connection error)/;
/** Several connections of a pool may have been cut together. */
const MOST_CUT = 3;

function isCut(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (typeof code === 'string') return CUT_CODES.test(code);
  return typeof message === 'string' && CUT_MESSAGES.test(message);
}

/**
 * Reads something on a connection that is open, so that an error says what the server is like at
 * present. A connection that waited in a pool may have been cut meanwhile, and its error says
 * nothing about the server: the read is then repeated, three times at most.
 * @param read changes nothing
 */
export async function onOpenConnection<T>(read: () => Promise<T>): Promise<T> {
  for (let cut = 0; ; cut += 1) {
    try {
      return await read();
    } catch (error) {
      if (cut === MOST_CUT || !isCut(error)) throw error;
    }
  }
}

/** What an error of the driver means, by SQLSTATE or code of the network. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/^28/, 'refuses the user or the password of DATABASE_URL'],
  [/^3D000$/, 'does not exist on its server'],
  [/^42501$/, 'refuses access to a table: the user of DATABASE_URL lacks a privilege'],
  [/^OLD_TIMELINE$/, 'was replaced by another server'],
  [/^(COMMITS_WAIT|UNCONFIRMED)$/, 'waits for a synchronous standby, so it stores nothing'],
  [/^53100$/, 'has no disk space left, so it stores nothing'],
  [/^25006$/, 'is read-only, so it stores nothing'],
  [/^53300$/, 'has no free connection'],
  [/^(57P|08P01)/, 'is starting or stopping'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'cannot be reached: the name of its host is not known'],
  [/^(57014|55P03)$/, 'did not answer in time'],
];

/**
 * Says in a few words why the database cannot be used, with the code of the error. The words have
 * no address, user or password, so everybody may read them.
 */
export function describeDatabaseTrouble(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code !== 'string') return 'cannot be reached: no answer in time';
  const meaning = MEANINGS.find(([pattern]) => pattern.test(code))?.[1] ?? 'cannot be reached';
  return `${meaning} (${code})`;
}
