import { Signals } from '../../src/platform/work/signals.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { AccessTokensService } from '../../src/accounts/grants/tokens/access-tokens.service.ts';
import type { VerifiedCredentials } from '../../src/accounts/grants/credentials/credentials.ts';
import { GrantConnectionsService } from '../../src/accounts/grants/moves/grant-connections.service.ts';
import { GrantsService } from '../../src/accounts/grants/grants.service.ts';
import { moveGrants } from '../../src/accounts/grants/moves/grant-moves.ts';
import { subscribe } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const ada: VerifiedCredentials = {
  provider: 'sandbox',
  email: 'ada@sandbox.test',
  name: 'Ada',
  organizationUnit: 'folder',
  settings: {},
};
const native = { integrationRequired: false };

describe('grants', () => {
  let server: TestApp;
  let application: TestApplication;
  let connections: GrantConnectionsService;
  let grants: GrantsService;
  let sql: Database;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    connections = server.app.get(GrantConnectionsService, { strict: false });
    grants = server.app.get(GrantsService, { strict: false });
    sql = server.app.get(Database);
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());

  const listen = () =>
    subscribe(server, application, [
      'account.connected',
      'account.running',
      'account.stopped',
      'account.invalid',
    ]);
  const eventTypes = async () =>
    (
      await sql.query<{ type: string }>(
        'select type from webhook_event where application_id = $1 order by id',
        [application.id],
      )
    ).map(({ type }) => type);

  const untilLockWait = () =>
    until('a statement to wait for a lock', async () => {
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return (await sql.query(waiting)).length > 0;
    });

  it('send one webhook for each event in the life of an account', async () => {
    await listen();
    const { grant } = await connections.connect(application.id, ada, native);
    await connections.connect(application.id, ada, native);
    const move = (status: 'valid' | 'invalid', reason: string | null) =>
      sql.transaction((sql) =>
        moveGrants(sql, [{ accountId: grant.id, status, reason }], new Date()),
      );
    await move('invalid', '535');
    await move('invalid', '534');
    await move('valid', null);
    await move('valid', null);
    await grants.remove(application.id, grant.id);
    const types = await eventTypes();
    expect(types.slice(0, 2).toSorted()).toEqual(['account.connected', 'account.running']);
    expect(types.slice(2)).toEqual([
      'account.connected',
      'account.invalid',
      'account.running',
      'account.stopped',
    ]);
  });

  it('wake the queues only after the commit', async () => {
    await listen();
    const woken = new Set<string>();
    const end = server.app.get(Signals).listen((signal) => {
      if (signal.kind === 'due') woken.add(signal.queue);
    });
    await expect(
      connections.connect(application.id, ada, { integrationRequired: true }),
    ).rejects.toThrow('no integration');
    expect(woken.size).toBe(0);
    await connections.connect(application.id, ada, native);
    end();
    expect([...woken].toSorted()).toEqual(['hook', 'sync']);
  });

  it('keep fields that a new authentication leaves out, and replace those that it names', async () => {
    const first = await connections.connect(application.id, ada, {
      ...native,
      scope: ['email'],
      state: 's',
      metadata: { a: true },
      userAgent: 'one',
    });
    const second = await connections.connect(
      application.id,
      { ...ada, name: 'Ada L.', organizationUnit: 'label' },
      { ...native, scope: null, userAgent: 'two' },
    );
    expect(second.grant).toMatchObject({
      id: first.grant.id,
      name: 'Ada L.',
      organizationUnit: 'label',
      scope: null,
      grantedScope: null,
      state: 's',
      metadata: { a: true },
      userAgent: 'two',
      linkedAt: first.grant.linkedAt,
    });
  });

  it('may have the same address in two applications', async () => {
    const other = await createApplication(server.app);
    const one = await connections.connect(application.id, ada, native);
    const two = await connections.connect(other.id, ada, native);
    expect(two.grant.id).not.toBe(one.grant.id);
    await grants.remove(other.id, two.grant.id);
    expect((await grants.get(application.id, one.grant.id)).id).toBe(one.grant.id);
  });

  it('are reactivated when a cancelled account authenticates', async () => {
    const account = await createAccount(server.app, application, {
      email: ada.email,
      billingState: 'cancelled',
    });
    const { grant } = await connections.connect(application.id, ada, native);
    expect(grant).toMatchObject({ id: account.id, billingState: 'paid', syncState: 'running' });
  });

  it('are connected, renewed, synced and removed concurrently without a deadlock or a leftover row', async () => {
    for (let round = 0; round < 15; round += 1) {
      const { grant } = await connections.connect(application.id, ada, native);
      const work = [
        () => connections.connect(application.id, ada, native),
        () => grants.update(application.id, grant.id, { settings: { password: 'x' } }),
        () => grants.update(application.id, grant.id, { scope: ['email'] }),
        () => grants.requestSync(application.id, grant.id),
        () => grants.remove(application.id, grant.id),
        () =>
          sql.transaction(async (sql) => {
            // The order in which a sync settles: its queue row, rows that refer to the grant, then
            // the grant.
            await sql.query('update sync_job set fence = fence + 1 where account_id = $1', [
              grant.id,
            ]);
            await sql.query(
              `insert into folder (id, account_id, provider_id, display_name, created_at, updated_at)
               select gen_random_uuid(), id, gen_random_uuid(), 'x', now(), now() from "grant" where id = $1 for key share`,
              [grant.id],
            );
            await sql.query('update "grant" set updated_at = now() where id = $1', [grant.id]);
          }),
      ];
      const outcomes = await Promise.allSettled(work.map((run) => run()));
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') {
          expect(['grant.not-found', 'grant.changed']).toContain(
            (outcome.reason as { code?: string }).code,
          );
        }
      }
    }
    expect(
      await sql.query('select 1 from sync_job where account_id not in (select id from "grant")'),
    ).toEqual([]);
  });

  it.each<[string, (grantId: string) => Promise<unknown>]>([
    ['a removal', (id) => grants.remove(application.id, id)],
    ['a new authentication', () => connections.connect(application.id, ada, native)],
    ['a renewal', (id) => grants.update(application.id, id, { settings: { password: 'x' } })],
    ['a request to sync', (id) => grants.requestSync(application.id, id)],
  ])('let %s wait for a settling sync, instead of causing a deadlock', async (_, change) => {
    const { grant } = await connections.connect(application.id, ada, native);
    let changed: Promise<unknown> = Promise.resolve();
    await sql.transaction(async (sync) => {
      await sync.query('update sync_job set fence = fence + 1 where account_id = $1', [grant.id]);
      changed = change(grant.id);
      await untilLockWait();
      await sync.query(
        `insert into folder (id, account_id, provider_id, display_name, created_at, updated_at)
         values (gen_random_uuid(), $1, 'x', 'x', now(), now())`,
        [grant.id],
      );
      await sync.query('update "grant" set updated_at = now() where id = $1', [grant.id]);
    });
    await expect(changed).resolves.not.toThrow();
  });

  it('are not overwritten with settings that changed while the provider was asked', async () => {
    const { grant } = await connections.connect(application.id, ada, native);
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c'].map((password) =>
        grants.update(application.id, grant.id, { settings: { password } }),
      ),
    );
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused.map(({ reason }) => (reason as { code: string }).code)).toEqual([
      'grant.changed',
      'grant.changed',
    ]);
  });

  describe('access tokens', () => {
    it('cannot be listed or revoked through another account', async () => {
      const tokens = server.app.get(AccessTokensService, { strict: false });
      const one = await connections.connect(application.id, ada, native);
      const two = await connections.connect(
        application.id,
        { ...ada, email: 'bo@sandbox.test' },
        native,
      );
      expect(await tokens.info(application.id, one.grant.id, one.accessToken)).toMatchObject({
        valid: true,
      });
      expect(await tokens.info(application.id, one.grant.id, two.accessToken)).toBeUndefined();
      const other = await createApplication(server.app);
      expect(await tokens.info(other.id, one.grant.id, one.accessToken)).toBeUndefined();
      await tokens.revokeAll(other.id, one.grant.id);
      expect(await tokens.info(application.id, one.grant.id, one.accessToken)).toMatchObject({
        valid: true,
      });
    });

    it('are stored as hashes only', async () => {
      const { accessToken } = await connections.connect(application.id, ada, native);
      const rows = await sql.query<{ text: string }>('select t::text as text from access_token t');
      expect(rows.map(({ text }) => text).join()).not.toContain(accessToken);
    });
  });
});
