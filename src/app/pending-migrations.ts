import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Sql } from '../platform/database/sql.ts';

const FOLDER = fileURLToPath(new URL('../../migrations', import.meta.url));

const TABLE = `select to_regclass('mikro_orm_migrations') is not null as present`;

/** Names of the migrations that this program has, oldest first. */
export function ownMigrations(): string[] {
  return fs
    .readdirSync(FOLDER)
    .flatMap((file) => /^(Migration\d+\w*)\.(js|ts)$/.exec(file)?.[1] ?? [])
    .sort();
}

/**
 * Names of the migrations that this program has and the database lacks, oldest first. Reads the
 * table of the ORM's migrator without loading the ORM, and changes nothing.
 */
export async function pendingMigrations(sql: Sql): Promise<string[]> {
  const [table] = await sql.query<{ present: boolean }>(TABLE);
  if (!table?.present) return ownMigrations();
  const done = await sql.query<{ name: string }>('select name from mikro_orm_migrations');
  // Old versions of the ORM stored names with their extension.
  const names = new Set(done.map(({ name }) => name.replace(/\.[jt]s$/, '')));
  return ownMigrations().filter((name) => !names.has(name));
}
