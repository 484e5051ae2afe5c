import net, { type AddressInfo } from 'node:net';
import { once } from 'node:events';
import request from 'supertest';
import { registerSandbox } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { freePorts } from '../support/mail-servers/processes.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { ScriptedSmtp } from '../support/scripted-smtp.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { FakeImap } from './support/fake-imap.ts';

const WEB = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
const REDIRECT = 'https://app.example.test/callback';

describe('an outsider who uses the public sign-in of an application', () => {
  let server: TestApp;
  let application: TestApplication;
  let imap: FakeImap;
  let smtp: ScriptedSmtp;
  const listeners: net.Server[] = [];

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    imap = await FakeImap.start({ password: 'right' });
    smtp = await ScriptedSmtp.start();
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    await request(server.url)
      .put(`/a/${application.clientId}`)
      .set(application.secretBasic)
      .send({ redirect_uris: [REDIRECT] })
      .expect(200);
  });
  afterAll(async () => {
    for (const listener of listeners) listener.close();
    await imap.stop();
    await smtp.stop();
    await server.close();
  });

  const listening = async (listener: net.Server): Promise<number> => {
    listeners.push(listener.listen(0, '127.0.0.1'));
    await once(listener, 'listening');
    return (listener.address() as AddressInfo).port;
  };
  /**
   * Addresses with different servers, or none, behind them. The outsider tries to find out which.
   */
  const targets = async (): Promise<[what: string, host: string, port: number][]> => [
    ['a closed port', '127.0.0.1', (await freePorts(1))[0] ?? 0],
    ['a web server', '127.0.0.1', await listening(net.createServer((socket) => socket.end(WEB)))],
    [
      'a port that hangs up',
      '127.0.0.1',
      await listening(net.createServer((socket) => socket.destroy())),
    ],
    ['a private address', '10.0.0.1', 993],
    ['the metadata service', '169.254.169.254', 80],
  ];
  const own = () => ({
    imap_host: '127.0.0.1',
    imap_port: imap.port,
    imap_security: 'none',
    imap_password: 'right',
    smtp_host: '127.0.0.1',
    smtp_port: smtp.port,
    smtp_security: 'none',
  });
  const native = (settings: object, more: object = {}) =>
    request(server.url)
      .post('/connect/authorize')
      .send({
        client_id: application.clientId,
        name: 'Mallory',
        email_address: 'mallory@attacker.test',
        provider: 'imap',
        settings,
        ...more,
      });

  it('learns nothing about a network from native sign-ins at servers of their choice', async () => {
    const answers = new Set<string>();
    for (const [, host, port] of await targets()) {
      for (const kind of ['imap', 'smtp']) {
        const place = { [`${kind}_host`]: host, [`${kind}_port`]: port };
        const { status, body } = await native({ ...own(), ...place });
        answers.add(JSON.stringify([status, body]));
      }
      const { status, body } = await native({ ...own(), caldav_url: `http://${host}:${port}/` });
      answers.add(JSON.stringify([status, body]));
    }
    expect([...answers]).toEqual([
      JSON.stringify([
        400,
        {
          message:
            'settings: could not connect to the mail servers: check their names, ports and security (imap_host, smtp_host, caldav_url, carddav_url)',
          type: 'invalid_request_error',
        },
      ]),
    ]);
  });

  it('learns nothing about a network from the pages', async () => {
    const pages = new Set<string>();
    for (const [, host, port] of await targets()) {
      const browser = new PageBrowser(server);
      const query = { client_id: application.clientId, redirect_uri: REDIRECT, provider: 'imap' };
      await browser.get(`/oauth/authorize?${new URLSearchParams(query).toString()}`);
      await browser.get(browser.page.location ?? '');
      await browser.submit('credentials', {
        email: 'mallory@attacker.test',
        password: 'right',
        imap_host: host,
        imap_port: String(port),
        imap_security: 'none',
        smtp_host: '127.0.0.1',
        smtp_port: String(smtp.port),
        smtp_security: 'none',
      });
      expect(browser.page.text).toContain('We could not connect to the mail servers.');
      const shown = browser.page.text
        .replace(/id=[0-9a-z]{40}/g, 'id')
        .replace(/value="[^"]*"/g, 'value')
        .replaceAll(host, 'host');
      pages.add(`${browser.page.status} ${shown}`);
    }
    expect(pages.size).toBe(1);
  });

  it('learns that a login was refused only if a mail server refused it', async () => {
    const { body } = await native({ ...own(), imap_password: 'wrong' }).expect(400);
    expect(body.message).toContain('The mail server (IMAP) refused the login');
  });

  it('sees no reasons, because only the application with its secret gets them', async () => {
    const proof = { client_secret: application.clientSecret };
    const { body } = await native({ ...own(), imap_host: '10.0.0.1' }, proof).expect(400);
    expect(body.message).toContain('settings.imap_host: 10.0.0.1 is not at a public address');
    await native({ ...own(), imap_host: '10.0.0.1' }, { client_secret: 'guessed' }).expect(401);
    await native(own(), proof).expect(200);
  });

  it('gets no token in an address, and no more scopes than the application allows', async () => {
    await registerSandbox(server, application, { redirect_uris: [REDIRECT] });
    await request(server.url)
      .put(`/a/${application.clientId}`)
      .set(application.secretBasic)
      .send({ allowed_scopes: ['calendar.read_only'] })
      .expect(200);
    const begin = async (query: object) => {
      const browser = new PageBrowser(server);
      const all = {
        client_id: application.clientId,
        redirect_uri: REDIRECT,
        redirect_on_error: 'true',
      };
      const { location } = await browser.get(
        `/oauth/authorize?${new URLSearchParams({ ...all, ...query }).toString()}`,
      );
      return new URL(location ?? '', server.url).searchParams.get('error');
    };
    expect(await begin({ response_type: 'token' })).toBe('unsupported_response_type');
    expect(await begin({ response_type: 'TOKEN' })).toBe('unsupported_response_type');
    expect(await begin({ response_type: 'code token' })).toBe('unsupported_response_type');
    expect(await begin({ scopes: 'email.send' })).toBe('invalid_scope');
    expect(await begin({ scopes: 'calendar.read_only, email' })).toBe('invalid_scope');
    expect(await begin({ scopes: 'calendar' })).toBe('invalid_scope');
  });
});
