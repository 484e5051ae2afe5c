import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/database/embedded/embedded-postgres.ts';
import { migrate } from '../../src/app/migrate.ts';
import { beginFaultTable } from './fault-table.ts';

/**
 * These tests check logic, not survival of a power loss. The fault suite runs with these settings
 * on. Servers of several fault tests share the connections.
 */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '400',
};

declare global {
  // oxlint-disable-next-line no-var -- globals of Jest's parent process
  var carillonTestServer: EmbeddedPostgres | undefined;
}

/**
 * Starts one PostgreSQL for all tiers of a run, with a migrated template database that each test
 * file clones.
 *
 * `TEST_DATABASE_URL=postgresql://…/carillon npm run jest` uses an empty database of an existing
 * server instead. Its user must be allowed to create databases. This is how the tiers run on
 * PostgreSQL 15.
 */
export default async function globalSetup(): Promise<void> {
  beginFaultTable();
  if (process.env['CARILLON_TEST_DATABASE_URL']) return; // another tier of this run has set it up
  const existing = process.env['TEST_DATABASE_URL'];
  if (existing) {
    await migrate(existing);
    process.env['CARILLON_TEST_DATABASE_URL'] = existing;
    return;
  }
  const server = await startEmbeddedPostgres({ settings: SETTINGS });
  await migrate(server.url);
  globalThis.carillonTestServer = server;
  process.env['CARILLON_TEST_DATABASE_URL'] = server.url;
}
