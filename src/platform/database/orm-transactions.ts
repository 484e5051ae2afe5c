import type { EntityManager } from '@mikro-orm/postgresql';
import { CompiledQuery } from 'kysely';
import { openTransaction, type Sql } from './sql.ts';

/**
 * Work to run after the commit of each transaction of the ORM, by the ORM's own transaction object.
 */
const ofTransactions = new WeakMap<object, (() => void)[]>();

/**
 * Runs the work that waits for a transaction of the ORM. Called by the subscriber of the ORM's
 * commits.
 */
export function transactionCommitted(transaction: object): void {
  const waiting = ofTransactions.get(transaction) ?? [];
  ofTransactions.delete(transaction);
  for (const next of waiting) next();
}

/** Returns the open transaction of `em.transactional(async (em) => …)` as a `Sql`. */
export function sqlOf(em: EntityManager): Sql {
  const sql: Sql = {
    async query<R extends object>(text: string, values: readonly unknown[] = []) {
      const query = CompiledQuery.raw(text, [...values]);
      return (await em.getKysely().executeQuery<R>(query)).rows;
    },
  };
  const transaction = em.getTransactionContext<object>();
  if (transaction) {
    const waiting = ofTransactions.get(transaction) ?? [];
    ofTransactions.set(transaction, waiting);
    openTransaction(sql, waiting);
  }
  return sql;
}
