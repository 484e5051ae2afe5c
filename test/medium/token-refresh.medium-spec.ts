import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { z } from 'zod';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { Clock } from '../../src/platform/base/time/clock.ts';
import { Database } from '../../src/platform/database/sql.ts';
import {
  openGrantTokens,
  sealGrantTokens,
} from '../../src/accounts/grants/credentials/grant-secrets.ts';
import {
  type ConnectedAccount,
  ProviderAccounts,
} from '../../src/accounts/grants/provider-accounts.ts';
import { TokenRefresh } from '../../src/accounts/grants/credentials/token-refresh.ts';
import { TokenStore } from '../../src/accounts/grants/credentials/token-store.ts';
import { OauthIntegrations } from '../../src/accounts/integrations/oauth-integrations.ts';
import { OauthClients } from '../../src/accounts/oauth/oauth-clients.ts';
import type { OauthTokens } from '../../src/providers/port/sign-in/oauth-descriptor.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailPort, ProviderAccount } from '../../src/providers/port/connector.ts';
import { imapIntegration } from '../../src/providers/imap/imap.integration.ts';
import { imapOauth } from '../../src/providers/imap/imap.oauth.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { rowsOf, subscribe } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { Issuer } from '../support/mail-servers/issuer.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;

describe('access tokens', () => {
  let issuer: Issuer;
  let server: TestApp;
  let box: SecretBox;
  let application: TestApplication;
  let pools: Database[] = [];
  /** Access tokens that the mailbox refuses, whatever the issuer reports. */
  const refusedTokens = new Set<string>();

  /**
   * A mailbox that accepts every user the issuer knows. Like mail servers, it asks the issuer for
   * the user of a token.
   */
  async function login({
    accessToken = '',
    email,
  }: Pick<ProviderAccount, 'accessToken' | 'email'>) {
    const response = await fetch(`${issuer.url}/me`, {
      headers: { authorization: `Bearer ${accessToken}` },
    });
    const user = response.ok ? ((await response.json()) as { sub: string }) : null;
    if (user?.sub !== email || refusedTokens.has(accessToken)) {
      throw new ProviderError('auth-invalid', 'AUTHENTICATIONFAILED');
    }
  }
  const mailbox: Connector = {
    name: 'imap',
    integration: imapIntegration,
    oauth: imapOauth,
    settingsSchema: z.looseObject({}),
    async verify(account) {
      await login(account);
      return { email: account.email, name: account.name, organizationUnit: 'folder' };
    },
    mail: {
      async fetchRaw(account: ProviderAccount) {
        if (account.accessToken !== undefined) await login(account);
        return Buffer.from(account.accessToken ?? 'by password');
      },
    } as unknown as MailPort,
  };

  beforeAll(async () => {
    issuer = await Issuer.start();
    server = await startTestApp({ ROLES: 'api' });
    server.app.get(ConnectorRegistry).replace(mailbox);
    box = server.app.get(SecretBox);
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    await issuer.setOutage(null);
    await register();
  });
  afterEach(async () => {
    await Promise.all(pools.map((pool) => pool.close()));
    pools = [];
  });
  afterAll(async () => {
    await server.close();
    await issuer.stop();
  });

  const register = () =>
    request(server.url)
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
          smtp_host: '127.0.0.1',
        },
      })
      .expect(200);

  /** Starts another process: a pool, a registry and a refresher. */
  function startProcess() {
    const database = new Database({
      url: server.database.url,
      max: 5,
      statementTimeoutMs: 10_000,
      applicationName: 'test',
    });
    pools.push(database);
    const clock = server.app.get(Clock);
    const store = new TokenStore(database, box, clock);
    const connectors = new ConnectorRegistry([mailbox]);
    const refresh = new TokenRefresh(
      store,
      new OauthIntegrations(database, box, connectors),
      new OauthClients(server.app.get(EgressClient), clock),
      connectors,
      clock,
    );
    refresh.onModuleInit();
    const accounts = new ProviderAccounts(database, box);
    const load = async (id: string): Promise<ConnectedAccount> => {
      const account = await accounts.find(id);
      if (!account) throw new Error('no account');
      return account;
    };
    const use = async (account: ConnectedAccount) =>
      (await connectors.requireMail('imap').fetchRaw(account, '1')).toString();
    return { store, load, use };
  }

  /**
   * A grant whose access token expires in `leftMs` milliseconds. The token was issued for an hour.
   */
  async function signedIn(leftMs: number) {
    const email = `${randomUUID()}@example.test`;
    const issued = await issuer.tokens(email);
    const account = await createAccount(server.app, application, { provider: 'imap', email });
    const now = Date.now();
    const tokens: OauthTokens = {
      accessToken: issued.accessToken,
      refreshToken: issued.refreshToken,
      obtainedAt: now + leftMs - HOUR_MS,
      expiresAt: now + leftMs,
    };
    await put(account.id, tokens);
    return { ...account, tokens };
  }

  const put = (id: string, tokens: OauthTokens) =>
    rowsOf(server, 'update "grant" set tokens_sealed = $2, token_version = 1 where id = $1', [
      id,
      sealGrantTokens(box, id, tokens),
    ]);
  async function stored(id: string) {
    const [row] = await rowsOf<{
      status: string;
      reason: string | null;
      sealed: string;
      version: number;
      leased: boolean;
    }>(
      server,
      `select status, status_reason as reason, tokens_sealed as sealed, token_version as version,
         token_lease_until is not null as leased from "grant" where id = $1`,
      [id],
    );
    if (!row) throw new Error('no grant');
    const { sealed, ...shown } = row;
    return { ...shown, tokens: openGrantTokens(box, id, sealed) };
  }
  const refreshesBy = async (work: () => Promise<unknown>) => {
    const before = await issuer.tokenRequests();
    await work();
    return (await issuer.tokenRequests()) - before;
  };
  const errorOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

  it('are used unchanged until they expire', async () => {
    const { load, use } = startProcess();
    const { id, tokens } = await signedIn(HOUR_MS / 2);
    const account = await load(id);
    expect(await refreshesBy(async () => expect(await use(account)).toBe(tokens.accessToken))).toBe(
      0,
    );
  });

  it('are not used for accounts with passwords', async () => {
    const { load, use } = startProcess();
    const { id } = await createAccount(server.app, application, { provider: 'imap' });
    const account = await load(id);
    expect(account).not.toHaveProperty('accessToken');
    expect(await refreshesBy(async () => expect(await use(account)).toBe('by password'))).toBe(0);
  });

  it('are refreshed once for twenty users in two processes, before they expire', async () => {
    const processes = [startProcess(), startProcess()];
    const { id, tokens } = await signedIn(60_000);
    const used: string[] = [];
    const refreshes = await refreshesBy(async () => {
      await Promise.all(
        processes.flatMap(({ load, use }) =>
          Array.from({ length: 10 }, async () => used.push(await use(await load(id)))),
        ),
      );
    });
    expect(refreshes).toBe(1);
    const now = await stored(id);
    expect(now).toMatchObject({ version: 2, leased: false, status: 'valid' });
    expect(now.tokens.accessToken).not.toBe(tokens.accessToken);
    expect(now.tokens.refreshToken).not.toBe(tokens.refreshToken);
    expect(new Set(used)).toEqual(new Set([now.tokens.accessToken]));
  });

  it('reach callers that loaded the account before the refresh', async () => {
    const { load, use } = startProcess();
    const { id } = await signedIn(60_000);
    const account = await load(id);
    const first = await use(account);
    expect(await refreshesBy(async () => expect(await use(account)).toBe(first))).toBe(0);
  });

  it('are refreshed by another process when the first one has died', async () => {
    const [dead, alive] = [startProcess(), startProcess()];
    const { id } = await signedIn(-1_000);
    expect(await dead.store.lease(id, 1)).not.toBeNull();
    expect(await alive.store.lease(id, 1)).toBeNull();
    await rowsOf(
      server,
      `update "grant" set token_lease_until = now() + interval '300 ms' where id = $1`,
      [id],
    );
    expect(await alive.use(await alive.load(id))).toBe((await stored(id)).tokens.accessToken);
    expect((await stored(id)).version).toBe(2);
  });

  it('are neither overwritten nor made invalid when their user signs in again during a refresh', async () => {
    const { store } = startProcess();
    const { id, tokens } = await signedIn(-1_000);
    const lease = await store.lease(id, 1);
    if (!lease) throw new Error('no lease');
    const again = { ...tokens, accessToken: 'again' };
    await rowsOf(server, 'update "grant" set tokens_sealed = $2, token_version = 2 where id = $1', [
      id,
      sealGrantTokens(box, id, again),
    ]);
    expect(await store.store(lease, { ...tokens, accessToken: 'late' })).toBeNull();
    expect(await store.invalidate(lease, 'late')).toBe(false);
    expect(await stored(id)).toMatchObject({ status: 'valid', tokens: again });
  });

  it('make the grant invalid, with one webhook, when the issuer refuses to refresh them', async () => {
    await subscribe(server, application, ['account.invalid']);
    const { load, use } = startProcess();
    const { id, tokens } = await signedIn(-1_000);
    await issuer.revoke(tokens.refreshToken ?? '');
    const account = await load(id);
    const errors = await Promise.all([errorOf(use(account)), errorOf(use(account))]);
    for (const error of errors) expect(error).toMatchObject({ code: 'auth-invalid' });
    expect(await errorOf(use(account))).toMatchObject({ code: 'auth-invalid' });
    expect(await stored(id)).toMatchObject({
      status: 'invalid',
      reason: expect.stringContaining('invalid_grant'),
      leased: false,
    });
    const events = await rowsOf(server, 'select 1 from webhook_event where application_id = $1', [
      application.id,
    ]);
    expect(events).toHaveLength(1);
  });

  it('are lost when the response to a refresh is lost, and the user has to sign in again', async () => {
    const { load, use } = startProcess();
    const { id, tokens } = await signedIn(60_000);
    await use(await load(id));
    await put(id, { ...tokens, expiresAt: Date.now() - 1 });
    expect(await errorOf(startProcess().use(await load(id)))).toMatchObject({
      code: 'auth-invalid',
    });
    expect((await stored(id)).status).toBe('invalid');
  });

  it.each([500, 503, 429])('leave the grant valid while the issuer answers %d', async (status) => {
    const { load, use } = startProcess();
    const { id } = await signedIn(-1_000);
    const account = await load(id);
    await issuer.setOutage(status);
    expect(await errorOf(use(account))).toMatchObject({
      code: 'temporary',
      message: expect.stringContaining(String(status)),
    });
    expect(await stored(id)).toMatchObject({ status: 'valid', version: 1, leased: false });
    await issuer.setOutage(null);
    expect(await startProcess().use(account)).toBe((await stored(id)).tokens.accessToken);
  });

  it('are used until they expire while the issuer is unavailable', async () => {
    const { load, use } = startProcess();
    const { id, tokens } = await signedIn(60_000);
    await issuer.setOutage(503);
    expect(await use(await load(id))).toBe(tokens.accessToken);
  });

  it('leave the grant valid when the application has deleted its integration', async () => {
    const { load, use } = startProcess();
    const { id } = await signedIn(-1_000);
    await request(server.url)
      .delete('/connect/integrations/imap')
      .set(application.basic)
      .expect(200);
    expect(await errorOf(use(await load(id)))).toMatchObject({ code: 'temporary' });
    expect((await stored(id)).status).toBe('valid');
    await register();
    expect(await startProcess().use(await load(id))).toBe((await stored(id)).tokens.accessToken);
  });

  it('are refreshed once, for all refused callers, when the mailbox refuses them early', async () => {
    const { load, use } = startProcess();
    const { id, tokens } = await signedIn(HOUR_MS);
    refusedTokens.add(tokens.accessToken);
    const account = await load(id);
    const refreshes = await refreshesBy(() =>
      Promise.all(Array.from({ length: 10 }, () => use(account))),
    );
    expect(refreshes).toBe(1);
    expect((await stored(id)).version).toBe(2);
  });

  it('are not refreshed repeatedly for a mailbox that refuses new ones too', async () => {
    const { load, use } = startProcess();
    const { id } = await signedIn(HOUR_MS);
    const account = { ...(await load(id)), email: 'somebody-else@example.test' };
    expect(
      await refreshesBy(async () =>
        expect(await errorOf(use(account))).toMatchObject({ code: 'auth-invalid' }),
      ),
    ).toBe(1);
    expect(
      await refreshesBy(async () =>
        expect(await errorOf(use(account))).toMatchObject({ code: 'auth-invalid' }),
      ),
    ).toBe(0);
  });

  describe('of accounts that are connected with a refresh token', () => {
    const connect = (settings: object) =>
      request(server.url)
        .post('/connect/grants')
        .set(application.basic)
        .send({ provider: 'imap', settings });

    it('are requested, verified and stored, and never shown', async () => {
      const email = `${randomUUID()}@example.test`;
      const { refreshToken } = await issuer.tokens(email);
      const response = await connect({ email, refresh_token: refreshToken });
      expect(response.body.data).toMatchObject({ provider: 'imap', email, grant_status: 'valid' });
      const { tokens } = await stored(response.body.data.id);
      expect(tokens).toMatchObject({
        accessToken: expect.any(String),
        refreshToken: expect.any(String),
        expiresAt: expect.any(Number),
      });
      for (const secret of [tokens.accessToken, tokens.refreshToken, refreshToken]) {
        expect(JSON.stringify(response.body)).not.toContain(secret);
      }
      const [row] = await rowsOf<{ text: string }>(
        server,
        'select g::text as text from "grant" g where id = $1',
        [response.body.data.id],
      );
      expect(row?.text).not.toContain(tokens.accessToken);
    });

    it('make an invalid grant valid again under the same id', async () => {
      const { id, email } = await signedIn(-1_000);
      await rowsOf(
        server,
        `update "grant" set status = 'invalid', sync_state = 'invalid' where id = $1`,
        [id],
      );
      const { refreshToken } = await issuer.tokens(email);
      const changed = await request(server.url)
        .patch(`/connect/grants/${id}`)
        .set(application.basic)
        .send({ settings: { refresh_token: refreshToken } });
      expect(changed.body.data).toMatchObject({ id, grant_status: 'valid' });
      expect((await stored(id)).version).toBe(2);
    });

    it.each<[string, (email: string) => Promise<object>, number, string]>([
      ['that is not valid', async (email) => ({ email, refresh_token: 'x' }), 400, 'invalid_grant'],
      [
        'that is empty',
        async (email) => ({ email, refresh_token: '' }),
        400,
        'settings.refresh_token',
      ],
      [
        "of another user's mailbox",
        async (email) => ({
          email,
          refresh_token: (await issuer.tokens('eve@example.test')).refreshToken,
        }),
        400,
        'refused the credentials',
      ],
    ])(
      'are refused for a refresh token %s, and nothing is stored',
      async (_, settings, status, words) => {
        const email = `${randomUUID()}@example.test`;
        const response = await connect(await settings(email));
        expect([response.status, response.body.error.message]).toEqual([
          status,
          expect.stringContaining(words),
        ]);
        expect(await rowsOf(server, 'select 1 from "grant" where email = $1', [email])).toEqual([]);
      },
    );

    it('are refused if the integration has no OAuth', async () => {
      await request(server.url)
        .patch('/connect/integrations/imap')
        .set(application.basic)
        .send({ settings: { issuer: '', imap_host: '', smtp_host: '' } })
        .expect(200);
      const response = await connect({ email: 'ada@example.test', refresh_token: 'x' });
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain('do not sign in by OAuth');
    });

    it('cause a 503 while the issuer is unavailable', async () => {
      await issuer.setOutage(503);
      expect((await connect({ email: 'ada@example.test', refresh_token: 'x' })).status).toBe(503);
    });
  });

  it('are revoked when their account is disconnected', async () => {
    const { id, tokens } = await signedIn(HOUR_MS);
    await request(server.url).delete(`/connect/grants/${id}`).set(application.basic).expect(200);
    await until('the issuer to refuse the token', async () => {
      const { status } = await fetch(`${issuer.url}/me`, {
        headers: { authorization: `Bearer ${tokens.accessToken}` },
      });
      return status === 401;
    });
  });
});
