import Nylas from 'nylas';
import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const REDIRECT = 'https://app.example.test/callback';

/** Runs the unchanged official client through the hosted sign-in. */
describe('nylas@6.11.1 and the hosted sign-in', () => {
  let server: TestApp;
  let application: TestApplication;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    application = await createApplication(server.app);
    await request(server.url)
      .put(`/a/${application.clientId}`)
      .set(application.secretBasic)
      .send({ redirect_uris: [REDIRECT] })
      .expect(200);
    const { clientId, clientSecret } = application;
    Nylas.config({ clientId, clientSecret, apiServer: server.url });
  });
  afterAll(() => server.close());

  it('sends users to the sign-in, exchanges their code, uses the token and revokes it', async () => {
    const browser = new PageBrowser(server);
    const url = Nylas.urlForAuthentication({
      redirectURI: REDIRECT,
      loginHint: 'ada@sandbox.test',
      state: 's1',
    });
    await browser.get(url);
    expect(browser.page.status).toBe(302);
    await browser.get(`${browser.page.location}&provider=sandbox`);
    await browser.follow('credentials', { password: 'x' });
    await browser.submit('consent');
    const back = new URL(browser.page.location ?? '').searchParams;
    expect(back.get('state')).toBe('s1');
    const token = await Nylas.exchangeCodeForToken(back.get('code') ?? '');
    expect(token).toMatchObject({ emailAddress: 'ada@sandbox.test', provider: 'sandbox' });
    const nylas = Nylas.with(token.accessToken);
    expect((await nylas.account.get()).emailAddress).toBe('ada@sandbox.test');
    await Nylas.revoke(token.accessToken);
    await expect(nylas.account.get()).rejects.toThrow('Could not verify access credential');
  });
});
