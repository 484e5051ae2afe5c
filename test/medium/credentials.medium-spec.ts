import type { INestApplicationContext } from '@nestjs/common';
import { StoredCredentials } from '../../src/accounts/grants/credentials/stored-credentials.ts';
import { createOperatorContext } from '../../src/cli/carillon/container.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { Database, SqlPool } from '../../src/platform/database/sql.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

describe('Credentials', () => {
  let database: TestDatabase;
  let context: INestApplicationContext;
  let sql: Database;
  let credentials: StoredCredentials;
  let accounts: TestAccount[];

  beforeEach(async () => {
    database = await createTestDatabase();
    context = await createOperatorContext(
      loadConfig({
        DATABASE_URL: database.url,
        ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
      }),
    );
    sql = context.get(Database);
    credentials = new StoredCredentials(sql, { note: () => undefined });
    const application = await createApplication(context);
    accounts = [];
    for (let index = 0; index < 20; index += 1)
      accounts.push(await createAccount(context, application));
  });
  afterEach(async () => {
    await context.close();
    await database.drop();
  });

  const idsOf = (tokens: readonly string[]) =>
    Promise.all(tokens.map(async (token) => (await credentials.accountByToken(token))?.accountId));
  const revoke = (account: TestAccount) =>
    sql.query('update access_token set revoked_at = now() where grant_id = $1', [account.id]);

  it('returns each caller its own account when many ask at once', async () => {
    const asked = Array.from({ length: 10 }, () => accounts).flat();
    const wrong = ['', 'nobody', `${accounts[0]?.token}x`, '\0', 'x'.repeat(1_000)];
    expect(await idsOf(wrong.concat(asked.map(({ token }) => token)))).toEqual([
      ...wrong.map(() => undefined),
      ...asked.map(({ id }) => id),
    ]);
  });

  it('refuses a revoked token from the next request on, even among other requests', async () => {
    const [revoked, ...others] = accounts;
    if (!revoked) throw new Error('no account');
    const before = accounts.map(({ token }) => credentials.accountByToken(token));
    await revoke(revoked);
    expect(await idsOf([revoked.token, ...others.map(({ token }) => token)])).toEqual([
      undefined,
      ...others.map(({ id }) => id),
    ]);
    await Promise.all(before);
  });

  it('refuses an expired token', async () => {
    const [account] = accounts;
    await sql.query(
      `update access_token set expires_at = now() - interval '1 s' where grant_id = $1`,
      [account?.id],
    );
    expect(await idsOf([account?.token ?? ''])).toEqual([undefined]);
  });

  it('queries the database once for simultaneous requests', async () => {
    let queries = 0;
    const counting = Object.assign(Object.create(sql) as SqlPool, {
      query: (...args: Parameters<SqlPool['query']>) => {
        queries += 1;
        return sql.query(...args);
      },
    });
    const counted = new StoredCredentials(counting, { note: () => undefined });
    const found = await Promise.all(accounts.map(({ token }) => counted.accountByToken(token)));
    expect(found.map((account) => account?.accountId)).toEqual(accounts.map(({ id }) => id));
    expect(queries).toBe(1);
  });
});
