import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import {
  openGrantTokens,
  sealGrantTokens,
} from '../../src/accounts/grants/credentials/grant-secrets.ts';
import { OauthIntegrations } from '../../src/accounts/integrations/oauth-integrations.ts';
import { OauthClients } from '../../src/accounts/oauth/oauth-clients.ts';
import type { OauthTokens } from '../../src/providers/port/sign-in/oauth-descriptor.ts';
import { rowsOf, subscribe } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import type { Issuer } from '../support/mail-servers/issuer.ts';
import { MailServers, mimeOf, type MailUser } from '../support/mail-servers/mail-servers.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

describeWith(['dovecot', 'exim4'], 'an account that has signed in by OAuth', () => {
  let servers: MailServers;
  let issuer: Issuer;
  let server: TestApp;
  let application: TestApplication;
  beforeAll(async () => {
    servers = await MailServers.start({ oauth: true });
    if (!servers.issuer) throw new Error('no issuer');
    issuer = servers.issuer;
    server = await startTestApp();
    application = await createApplication(server.app);
    await request(server.url)
      .post('/connect/integrations')
      .set(application.basic)
      .send({
        name: 'Mail',
        provider: 'imap',
        settings: {
          client_id: issuer.clientId,
          client_secret: issuer.clientSecret,
          issuer: issuer.url,
          imap_host: '127.0.0.1',
          imap_port: servers.dovecot.ports.imap,
          imap_security: 'none',
          smtp_host: '127.0.0.1',
          smtp_port: servers.dovecot.ports.submission,
          smtp_security: 'none',
        },
      })
      .expect(200);
    await subscribe(server, application, ['account.invalid']);
  });
  beforeEach(() => issuer.setAccessTokenSeconds(3_600));
  afterAll(async () => {
    await server.close();
    await servers.stop();
  });

  async function connect() {
    const user = await servers.addUser();
    const { refreshToken } = await issuer.tokens(user.email);
    const { body } = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({ provider: 'imap', settings: { email: user.email, refresh_token: refreshToken } })
      .expect(200);
    const { id, access_token: token } = body.data as { id: string; access_token: string };
    return { id, user, bearer: { authorization: `Bearer ${token}` } };
  }
  type Account = Awaited<ReturnType<typeof connect>>;

  async function stored({ id }: Account) {
    const [row] = await rowsOf<{ status: string; sealed: string; version: number }>(
      server,
      'select status, tokens_sealed as sealed, token_version as version from "grant" where id = $1',
      [id],
    );
    if (!row) throw new Error('no grant');
    const tokens = openGrantTokens(server.app.get(SecretBox), id, row.sealed);
    return { status: row.status, version: row.version, tokens };
  }
  const put = ({ id }: Account, tokens: OauthTokens) =>
    rowsOf(
      server,
      'update "grant" set tokens_sealed = $2, token_version = token_version + 1 where id = $1',
      [id, sealGrantTokens(server.app.get(SecretBox), id, tokens)],
    );
  const mirrored = async ({ bearer }: Account, subject: string) => {
    const { body } = await request(server.url)
      .get('/messages')
      .query({ subject })
      .set(bearer)
      .expect(200);
    return (body as { id: string }[])[0]?.id;
  };
  async function arrives(account: Account): Promise<string> {
    const subject = `Subject ${randomUUID()}`;
    await servers.deliver(account.user, mimeOf({ Subject: subject }));
    await request(server.url)
      .post(`/connect/grants/${account.id}/sync`)
      .set(application.basic)
      .expect(200);
    await until(
      'the message to be mirrored',
      async () => (await mirrored(account, subject)) !== undefined,
    );
    return (await mirrored(account, subject)) ?? '';
  }
  const raw = ({ bearer }: Account, id: string) =>
    request(server.url).get(`/messages/${id}`).set(bearer).set('accept', 'message/rfc822');
  const received = async (user: MailUser, subject: string) => {
    const client = await servers.client(user);
    try {
      await client.mailboxOpen('INBOX');
      const found = await client.search({ subject });
      return Array.isArray(found) && found.length > 0;
    } finally {
      await client.logout();
    }
  };
  const invalidWebhooks = async ({ id }: Account) =>
    (
      await rowsOf<{ body: Buffer }>(
        server,
        `select body from webhook_event where type = 'account.invalid'`,
      )
    ).filter(({ body }) => body.includes(id)).length;
  async function signInAgain(account: Account) {
    const { refreshToken } = await issuer.tokens(account.user.email);
    const { body } = await request(server.url)
      .patch(`/connect/grants/${account.id}`)
      .set(application.basic)
      .send({ settings: { refresh_token: refreshToken } })
      .expect(200);
    expect(body.data).toMatchObject({ id: account.id, grant_status: 'valid' });
  }

  it('reads its mailbox and sends from it', async () => {
    const account = await connect();
    const other = await servers.addUser();
    const id = await arrives(account);
    expect((await raw(account, id)).status).toBe(200);
    const subject = `Sent ${randomUUID()}`;
    await request(server.url)
      .post('/v2/outbox')
      .set(account.bearer)
      .send({ to: [{ email: other.email }], subject, body: 'Hello' })
      .expect(202);
    await until('the message to be delivered', () => received(other, subject));
  });

  it('continues with new tokens when the first ones expire in the middle of a session, and rotates each once', async () => {
    // Enough time to sign in with the first token. The later ones are valid for long.
    await issuer.setAccessTokenSeconds(10);
    const account = await connect();
    await issuer.setAccessTokenSeconds(3_600);
    const first = await stored(account);
    await until('the token to expire', () =>
      Promise.resolve(Date.now() > (first.tokens.expiresAt ?? 0)),
    );
    const id = await arrives(account);
    expect((await raw(account, id)).status).toBe(200);
    const later = await stored(account);
    expect(later.status).toBe('valid');
    expect(later.version).toBeGreaterThan(first.version);
    expect(later.tokens.refreshToken).not.toBe(first.tokens.refreshToken);
  });

  it('becomes invalid with one webhook when its access is revoked, and valid again after a sign-in', async () => {
    const account = await connect();
    await arrives(account);
    const { tokens } = await stored(account);
    await issuer.revoke(tokens.refreshToken ?? '');
    // Dovecot checks tokens at login only. The restart ends every session.
    await servers.dovecot.end();
    await servers.dovecot.begin();
    await request(server.url)
      .post(`/connect/grants/${account.id}/sync`)
      .set(application.basic)
      .expect(200);
    // A server that has just started is slow at its first login, and an account whose login failed
    // is left alone for a while.
    await until(
      'the grant to be invalid',
      async () => (await stored(account)).status === 'invalid',
      60_000,
    );
    expect(await invalidWebhooks(account)).toBe(1);
    await signInAgain(account);
    await arrives(account);
    expect(await invalidWebhooks(account)).toBe(1);
  });

  it('becomes invalid if its refresh token was used elsewhere, because the issuer treats the token as stolen', async () => {
    const account = await connect();
    const { tokens } = await stored(account);
    const way = await server.app
      .get(OauthIntegrations, { strict: false })
      .client(application.id, 'imap');
    if (!way || tokens.refreshToken === null) throw new Error('no OAuth');
    const credential = { kind: 'refresh-token', refreshToken: tokens.refreshToken } as const;
    await server.app.get(OauthClients, { strict: false }).obtain(way.registration, credential);
    await put(account, { ...tokens, expiresAt: Date.now() - 1 });
    await request(server.url)
      .post(`/connect/grants/${account.id}/sync`)
      .set(application.basic)
      .expect(200);
    await until(
      'the grant to be invalid',
      async () => (await stored(account)).status === 'invalid',
    );
    await signInAgain(account);
    await arrives(account);
  });

  it('becomes invalid with one webhook when the issuer refuses its refresh token with a challenge', async () => {
    const account = await connect();
    const { tokens } = await stored(account);
    await put(account, { ...tokens, expiresAt: Date.now() - 1 });
    await issuer.setRefusal('invalid_grant');
    try {
      await request(server.url)
        .post(`/connect/grants/${account.id}/sync`)
        .set(application.basic)
        .expect(200);
      await until(
        'the grant to be invalid',
        async () => (await stored(account)).status === 'invalid',
      );
    } finally {
      await issuer.setRefusal(null);
    }
    expect(await invalidWebhooks(account)).toBe(1);
    await signInAgain(account);
    await arrives(account);
  });

  it('keeps its tokens when a client saves the settings that it has read', async () => {
    const account = await connect();
    const path = `/connect/grants/${account.id}`;
    const read = await request(server.url).get(path).set(application.basic).expect(200);
    const { settings } = read.body.data as { settings: { imap_port: number } };
    expect(settings).toMatchObject({ imap_host: '127.0.0.1', imap_username: account.user.email });
    expect(read.text).not.toContain('password');
    const before = await stored(account);
    // Java's client writes every number as a decimal.
    const body = `{"settings": ${JSON.stringify(settings).replace(/(port":\d+)/g, '$1.0')}}`;
    const saved = await request(server.url)
      .patch(path)
      .set(application.basic)
      .set('content-type', 'application/json')
      .send(body);
    expect([saved.status, saved.body.data.settings]).toEqual([200, settings]);
    expect(await stored(account)).toEqual(before);
  });

  it('is refused by the name of the setting if the refresh token is wrong', async () => {
    const { email } = await servers.addUser();
    const { body } = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({ provider: 'imap', settings: { email, refresh_token: 'nonsense' } })
      .expect(400);
    expect(body.error).toEqual({
      type: 'grant.credentials_refused',
      message: expect.stringMatching(/^settings\.refresh_token: .*invalid_grant/),
    });
  });

  it("is refused for another user's mailbox", async () => {
    const victim = await servers.addUser();
    const { refreshToken } = await issuer.tokens((await servers.addUser()).email);
    const response = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({ provider: 'imap', settings: { email: victim.email, refresh_token: refreshToken } });
    expect(response.status).toBe(400);
    expect(await rowsOf(server, 'select 1 from "grant" where email = $1', [victim.email])).toEqual(
      [],
    );
  });
});
