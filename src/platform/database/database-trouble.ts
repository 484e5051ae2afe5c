/** `away`: it cannot be reached, is starting, stopping or full. `busy`: somebody was in the way. Both may pass. */
export type DatabaseTrouble = 'away' | 'busy';

/** Connection exceptions, insufficient resources, operator intervention, a standby. */
const AWAY = /^(08|53|57P|25006)/;
/** Serialization, deadlock, lock not available, cancelled by a time limit. */
const BUSY = /^(40001|40P01|55P03|57014)$/;
const NETWORK = [
  'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH',
]; // prettier-ignore

/** What the driver says without a code. */
const WORDS =
  /^(timeout expired|timeout exceeded when trying to connect|Connection terminated|Connection ended|Query read timeout|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end)/;

/**
 * What is wrong with the database, when that is what the error says; null for every other error. Ask it of errors of
 * the database's driver: other connections fail with the same words.
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
    if (AWAY.test(code) || NETWORK.includes(code)) return 'away';
    // The socket of a local server that is not running.
    if (code === 'ENOENT' && syscall === 'connect') return 'away';
  }
  return typeof message === 'string' && WORDS.test(message) ? 'away' : null;
}
