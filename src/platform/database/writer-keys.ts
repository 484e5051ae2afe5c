/*
 * Marks the transactions that are writing to a log: the change log of an account, or the events of
 * an application. A row gets its number when it is written and becomes visible when its transaction
 * commits, so a later number may become visible first. Every writer therefore takes a shared
 * advisory lock before it draws its numbers, and keeps the lock until its transaction ends. The
 * lock's key contains the owner of the log and the last number drawn before. No transaction waits
 * for these locks; readers only list them (docs/adr/0036).
 *
 * The key is a bigint: one 0 bit, 19 bits of the owner (the first is 1), 44 bits of the number.
 * 2^44 numbers last 500 years at a thousand a second. If two owners have the same 19 bits, a
 * transaction of one delays the readers of the other until it ends.
 */
const NUMBER_BITS = 44;
const SEED = 727_004;

/** The sequences that number the rows of the logs. */
export type LogSequence = 'change_seq_seq' | 'webhook_event_seq_seq';

/**
 * SQL of the lowest key of a log.
 * @param owner SQL of the id of the account or application
 */
function firstKey(owner: string): string {
  const hash = `(hashtextextended(${owner}::text, ${SEED}) & 262143) | 262144`;
  return `((${hash}) << ${NUMBER_BITS})`;
}

/**
 * SQL of the key for a transaction that begins to write to a log.
 * @param owner SQL of the id of the account or application
 */
export function writerKey(owner: string, sequence: LogSequence): string {
  return `${firstKey(owner)} + coalesce(pg_sequence_last_value('${sequence}'), 0)`;
}

/**
 * SQL of the lowest number in the keys of all current writers of a log. Their rows have higher
 * numbers. SQL `null` if there are no writers.
 * @param owner SQL of the id of the account or application
 */
export function lowestWriter(owner: string): string {
  return `
    (select min(w.key - ${firstKey(owner)})
     from (select (l.classid::bigint << 32) | l.objid::bigint as key from pg_locks l
           where l.locktype = 'advisory' and l.objsubid = 1 and l.mode = 'ShareLock' and l.granted
             and l.database = (select d.oid from pg_database d where d.datname = current_database())) w
     where w.key >> ${NUMBER_BITS} = ${firstKey(owner)} >> ${NUMBER_BITS})`;
}
