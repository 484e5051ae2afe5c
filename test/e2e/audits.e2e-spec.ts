import { isDeepStrictEqual } from 'node:util';
import request from 'supertest';
import { createAccount, createApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const NOTHING = { repaired: 0, missing: 0, surplus: 0, changed: 0, skipped: 0 };

describe('the audit of a mirror', () => {
  let server: TestApp;
  beforeAll(async () => {
    server = await startTestApp();
  });
  afterAll(() => server.close());

  it('shows its result in the account once the mirror was compared with the mailbox', async () => {
    const application = await createApplication(server.app);
    const account = await createAccount(server.app, application, {
      mirrored: true,
      settings: { sample_messages: true },
    });
    const shown = await until('the first audit', async () => {
      const { body } = await request(server.url).get('/account').set(account.bearer);
      return body.mirror as Record<string, number> | null;
    });
    expect(shown).toEqual({
      checked_at: expect.any(Number),
      messages_checked: 3,
      differences_found: 0,
      repaired: 0,
      missing: 0,
      surplus: 0,
      misplaced: 0,
      unrepaired: 0,
      folders_skipped: 0,
      events: { ...NOTHING, checked: 0 },
      contacts: { ...NOTHING, checked: expect.any(Number) },
    });
    // The contacts are compared in another pass, which may end between two requests.
    await until('the application to see the same', async () => {
      const listed = await request(server.url)
        .get(`/a/${application.clientId}/accounts`)
        .set(application.secretBasic);
      const { body } = await request(server.url).get('/account').set(account.bearer);
      const [seen] = listed.body as [{ id: string; mirror: object }];
      return isDeepStrictEqual(seen, { ...seen, id: account.id, mirror: body.mirror as object });
    });
  });
});
