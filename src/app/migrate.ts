import { MikroORM } from '@mikro-orm/postgresql';
import { ormConfig } from './mikro-orm.config.ts';

async function withOrm<T>(url: string, work: (orm: MikroORM) => Promise<T>): Promise<T> {
  const orm = await MikroORM.init(ormConfig(url, 2));
  try {
    return await work(orm);
  } finally {
    await orm.close(true);
  }
}

/**
 * Brings the schema up to date. It can safely run twice and in several processes at once; the
 * second one waits and has nothing to do.
 * @param onMigration called when a migration begins, with its name, its place among the pending
 *   ones, and their number
 * @returns names of the migrations that ran
 */
export function migrate(
  url: string,
  onMigration?: (name: string, place: number, count: number) => void,
): Promise<string[]> {
  return withOrm(url, async (orm) => {
    const connection = orm.em.getConnection();
    // Only one session migrates at a time. The lock ends with the session if this process dies.
    return orm.em.fork().transactional(async (em) => {
      await connection.execute(
        'select pg_advisory_xact_lock(727001)',
        [],
        'all',
        em.getTransactionContext(),
      );
      const pending = await orm.migrator.getPending();
      let place = 0;
      orm.migrator.on('migrating', ({ name }) => onMigration?.(name, (place += 1), pending.length));
      return (await orm.migrator.up()).map(({ name }) => name);
    });
  });
}
