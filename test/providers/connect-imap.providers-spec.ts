import net, { type AddressInfo } from 'node:net';
import { once } from 'node:events';
import tls from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import Nylas from 'nylas';
import request from 'supertest';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { rowsOf } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { type DavServer, startRadicale } from '../support/mail-servers/dav.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers, type MailUser } from '../support/mail-servers/mail-servers.ts';
import { freePorts } from '../support/mail-servers/processes.ts';
import { trustTestCertificate } from '../support/mail-servers/trust.ts';
import { TEST_CERTIFICATE, TEST_KEY } from '../support/tls-certificate.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describeWith(['dovecot', 'exim4', 'radicale'], 'connecting accounts of real servers', () => {
  let server: TestApp;
  let application: TestApplication;
  let servers: MailServers;
  let radicale: DavServer;
  let user: MailUser;
  const closing: (() => void)[] = [];

  trustTestCertificate();
  beforeAll(async () => {
    servers = await MailServers.start();
    radicale = await startRadicale();
    server = await startTestApp({ ROLES: 'api' });
  });
  afterAll(async () => {
    await server.close();
    await servers.stop();
    await radicale.stop();
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    user = await servers.addUser();
  });
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  /** Over TLS and STARTTLS, with certificates for localhost. */
  const settings = (change: object = {}) => ({
    imap_host: 'localhost',
    imap_port: servers.dovecot.ports.imaps,
    imap_security: 'tls',
    imap_password: user.password,
    smtp_host: 'localhost',
    smtp_port: servers.exim.port,
    smtp_security: 'starttls',
    ...change,
  });
  const authorize = (change: object = {}, more: object = {}) =>
    request(server.url)
      .post('/connect/authorize')
      .send({
        client_id: application.clientId,
        // Without the secret, errors reveal nothing about the servers.
        client_secret: application.clientSecret,
        name: 'Ada Example',
        email_address: user.email,
        provider: 'imap',
        settings: settings(change),
        ...more,
      });
  const exchange = (code: string) =>
    request(server.url)
      .post('/connect/token')
      .send({ client_id: application.clientId, client_secret: application.clientSecret, code });
  const integrate = () =>
    request(server.url)
      .post('/connect/integrations')
      .set(application.basic)
      .send({ name: 'Mail', provider: 'imap' })
      .expect(200);
  const grants = () =>
    rowsOf(server, 'select id from "grant" where application_id = $1', [application.id]);
  const codes = () =>
    rowsOf(server, 'select id from authorization_code where application_id = $1', [application.id]);
  const stored = async (id: string) => (await server.app.get(ProviderAccounts).find(id))?.settings;

  /** A TCP server that does not speak the expected protocol. */
  async function strange(onSocket: (socket: net.Socket) => void): Promise<number> {
    const sockets = new Set<net.Socket>();
    const listener = net.createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      onSocket(socket);
    });
    listener.listen(0, '0.0.0.0');
    await once(listener, 'listening');
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      listener.close();
    });
    return (listener.address() as AddressInfo).port;
  }

  describe('correct settings', () => {
    it('create a grant by /connect/authorize and /connect/token', async () => {
      const authorized = await authorize();
      expect(authorized.body).toEqual({ code: expect.any(String) });
      const connected = await exchange(authorized.body.code);
      expect(connected.body).toMatchObject({
        name: 'Ada Example',
        email_address: user.email,
        provider: 'imap',
        organization_unit: 'folder',
        access_token: expect.any(String),
      });
      expect(await stored(connected.body.id)).toEqual({
        ...settings(),
        imap_username: user.email,
        smtp_username: user.email,
        smtp_password: user.password,
      });
      const [row] = await rowsOf(server, 'select g::text as text from "grant" g where id = $1', [
        connected.body.id,
      ]);
      expect(row?.['text']).not.toContain(user.password);
    });

    it('create a grant by POST /connect/grants, with an integration only', async () => {
      const create = () =>
        request(server.url)
          .post('/connect/grants')
          .set(application.basic)
          .send({ provider: 'imap', settings: { email: user.email, name: 'Ada', ...settings() } });
      const without = await create();
      expect(without.status).toBe(400);
      expect(await grants()).toEqual([]);
      await integrate();
      const made = await create();
      expect(made.status).toBe(200);
      expect(made.body.data).toMatchObject({
        provider: 'imap',
        email: user.email,
        grant_status: 'valid',
      });
    });

    it('work with the official client', async () => {
      Nylas.config({
        clientId: application.clientId,
        clientSecret: application.clientSecret,
        apiServer: server.url,
      });
      const { code } = await Nylas.connect.authorize({
        name: 'Ada',
        emailAddress: user.email,
        provider: 'imap' as never,
        settings: settings(),
        scopes: ['email.modify', 'email.send'] as never,
      } as never);
      const account = await Nylas.connect.token(code);
      expect(account).toMatchObject({ provider: 'imap', emailAddress: user.email });
    });

    it.each([
      ['STARTTLS', () => ({ imap_port: servers.dovecot.ports.imap, imap_security: 'starttls' })],
      [
        'no encryption on an allowed address',
        () => ({
          imap_port: servers.dovecot.ports.imap,
          imap_security: 'none',
          smtp_security: 'none',
        }),
      ],
      [
        'an address instead of a host name',
        () => ({ imap_host: '127.0.0.1', smtp_host: '127.0.0.1' }),
      ],
      [
        'ports as text, and security by ssl_required',
        () => ({
          imap_port: String(servers.dovecot.ports.imap),
          imap_security: undefined,
          smtp_security: undefined,
          ssl_required: false,
        }),
      ],
      [
        'one password for both servers',
        () => ({ imap_password: undefined, password: user.password }),
      ],
      ['Dovecot for sending', () => ({ smtp_port: servers.dovecot.ports.submission })],
    ])('may have %s', async (_, change) => {
      const response = await authorize(change());
      expect(response.body).toEqual({ code: expect.any(String) });
    });

    it('may name calendar and address book servers, which are verified too', async () => {
      await radicale.addUser(user.email, user.password);
      const dav = { caldav_url: radicale.url, carddav_url: radicale.url };
      const authorized = await authorize(dav);
      expect(authorized.body).toEqual({ code: expect.any(String) });
      const connected = await exchange(authorized.body.code);
      expect(await stored(connected.body.id)).toMatchObject(dav);
    });
  });

  describe('wrong settings get their own error and no grant', () => {
    const closedPort = async () => (await freePorts(1))[0];
    it.each<[string, () => object | Promise<object>, number, string]>([
      [
        'an IMAP host that does not exist',
        () => ({ imap_host: 'imap.nowhere.invalid' }),
        400,
        'settings.imap_host: imap.nowhere.invalid does not exist',
      ],
      [
        'an SMTP host that does not exist',
        () => ({ smtp_host: 'smtp.nowhere.invalid' }),
        400,
        'settings.smtp_host: smtp.nowhere.invalid does not exist',
      ],
      [
        'a private IMAP host',
        () => ({ imap_host: '10.0.0.1' }),
        400,
        'settings.imap_host: 10.0.0.1 is not at a public address',
      ],
      [
        'the metadata service as SMTP host',
        () => ({ smtp_host: '169.254.169.254' }),
        400,
        'settings.smtp_host: 169.254.169.254 is not at a public address',
      ],
      [
        'an IMAP port without a server',
        async () => ({ imap_port: await closedPort() }),
        400,
        'settings.imap_port: localhost accepts no connections',
      ],
      [
        'an SMTP port without a server',
        async () => ({ smtp_port: await closedPort() }),
        400,
        'settings.smtp_port: localhost accepts no connections',
      ],
      [
        'TLS at an IMAP port without it',
        () => ({ imap_port: servers.dovecot.ports.imap }),
        400,
        'settings.imap_security: localhost does not speak TLS',
      ],
      [
        'STARTTLS at an IMAP port with TLS',
        () => ({ imap_security: 'starttls' }),
        503,
        'settings.imap_port: localhost sends nothing in time: perhaps it expects TLS',
      ],
      [
        'TLS at an SMTP port without it',
        () => ({ smtp_security: 'tls' }),
        400,
        'settings.smtp_security: localhost does not speak TLS',
      ],
      [
        'no STARTTLS at the IMAP server',
        async () => ({
          imap_security: 'starttls',
          imap_port: await strange((socket) => {
            socket.write('* OK hi\r\n');
            socket.on('data', () => socket.write('a BAD no\r\n'));
          }),
        }),
        400,
        'settings.imap_security: localhost does not offer STARTTLS',
      ],
      [
        'a certificate for another name',
        async () => ({
          imap_host: '127.0.0.2',
          imap_port: await strange((socket) => {
            const secure = new tls.TLSSocket(socket, {
              isServer: true,
              key: TEST_KEY,
              cert: TEST_CERTIFICATE,
            });
            secure.on('error', () => socket.destroy());
          }),
        }),
        400,
        'settings.imap_host: 127.0.0.2 has a certificate for another name',
      ],
      [
        'the SMTP server for IMAP',
        () => ({ imap_port: servers.exim.port, imap_security: 'none' }),
        400,
        'settings.imap_port: localhost does not speak IMAP',
      ],
      [
        'the IMAP server for SMTP',
        () => ({ smtp_port: servers.dovecot.ports.imap, smtp_security: 'none' }),
        400,
        'settings.smtp_port: localhost does not speak SMTP',
      ],
      [
        'a web server',
        async () => ({
          imap_security: 'none',
          imap_port: await strange((socket) => socket.write('HTTP/1.0 400 Bad\r\n')),
        }),
        400,
        'settings.imap_port: localhost does not speak IMAP',
      ],
      [
        'a server that refuses the connection',
        async () => ({
          imap_security: 'none',
          imap_port: await strange((socket) => socket.write('* BYE full\r\n')),
        }),
        503,
        'settings.imap_host: localhost refuses the connection: * BYE full',
      ],
      [
        'a wrong password',
        () => ({ imap_password: 'wrong' }),
        400,
        'settings.imap_password: The mail server (IMAP) refused the login',
      ],
      [
        'a wrong user name',
        () => ({ imap_username: 'nobody@example.test' }),
        400,
        'settings.imap_password: The mail server (IMAP) refused the login',
      ],
      [
        'a wrong password for sending',
        () => ({ smtp_password: 'wrong' }),
        400,
        'settings.smtp_password: The outgoing mail server (SMTP) refused the login',
      ],
      [
        'a calendar that does not exist',
        () => ({ caldav_url: 'http://localhost:1/' }),
        503,
        'settings.caldav_url',
      ],
      [
        'calendars with another login',
        () => ({ caldav_url: radicale.url }),
        400,
        'settings.caldav_url',
      ],
      [
        'no password',
        () => ({ imap_password: undefined }),
        400,
        'settings.imap_password: is required',
      ],
      [
        'no servers for a domain that has none',
        () => ({ imap_host: undefined, smtp_host: undefined }),
        400,
        'settings.imap_host: No mail servers were found',
      ],
    ])('%s', async (_, change, status, words) => {
      const response = await authorize(await change());
      expect(response.body.message).toContain(words);
      expect(response.status).toBe(status);
      expect(response.text).not.toContain(user.password);
      expect(await codes()).toEqual([]);
      expect(await grants()).toEqual([]);
    });

    it("the error contains the server's words and ours", async () => {
      const response = await authorize({ smtp_password: 'wrong' });
      expect(response.body.server_error).toMatch(/^535 /);
    });

    it('a certificate of an unknown authority is refused', async () => {
      // The certificate has the right names. Only its authority is not trusted.
      const { execFileSync } = await import('node:child_process');
      const program = `
        import { EgressPolicy } from './src/platform/egress/egress-policy.ts';
        import { probeServer } from './src/providers/imap/servers/server-probe.ts';
        await probeServer({ protocol: 'imap', host: 'localhost', port: ${servers.dovecot.ports.imaps}, security: 'tls' },
          { policy: new EgressPolicy(['127.0.0.1']), limitMs: 30_000 }).catch((error) => console.log(error.failure, error.message));`;
      const output = execFileSync(
        process.execPath,
        ['--input-type=module-typescript', '-e', program],
        {
          encoding: 'utf8',
        },
      );
      expect(output).toContain('certificate has a self-signed certificate');
    });
  });

  describe('PATCH /connect/grants/{id}', () => {
    const patch = (id: string, change: object) =>
      request(server.url)
        .patch(`/connect/grants/${id}`)
        .set(application.basic)
        .send({ settings: change });
    const connect = async (): Promise<string> =>
      (await exchange((await authorize()).body.code)).body.id;

    it('verifies and stores a new password given alone', async () => {
      const id = await connect();
      await servers.setPassword(user.email, 'pw-another-one');
      const refused = await patch(id, { password: 'pw-wrong' });
      expect(refused.status).toBe(400);
      expect(refused.body.error?.message ?? refused.body.message).toContain(
        'settings.password: The mail server (IMAP) refused the login',
      );
      expect((await stored(id))?.['imap_password']).toBe(user.password);
      const changed = await patch(id, { password: 'pw-another-one' });
      expect(changed.status).toBe(200);
      expect(await stored(id)).toMatchObject({
        imap_password: 'pw-another-one',
        smtp_password: 'pw-another-one',
      });
    });

    it.each(['imap_host', 'smtp_host'])(
      'does not send the stored password to another %s',
      async (name) => {
        const id = await connect();
        const before = await stored(id);
        let received = '';
        const port = await strange((socket) =>
          socket.on('data', (chunk) => (received += chunk.toString())),
        );
        const refused = await patch(id, {
          [name]: '127.0.0.1',
          [name.replace('host', 'port')]: port,
          [name.replace('host', 'security')]: 'none',
        });
        expect(refused.status).toBe(400);
        expect(received).toBe('');
        expect(await stored(id)).toEqual(before);
      },
    );
  });
});
