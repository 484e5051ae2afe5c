import pg from 'pg';
import type { MailServers, MailUser } from '../../test/support/mail-servers/mail-servers.ts';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts';
import { migrate } from '../../src/app/migrate.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { seedAccounts, seedApplication } from '../seed.ts';
import type { World } from '../world.ts';
import { startServers } from './program.ts';

/** Connected accounts of a real Dovecot, on a database server of their own. */
export interface ManyMailboxes {
  /** The database. */
  url: string;
  /** The bench's own connection to it. `pg_stat_statements` is installed. */
  sql: pg.Client;
  stop(): Promise<void>;
}

/** Adds empty mailboxes. */
async function makeUsers(servers: MailServers, count: number): Promise<MailUser[]> {
  const users = Array.from({ length: count }, (_, index) => {
    return { email: `user-${index}@example.test`, password: `pw-${index}` };
  });
  for (const { email, password } of users) await servers.dovecot.setUser(email, password);
  return users;
}

/** Inserts connected accounts that have had no sync pass. */
async function connectAll(
  world: World,
  sql: pg.Client,
  servers: MailServers,
  users: readonly MailUser[],
): Promise<void> {
  const { id } = await seedApplication(sql, world.box);
  const accounts = await seedAccounts(sql, world.box, id, 'imap', users.length, (index) =>
    servers.settingsOf(users[index] ?? { email: '', password: '' }),
  );
  const query = async <T>(text: string, values: readonly unknown[] = []) =>
    (await sql.query(text, [...values])).rows as T[];
  for (const account of accounts) await scheduleSync({ query }, account.id);
}

/** Starts the mail servers and the database server, and connects the accounts. */
export async function startManyMailboxes(world: World, count: number): Promise<ManyMailboxes> {
  const servers = await startServers(world);
  const users = await makeUsers(servers, count);
  const postgres = await startEmbeddedPostgres({
    settings: { shared_preload_libraries: 'pg_stat_statements' },
  });
  world.own(postgres);
  await migrate(postgres.url);
  const sql = new pg.Client({ connectionString: postgres.url });
  sql.on('error', () => undefined);
  await sql.connect();
  await sql.query('create extension pg_stat_statements');
  await connectAll(world, sql, servers, users);
  return {
    url: postgres.url,
    sql,
    async stop() {
      await sql.end();
      await postgres.stop();
      await servers.stop();
    },
  };
}
