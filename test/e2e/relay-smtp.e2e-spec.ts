import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import request from 'supertest';
import { RelayRoutes } from '../../src/mail/relay/relay-routes.ts';
import { outgoing, sendControl } from '../support/connector-contract.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

interface Delivery {
  from: string;
  to: string[];
  content: string;
}

describe('a mailing service over SMTP', () => {
  let server: TestApp;
  let smtp: SMTPServer;
  let application: TestApplication;
  let ada: TestAccount;
  let refusedSender: string | null;
  const deliveries: Delivery[] = [];

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    smtp = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) =>
        password === 'right' ? done(null, { user: username }) : done(new Error('wrong password')),
      onMailFrom: ({ address }, _session, done) =>
        done(address === refusedSender ? new Error('5.7.1 sender not allowed') : undefined),
      onData(stream, { envelope }, done) {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const { mailFrom, rcptTo } = envelope;
          deliveries.push({
            from: mailFrom ? mailFrom.address : '',
            to: rcptTo.map(({ address }) => address),
            content: Buffer.concat(chunks).toString(),
          });
          done();
        });
      },
    });
    smtp.listen(0, '127.0.0.1');
    await once(smtp.server, 'listening');
  });
  afterAll(async () => {
    await server.close();
    await new Promise<void>((done) => smtp.close(done));
  });
  beforeEach(async () => {
    deliveries.length = 0;
    refusedSender = null;
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { email: 'ada@sandbox.test', name: 'Ada' });
  });

  const put = (settings: object = {}) =>
    request(server.url)
      .put(`/a/${application.clientId}/relay`)
      .set(application.secretBasic)
      .send({
        kind: 'smtp',
        settings: {
          host: '127.0.0.1',
          port: (smtp.server.address() as AddressInfo).port,
          security: 'none',
          username: 'carillon',
          password: 'right',
          ...settings,
        },
      });
  const account = () => ({
    accountId: ada.id,
    applicationId: application.id,
    email: ada.email,
    name: 'Ada',
  });
  const routes = () => server.app.get(RelayRoutes, { strict: false });
  const mail = () =>
    outgoing({ ...account(), organizationUnit: 'folder', settings: {} }, ['bo@elsewhere.test'], {
      bcc: ['hidden@elsewhere.test'],
    });

  it('is set up, and receives a message unchanged', async () => {
    const shown = await put().expect(200);
    expect(shown.body.settings).toMatchObject({
      host: '127.0.0.1',
      security: 'none',
      username: 'carillon',
    });
    expect(shown.text).not.toContain('right');
    const route = await routes().find(account());
    expect(route?.kind).toBe('smtp');
    const message = mail();
    const receipt = await route?.send(message, sendControl());
    expect(receipt?.accepted).toEqual(['bo@elsewhere.test', 'hidden@elsewhere.test']);
    expect(deliveries).toMatchObject([
      {
        from: ada.email,
        to: ['bo@elsewhere.test', 'hidden@elsewhere.test'],
        content: message.mime.toString(),
      },
    ]);
    expect(await route?.findSent(message.messageIdHeader)).toEqual({
      found: false,
      conclusive: false,
    });
  });

  it('is not stored if the server refuses the password or cannot be reached', async () => {
    const refused = await put({ password: 'wrong' });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      expect.stringContaining('refused the credentials'),
    ]);
    expect(refused.text).not.toContain('"wrong"');
    expect((await put({ port: 9 })).status).toBe(503);
    await request(server.url)
      .get(`/a/${application.clientId}/relay`)
      .set(application.secretBasic)
      .expect(404);
  });

  it.each([
    ['settings.host', { host: 'a b' }],
    ['settings.port', { port: 0 }],
    ['settings.security', { security: 'maybe' }],
    ['settings.password', { password: undefined }],
    ['settings', { surprise: 1 }],
    ['public', { host: '169.254.169.254', port: 25 }],
  ])('is refused with a message about %s if that setting is wrong', async (words, settings) => {
    const refused = await put(settings);
    expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining(words)]);
  });

  it('is not used for an account whose address the service refuses', async () => {
    refusedSender = ada.email;
    await put().expect(200);
    expect(await routes().find(account())).toBeNull();
    const status = await request(server.url)
      .get('/v2/outbox/onboard/verified_status')
      .set(ada.bearer);
    expect(status.body).toEqual({ results: { domain_verified: false, sender_verified: false } });
    refusedSender = null;
    await request(server.url).get('/v2/outbox/onboard/verified_status').set(ada.bearer).expect(200);
    expect(await routes().isOpen(account())).toBe(true);
  });
});
