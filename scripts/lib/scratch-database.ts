import { MikroORM } from '@mikro-orm/postgresql';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts';
import { ormConfig } from '../../src/app/mikro-orm.config.ts';

/** Runs `work` on a temporary database. */
export async function withScratchDatabase<T>(work: (url: string) => Promise<T>): Promise<T> {
  const server = await startEmbeddedPostgres({
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  });
  try {
    return await work(server.url);
  } finally {
    await server.stop();
  }
}

/** Runs `work` with an ORM over a temporary database whose schema is empty. */
export function withScratchOrm<T>(work: (orm: MikroORM) => Promise<T>): Promise<T> {
  return withScratchDatabase(async (url) => {
    const orm = await MikroORM.init(ormConfig(url, 2));
    try {
      return await work(orm);
    } finally {
      await orm.close(true);
    }
  });
}
