import request from 'supertest';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { expectDeclaredSettings } from '../support/connector-contract.ts';
import { loggedLines } from '../support/log-watch.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const IGNORED = 'x-carillon-ignored';
const REDIRECT = 'https://app.example.test/callback';

type Settings = Record<string, unknown>;

/** A server and an application with an integration for each provider. */
interface World {
  server: TestApp;
  application: TestApplication;
  /** Connects an account with the application's secret. */
  grant(provider: string, settings: Settings, more?: object, query?: string): request.Test;
  /** Connects an account without a secret. */
  native(provider: string, settings: Settings): request.Test;
  /** Creates a sign-in link. */
  link(settings: Settings, provider?: string): request.Test;
}

async function startWorld(environment: Record<string, string> = {}): Promise<World> {
  const server = await startTestApp({ ROLES: 'api', ...environment });
  const application = await createApplication(server.app);
  const post = (path: string, body: object) =>
    request(server.url).post(path).set(application.basic).send(body);
  await request(server.url)
    .put(`/a/${application.clientId}`)
    .set(application.secretBasic)
    .send({ redirect_uris: [REDIRECT] })
    .expect(200);
  for (const provider of ['sandbox', 'imap'])
    await post('/connect/integrations', { provider, name: provider, settings: {} }).expect(200);
  const client = { client_id: 'c', client_secret: 's' };
  await post('/connect/integrations', { provider: 'google', name: 'g', settings: client });
  return {
    server,
    application,
    grant: (provider, settings, more = {}, query = '') =>
      post(`/connect/grants${query}`, { provider, settings, ...more }),
    native: (provider, settings) =>
      request(server.url).post('/connect/authorize').send({
        client_id: application.clientId,
        name: 'Ada',
        email_address: 'ada@sandbox.test',
        provider,
        settings,
      }),
    link: (settings, provider) =>
      post('/connect/auth', { redirect_uri: REDIRECT, settings, ...(provider && { provider }) }),
  };
}

const messageOf = ({ body }: request.Response): string =>
  String(
    (body as { message?: string }).message ??
      (body as { error?: { message?: string } }).error?.message,
  );

/** Servers that this server refuses to contact, so that no request leaves it. */
const SERVERS = { imap_host: '127.0.0.1', smtp_host: '127.0.0.1' };

