/*
 * Who is writing to the log of an account at this moment. A change gets its number when it is written and can be seen
 * when its transaction commits, so a later number may be seen earlier. Every writer therefore holds a shared advisory
 * lock, before it draws its numbers and until its transaction ends; its key tells the account and the last number
 * that was out then. Nobody waits for these locks; readers look at them (docs/adr/0036).
 *
 * The key is a bigint: 0, 19 bits of the account of which the first is 1, 44 bits of the number. 2^44 numbers last 500
 * years at a thousand a second. Two accounts with the same bits delay each other's readers, for as long as a
 * transaction takes.
 */
const NUMBER_BITS = 44;
const SEED = 727_004;

/** SQL of the lowest key of an account. @param account SQL of its id */
export function firstKey(account: string): string {
  const hash = `(hashtextextended(${account}::text, ${SEED}) & 262143) | 262144`;
  return `((${hash}) << ${NUMBER_BITS})`;
}

/** SQL of the key of whoever begins to write to the log of an account. @param account SQL of its id */
export function writerKey(account: string): string {
  return `${firstKey(account)} + coalesce(pg_sequence_last_value('change_seq_seq'), 0)`;
}

/**
 * SQL of the lowest of the numbers in the keys of those who write to the log of an account: all they write has higher
 * numbers. Null: nobody writes.
 */
export function lowestWriter(account: string): string {
  return `
    (select min(w.key - ${firstKey(account)})
     from (select (l.classid::bigint << 32) | l.objid::bigint as key from pg_locks l
           where l.locktype = 'advisory' and l.objsubid = 1 and l.mode = 'ShareLock' and l.granted
             and l.database = (select d.oid from pg_database d where d.datname = current_database())) w
     where w.key >> ${NUMBER_BITS} = ${firstKey(account)} >> ${NUMBER_BITS})`;
}
