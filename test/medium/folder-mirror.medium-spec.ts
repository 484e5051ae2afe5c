import request from 'supertest';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { mirroredFolders } from '../../src/mail/folders/mirror-folders.ts';
import { SystemClock } from '../../src/platform/base/time/clock.ts';
import { Database, type Sql } from '../../src/platform/database/sql.ts';
import { FolderMirror } from '../../src/sync/folders/folder-mirror.ts';
import type { MirrorRepository } from '../../src/sync/mirror.repository.ts';
import { createAccount, createApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('FolderMirror', () => {
  let server: TestApp;
  let database: Database;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
  });
  afterAll(() => server.close());

  /** A repository that calls `meanwhile` once, after the first query that contains `text`. */
  function interrupted(text: string, meanwhile: () => Promise<void>): MirrorRepository {
    let isDone = false;
    const watch = (sql: Sql): Sql => ({
      async query(statement, values) {
        const rows = await sql.query(statement, values);
        if (isDone || !statement.includes(text)) return rows as never;
        isDone = true;
        await meanwhile();
        return rows as never;
      },
    });
    const withClaim = <T>(_claim: unknown, _cursor: unknown, work: (sql: Sql) => Promise<T>) =>
      database.transaction((sql) => work(watch(sql)));
    return { withClaim } as unknown as MirrorRepository;
  }

  it.each([
    ['the folders', 'from folder where account_id'],
    ['the open provider writes', 'from provider_job where account_id'],
    ['the ended jobs', 'from job_status'],
  ])(
    'keeps the name that a request gives a folder after a sync pass has read %s',
    async (_, text) => {
      const { id: accountId, bearer } = await createAccount(
        server.app,
        await createApplication(server.app),
      );
      const folders = () => request(server.url).post('/folders').set(bearer);
      const { id } = (await folders().send({ display_name: 'Old' })).body as { id: string };
      await database.query(`update folder set provider_id = 'here' where id = $1`, [id]);
      await database.query('delete from provider_job where account_id = $1', [accountId]);
      await database.query(
        `update job_status set status = 'successful', updated_at = now() - interval '1 hour' where account_id = $1`,
        [accountId],
      );
      const account = await server.app.get(ProviderAccounts).find(accountId);
      if (!account) throw new Error('no such account');
      const repository = interrupted(text, async () => {
        await request(server.url)
          .put(`/folders/${id}`)
          .set(bearer)
          .send({ display_name: 'New' })
          .expect(200);
      });
      const listed = [{ providerId: 'here', name: null, displayName: 'Old' }];
      await new FolderMirror(database, repository, new SystemClock()).follow(
        account,
        { id: accountId, accountId, fence: 1 } as never,
        { folders: listed, renamed: [] },
        new Date(),
      );
      expect(await mirroredFolders(database, accountId)).toMatchObject([
        { id, displayName: 'New' },
      ]);
    },
  );
});
