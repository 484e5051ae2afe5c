import { randomBytes, randomUUID } from 'node:crypto';
import request from 'supertest';
import {
  openGrantTokens,
  sealGrantTokens,
} from '../../src/accounts/grants/credentials/grant-secrets.ts';
import { run } from '../../src/cli/carillon/program.ts';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import { rowsOf } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { Issuer } from '../support/mail-servers/issuer.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const HOUR_MS = 3_600_000;

describe('carillon account refresh-token', () => {
  const key = `test:${randomBytes(32).toString('base64')}`;
  let issuer: Issuer;
  let server: TestApp;
  let application: TestApplication;

  // One server for each test: a process that has run an operator command cannot use its ORM again.
  beforeEach(async () => {
    issuer = await Issuer.start();
    server = await startTestApp({ ROLES: 'api', ENCRYPTION_KEYS: key });
    application = await createApplication(server.app);
    const { clientId: client_id, clientSecret: client_secret, url } = issuer;
    const host = '127.0.0.1';
    const settings = { client_id, client_secret, issuer: url, imap_host: host, smtp_host: host };
    await request(server.url)
      .post('/connect/integrations')
      .set(application.basic)
      .send({ name: 'Mail', provider: 'imap', settings })
      .expect(200);
  });
  afterEach(async () => {
    await server.close();
    await issuer.stop();
  });

  async function refreshToken(id: string, ...flags: string[]): Promise<string> {
    let output = '';
    await run([...flags, 'account', 'refresh-token', id], {
      environment: {
        NODE_ENV: 'test',
        DATABASE_URL: server.database.url,
        ENCRYPTION_KEYS: key,
        EGRESS_ALLOW: '127.0.0.0/8',
      },
      print: (text) => (output += text),
      write: (text) => (output += text),
    });
    return output;
  }

  /** An account whose access token is good for half an hour. */
  async function signedIn(refreshToken?: string) {
    const email = `${randomUUID()}@example.test`;
    const issued = await issuer.tokens(email);
    const { id } = await createAccount(server.app, application, { provider: 'imap', email });
    const tokens = {
      accessToken: issued.accessToken,
      refreshToken: refreshToken ?? issued.refreshToken,
      obtainedAt: Date.now() - HOUR_MS / 2,
      expiresAt: Date.now() + HOUR_MS / 2,
    };
    await rowsOf(server, 'update "grant" set tokens_sealed = $2, token_version = 1 where id = $1', [
      id,
      sealGrantTokens(server.app.get(SecretBox), id, tokens),
    ]);
    return { id, tokens };
  }

  async function stored(id: string) {
    const [row] = await rowsOf<{ status: string; sealed: string }>(
      server,
      'select status, tokens_sealed as sealed from "grant" where id = $1',
      [id],
    );
    const { sealed = '', status } = row ?? {};
    return { status, tokens: openGrantTokens(server.app.get(SecretBox), id, sealed) };
  }

  it('replaces a token that is still good, and prints when the new one expires', async () => {
    const { id, tokens } = await signedIn();
    const printed: unknown = JSON.parse(await refreshToken(id, '--json'));
    const now = await stored(id);
    expect(now.status).toBe('valid');
    expect(now.tokens.accessToken).not.toBe(tokens.accessToken);
    const expiresAt = new Date(now.tokens.expiresAt ?? NaN).toISOString();
    expect(printed).toEqual({ account_id: id, expires_at: expiresAt });
    expect(await refreshToken(id)).toContain('The provider has given a new access token');
  });

  it('reports a refusal of the issuer, and the account becomes invalid', async () => {
    const { id } = await signedIn('unknown');
    await expect(refreshToken(id)).rejects.toMatchObject({ code: 'auth-invalid' });
    expect(await stored(id)).toMatchObject({ status: 'invalid' });
  });

  it('refuses accounts with a password, and ids of no account', async () => {
    const { id } = await createAccount(server.app, application, { provider: 'imap' });
    await expect(refreshToken(id)).rejects.toThrow('has a password');
    await expect(refreshToken(randomUUID())).rejects.toThrow('there is no account');
  });
});
