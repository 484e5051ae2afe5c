import request from 'supertest';
import type { CompletenessView } from '../../src/sync/completeness/completeness.schema.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('GET /a/{client_id}/accounts/{id}/completeness', () => {
  let server: TestApp;
  let application: TestApplication;
  let account: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    application = await createApplication(server.app);
    account = await createAccount(server.app, application);
  });
  afterAll(() => server.close());

  const get = (query = '', as = application, id = account.id) =>
    request(server.url)
      .get(`/a/${as.clientId}/accounts/${id}/completeness${query}`)
      .set(as.secretBasic);

  it('says that an account was never audited, which is not complete', async () => {
    const { status, body } = await get();
    expect(status).toBe(200);
    const { days, ...proof } = body as CompletenessView;
    expect(proof).toEqual({
      account_id: account.id,
      complete: false,
      reasons: ['never_audited'],
      audit: null,
      collections: [],
    });
    expect(days).toHaveLength(7);
    for (const day of days) {
      expect(day).toMatchObject({ complete: false, reasons: ['never_audited'], deliveries: [] });
      expect(day.messages).toMatchObject({
        audited_at: null,
        provider: null,
        mirror: 0,
        expected_events: null,
      });
    }
  });

  it('shows the days that are asked for, the present one last', async () => {
    const days = async (query: string) =>
      ((await get(query)).body as CompletenessView).days.map(({ day }) => day);
    const all = await days('');
    expect(all).toEqual(all.toSorted());
    expect(await days('?days=2')).toEqual(all.slice(-2));
    expect(await days('?days=1')).toEqual(all.slice(-1));
  });

  it.each(['0', '8', '1.5', 'x', ''])('refuses days=%s and names it', async (days) => {
    const { status, body } = await get(`?days=${days}`);
    expect([status, body.message]).toEqual([400, expect.stringMatching(/^days/)]);
  });

  it('is that of the own application only', async () => {
    const other = await createApplication(server.app);
    expect((await get('', other)).status).toBe(404);
    expect((await get('', application, 'nothing')).status).toBe(404);
    expect((await get().set(account.bearer)).status).toBe(401);
  });
});
