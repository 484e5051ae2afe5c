/*
 * Marks the transactions that are writing to the log of an account. A change gets its number when
 * it is written and becomes visible when its transaction commits, so a later number may become
 * visible first. Every writer therefore takes a shared advisory lock before it draws its numbers,
 * and keeps the lock until its transaction ends. The lock's key contains the account and the last
 * number drawn before. No transaction waits for these locks; readers only list them
 * (docs/adr/0036).
 *
 * The key is a bigint: one 0 bit, 19 bits of the account (the first is 1), 44 bits of the number.
 * 2^44 numbers last 500 years at a thousand a second. If two accounts have the same 19 bits, a
 * transaction of one delays the readers of the other until it ends.
 */
const NUMBER_BITS = 44;
const SEED = 727_004;

/**
 * SQL of the lowest key of an account.
 * @param account SQL of its id
 */
export function firstKey(account: string): string {
  const hash = `(hashtextextended(${account}::text, ${SEED}) & 262143) | 262144`;
  return `((${hash}) << ${NUMBER_BITS})`;
}

/**
 * SQL of the key for a transaction that begins to write to the log of an account.
 * @param account SQL of its id
 */
export function writerKey(account: string): string {
  return `${firstKey(account)} + coalesce(pg_sequence_last_value('change_seq_seq'), 0)`;
}

/**
 * SQL of the lowest number in the keys of all current writers of an account's log. Their changes
 * have higher numbers. SQL `null` if there are no writers.
 */
export function lowestWriter(account: string): string {
  return `
    (select min(w.key - ${firstKey(account)})
     from (select (l.classid::bigint << 32) | l.objid::bigint as key from pg_locks l
           where l.locktype = 'advisory' and l.objsubid = 1 and l.mode = 'ShareLock' and l.granted
             and l.database = (select d.oid from pg_database d where d.datname = current_database())) w
     where w.key >> ${NUMBER_BITS} = ${firstKey(account)} >> ${NUMBER_BITS})`;
}
