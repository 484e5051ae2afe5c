import request from 'supertest';
import { SYSTEM } from '../../src/platform/audit/actor.ts';
import { pruneAudit } from '../../src/platform/audit/prune-audit.ts';
import { recordAudit } from '../../src/platform/audit/record-audit.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { registerSandbox, rowsOf } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { createOperator, readAsOperator, type TestOperator } from '../support/operators.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const CLIENT = '198.51.100.7';

interface Entry {
  id: string;
  at: number;
  actor: { kind: string; id: string | null; name: string; address: string | null };
  action: string;
  target: { type: string; id: string };
  application_id: string | null;
  account_id: string | null;
  details: Record<string, unknown>;
}
interface Page {
  items: Entry[];
  next_page_token: string | null;
}

describe('the audit log', () => {
  let server: TestApp;
  let operator: TestOperator;
  let application: TestApplication;
  let database: Database;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api', TRUST_PROXY: '1' });
    database = server.app.get(Database);
    operator = await createOperator(server, 'read');
    application = await createApplication(server.app);
    await registerSandbox(server, application);
  });
  afterAll(() => server.close());

  const all = async (query = '') =>
    (await readAsOperator<Page>(server, operator, `/admin/audit-log?${query}`)).items;
  const own = async (from: TestApplication, query = '') => {
    const path = `/a/${from.clientId}/audit-log?${query}`;
    const { body } = await request(server.url).get(path).set(from.secretBasic).expect(200);
    return body as Entry[];
  };
  const refused = (work: Promise<unknown>) =>
    expect(work).rejects.toThrow('the audit log is append-only');

  it('names the application or the token that acted, its address, and what it changed, without values', async () => {
    await request(server.url)
      .put(`/a/${application.clientId}`)
      .set(application.secretBasic)
      .set('X-Forwarded-For', CLIENT)
      .send({ application_name: 'A name of no concern' })
      .expect(200);
    const [renamed] = await own(application, 'limit=1');
    expect(renamed).toMatchObject({
      actor: {
        kind: 'application',
        id: application.id,
        name: application.clientId,
        address: CLIENT,
      },
      action: 'application.update',
      target: { type: 'application', id: application.id },
      application_id: application.id,
      account_id: null,
      details: { clientId: application.clientId, changed: ['name'] },
    });
    expect(Math.abs((renamed?.at ?? 0) - Date.now() / 1000)).toBeLessThan(60);

    const ada = await createAccount(server.app, application);
    await request(server.url).post('/oauth/revoke').set(ada.bearer).expect(200);
    const [revoked] = await own(application, `account_id=${ada.id}`);
    expect(revoked).toMatchObject({
      actor: { kind: 'token', name: ada.email, address: '127.0.0.1' },
      action: 'token.revoke',
      target: { type: 'access-token', id: revoked?.actor.id },
      account_id: ada.id,
    });
    expect(JSON.stringify(await own(application))).not.toContain(ada.token);
  });

  it('has what an application set, without secrets: settings, addresses of webhooks, tokens', async () => {
    const { body } = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({
        provider: 'sandbox',
        settings: { email: 'eve@sandbox.test', password: 'a-long-password' },
      })
      .expect(200);
    for (const change of ['downgrade', 'upgrade', 'upgrade'])
      await request(server.url)
        .post(`/a/${application.clientId}/accounts/${body.data.id as string}/${change}`)
        .set(application.secretBasic)
        .expect(200);
    const billing = await own(application, `action=account.&account_id=${body.data.id as string}`);
    expect(billing.map(({ action }) => action)).toEqual([
      'account.reactivate',
      'account.cancel',
      'account.connect',
    ]);
    const { id, access_token: token } = body.data as { id: string; access_token: string };
    await request(server.url)
      .post(`/connect/grants/${id}/tokens`)
      .set(application.basic)
      .send({ scope: ['email.read_only'], expires_in: 3600 })
      .expect(200);
    await request(server.url)
      .post(`/a/${application.clientId}/webhooks`)
      .set(application.secretBasic)
      .send({
        callback_url: 'http://127.0.0.1:1/hook?key=hidden',
        triggers: ['message.created'],
        state: 'inactive',
      })
      .expect(200);
    const entries = await own(application, 'limit=3');
    expect(entries.map(({ action, account_id }) => [action, account_id])).toEqual([
      ['webhook.create', null],
      ['token.create', id],
      ['account.reactivate', id],
    ]);
    expect(entries[0]?.details).toMatchObject({ address: 'http://127.0.0.1:1/hook' });
    expect(entries[1]?.details).toMatchObject({ scope: ['email.read_only'] });
    const text = JSON.stringify(entries);
    for (const secret of ['hidden', 'a-long-password', token]) expect(text).not.toContain(secret);
  });

  it('shows an application its own entries only, with what operators did to it', async () => {
    const other = await createApplication(server.app);
    const target = { type: 'application', id: other.id };
    await recordAudit(database, {
      actor: SYSTEM,
      action: 'x.done',
      target,
      applicationId: other.id,
    });
    await recordAudit(database, { actor: SYSTEM, action: 'x.internal', target });
    expect((await own(other)).map(({ action }) => action)).toEqual(['x.done']);
    expect((await own(application)).map(({ action }) => action)).not.toContain('x.done');
    expect((await all('action=x.')).map(({ action }) => action)).toEqual(['x.internal', 'x.done']);
    await request(server.url)
      .get(`/a/${application.clientId}/audit-log`)
      .set(other.secretBasic)
      .expect(401);
  });

  it('names the operator who creates and revokes access tokens of an account', async () => {
    const steering = await createOperator(server, 'operate');
    const ada = await createAccount(server.app, application);
    const path = `/admin/accounts/${ada.id}/tokens`;
    const ask = (method: 'get' | 'post' | 'delete', at = path) =>
      request(server.url)[method](at).set(steering.bearer);
    const made = await ask('post').send({ scope: ['email.read_only'], expires_in: 3600 });
    const { id, access_token: token } = made.body as { id: string; access_token: string };
    const statusOf = async (value: string) =>
      (await request(server.url).get('/account').set('authorization', `Bearer ${value}`)).status;
    expect(await statusOf(token)).toBe(200);
    const listed = await ask('get').expect(200);
    expect((listed.body as { items: { id: string }[] }).items.map((item) => item.id)).toContain(id);
    expect(listed.text).not.toContain(token);
    await ask('delete', `${path}/${id}`).expect(200);
    expect([await statusOf(token), await statusOf(ada.token)]).toEqual([401, 200]);
    await ask('delete').expect(200);
    expect(await statusOf(ada.token)).toBe(401);
    await ask('get', `/admin/accounts/${newId()}/tokens`).expect(404);
    const entries = await own(application, `account_id=${ada.id}`);
    expect(entries.map(({ action, actor }) => [action, actor.name])).toEqual(
      ['token.revoke-all', 'token.revoke', 'token.create'].map((action) => [action, steering.name]),
    );
  });

  it('can be filtered and read page by page', async () => {
    const account = newId();
    const target = { type: 'thing', id: 'no.17' };
    const actor = { kind: 'operator', id: newId(), name: 'grace', address: null } as const;
    for (const number of [1, 2, 3])
      await recordAudit(database, {
        actor,
        action: `thing.step-${number}`,
        target,
        accountId: account,
      });
    const steps = async (query: string) => (await all(query)).map(({ action }) => action.at(-1));
    for (const query of ['target=no.17', 'actor=grace', `actor=${actor.id}`, `account=${account}`])
      expect([query, await steps(query)]).toEqual([query, ['3', '2', '1']]);
    expect(await steps('target=no.17&action=thing.step-2')).toEqual(['2']);
    expect(await steps('target=no.17&actor_kind=token')).toEqual([]);
    const now = Math.floor(Date.now() / 1000);
    expect(await steps(`target=no.17&since=${now - 3600}&until=${now + 3600}`)).toHaveLength(3);
    expect(await steps(`target=no.17&since=${now + 3600}`)).toEqual([]);
    const read = (query: string) =>
      readAsOperator<Page>(server, operator, `/admin/audit-log?target=no.17&limit=2${query}`);
    const first = await read('');
    const second = await read(`&page_token=${first.next_page_token}`);
    expect([first.items.length, second.items.map(({ action }) => action), second.next_page_token]) //
      .toEqual([2, ['thing.step-1'], null]);
    const wrong = await request(server.url)
      .get('/admin/audit-log?page_token=x')
      .set(operator.bearer);
    expect(wrong.status).toBe(400);
  });

  it('cannot be changed or emptied, and entries are deleted only when they are old', async () => {
    const insert = (days: number) =>
      rowsOf(
        server,
        `insert into audit_entry (id, at, actor_kind, actor_name, action, target_type, target_id, details)
         values ($1, now() - make_interval(days => $2), 'system', 'x', 'old.entry', 'x', 'x', '{}')`,
        [newId(), days],
      );
    await insert(20);
    await insert(50);
    await insert(500);
    await refused(rowsOf(server, `update audit_entry set action = 'forged'`));
    await refused(rowsOf(server, 'delete from audit_entry'));
    await refused(rowsOf(server, `delete from audit_entry where action = 'old.entry'`));
    await refused(rowsOf(server, 'truncate audit_entry'));
    const prune = (days: number) => pruneAudit(database, new Date(), days);
    expect(await prune(400)).toBe(1);
    // Even a program that names a shorter time deletes no entry of the last 30 days.
    await refused(prune(10));
    expect(await prune(40)).toBe(1);
    const [left] = await rowsOf(
      server,
      `select extract(day from now() - at)::int as days from audit_entry where action = 'old.entry'`,
    );
    expect(left).toEqual({ days: 20 });
  });

  it('keeps no entry of an action that is rolled back', async () => {
    const before = await all('limit=1');
    await expect(
      database.transaction(async (sql) => {
        await recordAudit(sql, { action: 'never.happened', target: { type: 'x', id: 'x' } });
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    expect(await all('limit=1')).toEqual(before);
  });
});