describe('settings of an account that its provider does not have', () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
  });
  afterAll(() => world.server.close());

  it('have no effect on a new account, and the response names them and the nearest known ones', async () => {
    const settings = { email: 'ada@sandbox.test', pasword: 'x', sent_copys: false };
    const { status, headers } = await world.grant('sandbox', settings);
    expect(status).toBe(200);
    expect(headers[IGNORED]).toBe('settings.pasword, settings.sent_copys');
    expect(headers['warning']).toBe(
      '299 - "Unknown fields were ignored: settings.pasword (did you mean password?), settings.sent_copys (did you mean sent_copies?)"',
    );
  });

  it('are those that the schema of its connector does not declare', () => {
    const connectors = world.server.app.get(ConnectorRegistry).all();
    expect(connectors.length).toBeGreaterThan(4);
    for (const connector of connectors) expectDeclaredSettings(connector);
  });

  it('are reported next to other unknown fields and query parameters', async () => {
    const settings = { email: 'bo@sandbox.test', pasword: 'x' };
    const { headers } = await world.grant('sandbox', settings, { metadta: {} }, '?sync=1');
    expect(headers[IGNORED]).toBe('sync, metadta, settings.pasword');
  });

  it('are reported when the provider refuses the account', async () => {
    const settings = { email: 'ada@sandbox.test', password: 'wrong', sampel_messages: false };
    const { status, headers } = await world.grant('sandbox', settings);
    expect([status, headers[IGNORED]]).toEqual([400, 'settings.sampel_messages']);
  });

  it('are logged once, without their values', async () => {
    for (const name of ['cy', 'di'])
      await world.grant('sandbox', { email: `${name}@sandbox.test`, zz_logged: 'value-of-it' });
    const lines = loggedLines().filter((line) => line.includes('zz_logged'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('unknown field settings.zz_logged of GrantsController.create');
    expect(loggedLines().join('')).not.toContain('value-of-it');
  });

  it('do not include the address, the name and a user name that is the address', async () => {
    const address = 'ed@sandbox.test';
    for (const settings of [
      { email: address, name: 'Ed' },
      { email_address: address },
      { username: address },
    ]) {
      const { status, headers } = await world.grant('sandbox', settings);
      expect([settings, status, headers[IGNORED]]).toEqual([settings, 200, undefined]);
    }
  });

  it('include a user name that is no address, which is not the login', async () => {
    const settings = { email: 'ada@example.test', username: 'corp\\ada', password: 'x' };
    const { headers } = await world.grant('imap', { ...settings, ...SERVERS });
    expect(headers[IGNORED]).toBe('settings.username');
  });

  it('are reported in a native sign-in, where no setting has the address', async () => {
    const { status, headers } = await world.native('sandbox', {
      password: 'x',
      email: 'ada@sandbox.test',
      organisation_unit: 'label',
    });
    expect([status, headers[IGNORED]]).toEqual([200, 'settings.email, settings.organisation_unit']);
    expect(headers['warning']).toContain('(did you mean organization_unit?)');
  });

  it('depend on the provider that takes the settings of a shared name', async () => {
    const token = { google_client_id: 'c', google_client_secret: 's', google_refresh_token: 't' };
    const google = await world.native('gmail', { ...token, imap_host: '127.0.0.1' });
    expect(google.headers[IGNORED]).toBe('settings.imap_host');
    const imap = await world.native('gmail', {
      ...SERVERS,
      password: 'x',
      google_refresh_tokn: 't',
    });
    expect(imap.headers[IGNORED]).toBe('settings.google_refresh_tokn');
  });

  it('are not reported if official clients send them for another provider', async () => {
    const login = { password: 'x', ...SERVERS };
    for (const [provider, settings] of [
      ['exchange', { username: 'corp\\ada', exchange_server_host: 'h', ...login }],
      ['exchange', { username: 'corp\\ada', eas_server_host: 'h', ...login }],
      ['office365', { redirect_uri: REDIRECT, ...login }],
    ] as const) {
      const { headers } = await world.native(provider, settings);
      expect([provider, settings, headers[IGNORED]]).toEqual([provider, settings, undefined]);
    }
  });

  it('include servers beside a refresh token, because those of the integration count', async () => {
    const settings = { email: 'ada@example.test', refresh_token: 'r', ...SERVERS };
    const { headers } = await world.grant('imap', settings);
    expect(headers[IGNORED]).toBe('settings.imap_host, settings.smtp_host');
  });

  it('are reported in a sign-in link, also credentials that users type themselves', async () => {
    const chosen = await world.link({ imap_hots: 'x', imap_host: 'x', password: 'x' }, 'imap');
    expect([chosen.status, chosen.headers[IGNORED]]).toEqual([
      200,
      'settings.imap_hots, settings.password',
    ]);
    const open = await world.link({ imap_host: 'x', sample_messages: false, sampel: 1 });
    expect(open.headers[IGNORED]).toBe('settings.sampel');
  });

  describe('in a change of the account', () => {
    let ada: TestAccount;
    beforeAll(async () => {
      ada = await createAccount(world.server.app, world.application, { email: 'fay@sandbox.test' });
    });
    const change = (settings: Settings) =>
      request(world.server.url)
        .patch(`/connect/grants/${ada.id}`)
        .set(world.application.basic)
        .send({ settings });

    it('are refused', async () => {
      const response = await change({ pasword: 'x' });
      expect(response.status).toBe(400);
      expect(messageOf(response)).toContain('settings: must not contain pasword');
    });

    it('are refused if they would change what is read only when the account is connected', async () => {
      for (const name of ['email', 'email_address', 'username']) {
        const same = await change({ [name]: 'Fay@sandbox.test', password: 'x' });
        expect([name, same.status]).toEqual([name, 200]);
        const other = await change({ [name]: 'guy@sandbox.test', password: 'x' });
        expect([other.status, messageOf(other)]).toEqual([
          400,
          `settings.${name}: cannot be changed: the account has fay@sandbox.test`,
        ]);
      }
    });
  });
});

describe('settings that the provider does not have, with STRICT_REQUESTS=true', () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({ STRICT_REQUESTS: 'true' });
  });
  afterAll(() => world.server.close());

  it('are refused with the known names, before the provider is asked, and nothing is stored', async () => {
    const settings = { email: 'ada@sandbox.test', pasword: 'wrong', sent_copys: true };
    const response = await world.grant('sandbox', settings);
    expect(response.status).toBe(400);
    expect(messageOf(response)).toMatch(
      /^Unknown fields: settings\.pasword \(did you mean password\?\), settings\.sent_copys \(did you mean sent_copies\?\); known in settings: password, name, .*, email_address$/,
    );
    const { body } = await request(world.server.url)
      .get('/connect/grants')
      .set(world.application.basic);
    expect(body).toMatchObject({ data: [] });
  });

  it('are refused in a native sign-in and in a sign-in link', async () => {
    for (const sent of [
      world.native('sandbox', { pasword: 'x' }),
      world.link({ pasword: 'x' }, 'sandbox'),
    ]) {
      const response = await sent;
      expect([response.status, messageOf(response)]).toEqual([
        400,
        expect.stringContaining('Unknown fields: settings.pasword (did you mean password?)'),
      ]);
    }
  });
});
