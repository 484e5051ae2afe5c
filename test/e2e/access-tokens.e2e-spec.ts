import request from 'supertest';
import { TokenUses } from '../../src/accounts/grants/tokens/token-uses.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { pruneAccessTokens } from '../../src/accounts/grants/tokens/prune-access-tokens.ts';
import { registerSandbox } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const REDIRECT = 'https://app.example.test/callback';
const NOWHERE = '019aa1b2-0000-7000-8000-000000000001';

interface Listed {
  id: string;
  state: string;
  scope: string[];
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
  revoked_at: number | null;
}

const DAY_MS = 86_400_000;

describe('access tokens of an account', () => {
  const clock = new PassingClock();
  let server: TestApp;
  let application: TestApplication;
  let grantId: string;
  let token: string;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' }, { clock });
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    await registerSandbox(server, application, { redirect_uris: [REDIRECT] });
    ({ id: grantId, token } = await signIn());
  });
  afterAll(() => server.close());

  const signIn = async (more: object = {}): Promise<{ id: string; token: string }> => {
    const { body } = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({
        provider: 'sandbox',
        settings: { email: 'ada@sandbox.test', password: 'x' },
        ...more,
      })
      .expect(200);
    return { id: body.data.id, token: body.data.access_token };
  };
  const put = (body: object) =>
    request(server.url)
      .put(`/a/${application.clientId}`)
      .set(application.secretBasic)
      .send(body)
      .expect(200);
  const path = (id = grantId) => `/connect/grants/${id}/tokens`;
  const make = (body: object = {}, caller = application) =>
    request(server.url).post(path()).set(caller.basic).send(body);
  const made = async (body: object = {}) =>
    (await make(body).expect(200)).body.data as Listed & { access_token: string };
  const list = async (): Promise<Listed[]> =>
    (await request(server.url).get(path()).set(application.basic).expect(200)).body
      .data as Listed[];
  const remove = (id: string, caller = application) =>
    request(server.url).delete(`${path()}/${id}`).set(caller.basic);
  const use = (value: string, at = '/account') => request(server.url).get(at).auth(value, '');
  const now = () => Math.floor(clock.now().getTime() / 1000);

  it('are listed oldest first, without the token itself', async () => {
    const second = await made();
    const response = await request(server.url).get(path()).set(application.basic).expect(200);
    expect(response.body).toEqual({
      data: [
        {
          id: expect.any(String),
          state: 'valid',
          scope: expect.arrayContaining(['email', 'calendar']),
          created_at: expect.any(Number),
          last_used_at: null,
          expires_at: null,
          revoked_at: null,
        },
        expect.objectContaining({ id: second.id }),
      ],
      limit: 10,
      offset: 0,
    });
    expect(response.text).not.toContain(token);
    expect(response.text).not.toContain(second.access_token);
    const { body } = await request(server.url)
      .get(`${path()}?limit=1&offset=1`)
      .set(application.basic);
    expect(body.data).toEqual([expect.objectContaining({ id: second.id })]);
  });

  it('are revoked one at a time, with immediate effect', async () => {
    const second = await made();
    const [first] = await list();
    await remove(first?.id ?? '').expect(200, { success: true });
    await use(token).expect(401);
    await use(second.access_token).expect(200);
    expect(await list()).toMatchObject([
      { state: 'revoked', revoked_at: expect.any(Number) },
      { state: 'valid' },
    ]);
    const [before] = await list();
    await remove(first?.id ?? '').expect(200);
    expect((await list())[0]).toEqual(before);
  });

  it('can be created with a lifetime and fewer scopes, and are shown only once', async () => {
    const narrow = await made({ expires_in: '3600', scope: ['email.read_only'] });
    expect(narrow.scope).toEqual(['email.read_only']);
    expect(Math.abs((narrow.expires_at ?? 0) - now() - 3600)).toBeLessThan(10);
    await use(narrow.access_token, '/messages').expect(200);
    await use(narrow.access_token, '/calendars').expect(403);
    await use(token, '/calendars').expect(200);
    const { body: info } = await request(server.url)
      .post(`/a/${application.clientId}/accounts/${grantId}/token-info`)
      .set(application.secretBasic)
      .send({ access_token: narrow.access_token })
      .expect(200);
    expect(info.scopes).toBe('email.read_only');
  });

  it('are refused with 401 after they expire', async () => {
    const short = await made({ expires_in: 60 });
    await use(short.access_token).expect(200);
    await clock.pass(61_000);
    await use(short.access_token).expect(401);
    expect((await list())[1]).toMatchObject({ state: 'expired', revoked_at: null });
  });

  it.each([
    ['a lifetime of less than 60 seconds', { expires_in: 59 }, 'expires_in: must be between 60'],
    ['a lifetime that is not a number', { expires_in: 'soon' }, 'expires_in: must be an integer'],
    ['an unknown scope', { scope: ['everything'] }, 'scope: unknown scope "everything"'],
    ['a switch that is not a boolean', { revoke_other_tokens: 'yes' }, 'revoke_other_tokens'],
  ])('cannot be created with %s, and the request changes nothing', async (_, body, words) => {
    const { body: refused } = await make(body).expect(400);
    expect(refused.error.message).toContain(words);
    expect(await list()).toHaveLength(1);
  });

  it('never get more scopes than the account has', async () => {
    await request(server.url)
      .patch(`/connect/grants/${grantId}`)
      .set(application.basic)
      .send({ scope: ['calendar'] })
      .expect(200);
    const { body } = await make({
      scope: ['calendar.read_only', 'email.send'],
      revoke_other_tokens: true,
    }).expect(400);
    expect(body.error.message).toBe('scope: email.send: this account has only calendar');
    await use(token).expect(200);
    expect((await made({ scope: ['calendar.read_only'] })).scope).toEqual(['calendar.read_only']);
  });

  it('lose a scope when their account loses it', async () => {
    const narrow = await made({ scope: ['email.send', 'calendar'] });
    await request(server.url)
      .patch(`/connect/grants/${grantId}`)
      .set(application.basic)
      .send({ scope: ['email'] })
      .expect(200);
    expect((await list()).find(({ id }) => id === narrow.id)?.scope).toEqual(['email.send']);
    await use(narrow.access_token, '/calendars').expect(403);
  });

  it('of a cancelled account can be listed and revoked, but not created', async () => {
    await request(server.url)
      .post(`/a/${application.clientId}/accounts/${grantId}/downgrade`)
      .set(application.secretBasic)
      .expect(200);
    await make().expect(403);
    const [first] = await list();
    await remove(first?.id ?? '').expect(200);
  });

  it('of other applications and other accounts return 404', async () => {
    const stranger = await createApplication(server.app);
    const neighbour = await createAccount(server.app, application, { email: 'bo@sandbox.test' });
    const [first] = await list();
    await request(server.url).get(path()).set(stranger.basic).expect(404);
    await make({}, stranger).expect(404);
    await remove(first?.id ?? '', stranger).expect(404);
    await request(server.url)
      .delete(`${path(neighbour.id)}/${first?.id}`)
      .set(application.basic)
      .expect(404);
    for (const id of [NOWHERE, 'no-id', token]) await remove(id).expect(404);
    await request(server.url).get(path(NOWHERE)).set(application.basic).expect(404);
    await use(token).expect(200);
  });

  it('show when they were last used, without a database statement for each request', async () => {
    const uses = server.app.get(TokenUses);
    const unused = await made();
    await use(token).expect(200);
    await use(token).expect(200);
    expect((await list())[0]?.last_used_at).toBeNull();
    await uses.store();
    const [first, second] = await list();
    expect(Math.abs((first?.last_used_at ?? 0) - now())).toBeLessThan(10);
    expect(second).toMatchObject({ id: unused.id, last_used_at: null });
  });

  describe('after a new sign-in', () => {
    const code = async (): Promise<string> => {
      const { body } = await request(server.url)
        .post('/connect/authorize')
        .send({
          client_id: application.clientId,
          name: 'Ada',
          email_address: 'ada@sandbox.test',
          provider: 'sandbox',
        })
        .expect(200);
      return body.code as string;
    };
    const exchange = async (value: string | null, at = '/oauth/token') =>
      (
        await request(server.url)
          .post(at)
          .send({
            client_id: application.clientId,
            client_secret: application.clientSecret,
            code: value,
          })
          .expect(200)
      ).body as { access_token: string; expires_at?: number };

    it('keep working by default, and are revoked if the application asks for it', async () => {
      await exchange(await code());
      await signIn();
      await use(token).expect(200);
      await put({ revoke_tokens_on_sign_in: true });
      const { access_token } = await exchange(await code());
      await use(token).expect(401);
      await use(access_token).expect(200);
      const again = await signIn();
      await use(access_token).expect(401);
      const kept = await signIn({ revoke_other_tokens: false });
      await use(again.token).expect(200);
      await use(kept.token).expect(200);
    });

    it('are revoked if the sign-in or the creation of a new token asks for it', async () => {
      const again = await signIn({ revoke_other_tokens: true });
      await use(token).expect(401);
      const last = await made({ revoke_other_tokens: true });
      await use(again.token).expect(401);
      await use(last.access_token).expect(200);
      expect((await list()).map(({ state }) => state)).toEqual(['revoked', 'revoked', 'valid']);
    });

    it('of other accounts keep working', async () => {
      const neighbour = await createAccount(server.app, application, { email: 'bo@sandbox.test' });
      await signIn({ revoke_other_tokens: true });
      await use(neighbour.token).expect(200);
    });

    it("expire after the application's token lifetime, whichever way the user signed in", async () => {
      await put({ access_token_expires_in: 600 });
      const isSoon = (expiresAt: number | undefined | null) =>
        expect(Math.abs((expiresAt ?? 0) - now() - 600)).toBeLessThan(20);
      isSoon((await exchange(await code())).expires_at);
      isSoon((await exchange(await code(), '/connect/token')).expires_at);
      await signIn();
      isSoon((await list()).at(-1)?.expires_at);
      const { body } = await request(server.url)
        .post('/connect/auth')
        .set(application.basic)
        .send({ provider: 'sandbox', redirect_uri: REDIRECT })
        .expect(200);
      const browser = new PageBrowser(server);
      await browser.get(body.data.url);
      await browser.follow('credentials', { email: 'ada@sandbox.test', password: 'x' });
      await browser.submit('consent');
      isSoon(
        (await exchange(new URL(browser.page.location ?? '').searchParams.get('code'))).expires_at,
      );
      isSoon((await made()).expires_at);
      await put({ access_token_expires_in: null });
      expect(await exchange(await code())).not.toHaveProperty('expires_at');
      expect((await made()).expires_at).toBeNull();
    });
  });

  it('are deleted thirty days after they expire or are revoked, and not before', async () => {
    const [expired, revoked] = [await made({ expires_in: 60 }), await made()];
    await remove(revoked.id).expect(200);
    await clock.pass(2 * DAY_MS);
    const fresh = await made({ expires_in: 60 });
    await clock.pass(29 * DAY_MS);
    await pruneAccessTokens(server.app.get(Database), clock.now());
    expect((await list()).map(({ id }) => id)).not.toContain(expired.id);
    expect((await list()).map(({ id }) => id)).not.toContain(revoked.id);
    expect((await list()).map(({ id }) => id)).toContain(fresh.id);
    await use(token).expect(200);
  });
});
