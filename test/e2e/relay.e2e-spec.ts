import request from 'supertest';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import type { OutgoingMessage } from '../../src/providers/port/connector.ts';
import { RelayEnrolment } from '../../src/mail/relay/relay-enrolment.ts';
import { RelayRoutes } from '../../src/mail/relay/relay-routes.ts';
import { registerSandbox, rowsOf } from '../support/connect.ts';
import { outgoing, sendControl } from '../support/connector-contract.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { HOSTILE_VALUES } from '../support/hostile.ts';
import { SendGridServer } from '../support/sendgrid-server.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('the mailing service', () => {
  const clock = new PassingClock();
  let server: TestApp;
  let service: SendGridServer;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' }, { clock });
    service = await SendGridServer.start();
  });
  afterAll(async () => {
    await server.close();
    await service.stop();
  });
  beforeEach(async () => {
    service.reset();
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { email: 'ada@sandbox.test', name: 'Ada' });
  });

  const sendgrid = (settings: object = {}) => ({
    kind: 'sendgrid',
    settings: { api_key: service.key, base_url: service.origin, ...settings },
  });
  const call = (
    method: 'get' | 'put' | 'delete',
    body?: object | string,
    headers = application.secretBasic,
  ) => {
    const sent = request(server.url)[method](`/a/${application.clientId}/relay`).set(headers);
    return body ? sent.type('json').send(body) : sent;
  };
  const set = async (body: object = sendgrid()) => (await call('put', body).expect(200)).body;
  const stored = (id = application.id) =>
    rowsOf<{ kind: string; settings_sealed: string }>(
      server,
      'select * from relay where application_id = $1',
      [id],
    );
  const senders = (id = ada.id) =>
    rowsOf<{ removed_at: Date | null; detail: string | null; sender_verified: boolean }>(
      server,
      'select * from relay_sender where account_id = $1',
      [id],
    );
  const routes = () => server.app.get(RelayRoutes, { strict: false });
  const account = (one = ada) => ({
    accountId: one.id,
    applicationId: application.id,
    email: one.email,
    name: 'Ada',
  });
  const mail = (): OutgoingMessage =>
    outgoing({ ...account(), organizationUnit: 'folder', settings: {} }, ['bo@elsewhere.test']);
  const status = (one = ada) =>
    request(server.url).get('/v2/outbox/onboard/verified_status').set(one.bearer);
  const remove = (email: unknown, one = ada) =>
    request(server.url).delete('/v2/outbox/onboard/subuser').set(one.bearer).send({ email });
  const enrolAll = () => server.app.get(RelayEnrolment, { strict: false }).run();

  describe('/a/{client_id}/relay', () => {
    it('is set up, read and removed without ever showing its keys', async () => {
      await call('get').expect(404);
      const view = {
        kind: 'sendgrid',
        settings: { base_url: service.origin },
        last_error: null,
        last_error_at: null,
        created_at: expect.any(Number),
        updated_at: expect.any(Number),
      };
      expect(await set()).toEqual(view);
      const read = await call('get').expect(200);
      expect(read.body).toEqual(view);
      expect(read.text).not.toContain(service.key);
      expect((await stored())[0]?.settings_sealed).not.toContain(service.key);
      expect((await call('delete').expect(200)).body).toEqual({ success: true });
      await call('delete').expect(404);
      await call('get').expect(404);
    });

    it('is verified before anything is stored', async () => {
      const refused = await call('put', sendgrid({ api_key: 'SG.wrong' }));
      expect([refused.status, refused.body.message]).toEqual([
        400,
        expect.stringContaining('settings: the mailing service refused the credentials'),
      ]);
      expect(refused.text).not.toContain('SG.wrong');
      service.scopes = [];
      expect((await call('put', sendgrid())).body.message).toContain('mail.send');
      const away = await call('put', sendgrid({ base_url: 'http://127.0.0.1:9' }));
      expect([away.status, away.body.message]).toEqual([
        503,
        expect.stringContaining('could not be asked'),
      ]);
      expect(await stored()).toEqual([]);
    });

    it('keeps its settings if a replacement is refused', async () => {
      await set();
      const before = await stored();
      await call('put', sendgrid({ api_key: 'SG.wrong' })).expect(400);
      expect(await stored()).toEqual(before);
    });

    it.each([
      ['kind', {}],
      ['kind', { kind: 'pigeon', settings: {} }],
      ['settings', { kind: 'sendgrid' }],
      ['settings', { kind: 'sendgrid', settings: 'SG.x' }],
      ['settings.api_key', { kind: 'sendgrid', settings: {} }],
      ['settings', { kind: 'sendgrid', settings: { api_key: 'x', surprise: 1 } }],
      [
        'settings.base_url',
        { kind: 'sendgrid', settings: { api_key: 'x', base_url: 'https://169.254.169.254/' } },
      ],
      [
        'settings.base_url',
        { kind: 'sendgrid', settings: { api_key: 'x', base_url: 'http://[fd00:ec2::254]/' } },
      ],
      [
        'settings.base_url',
        { kind: 'sendgrid', settings: { api_key: 'x', base_url: 'http://api.sendgrid.com' } },
      ],
      ['settings.api_key', { kind: 'sendgrid', settings: { api_key: 'x'.repeat(50_000) } }],
    ])('is refused with the name of the wrong field: %s', async (field, body) => {
      const refused = await call('put', body);
      expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining(field)]);
      expect(await stored()).toEqual([]);
      expect(service.asked).toEqual([]);
    });

    it('is refused with a short error even if its settings have many or very long names', async () => {
      const many = Object.fromEntries(
        Array.from({ length: 20_000 }, (_, index) => [`name_${index}`, 1]),
      );
      for (const settings of [
        many,
        { ['x'.repeat(100_000)]: 1 },
        { api_key: 'x', ['😀'.repeat(150)]: 1 },
      ]) {
        const refused = await call('put', { kind: 'sendgrid', settings });
        expect([refused.status, refused.body.message]).toEqual([
          400,
          expect.stringContaining('settings: '),
        ]);
        expect(refused.text.length).toBeLessThan(1_000);
      }
    });

    it('reports settings that cannot be decrypted, and can be set up again or removed', async () => {
      const lose = () =>
        rowsOf(server, 'update relay set settings_sealed = $2 where application_id = $1', [
          application.id,
          'x',
        ]);
      await set();
      await lose();
      const lost = await call('get');
      expect([lost.status, lost.body.message]).toEqual([
        503,
        expect.stringContaining('set it up again'),
      ]);
      await set();
      await call('get').expect(200);
      await lose();
      await call('delete').expect(200);
    });

    it.each(Object.entries(HOSTILE_VALUES))(
      'is refused if its settings contain %s',
      async (_, text) => {
        for (const body of [
          `{"kind":"sendgrid","settings":${text}}`,
          `{"kind":"sendgrid","settings":{"api_key":"x","base_url":${text}}}`,
          `{"kind":"sendgrid","settings":{"api_key":${text},"base_url":"http://127.0.0.1:9"}}`,
        ]) {
          expect([400, 503]).toContain((await call('put', body)).status);
        }
        expect(await stored()).toEqual([]);
      },
    );

    it('is accessible only to its own application', async () => {
      await set();
      const other = await createApplication(server.app);
      for (const headers of [other.secretBasic, ada.bearer, {}]) {
        await call('get', undefined, headers as Record<string, string>).expect(401);
        await call('put', sendgrid(), headers as Record<string, string>).expect(401);
        await call('delete', undefined, headers as Record<string, string>).expect(401);
      }
      expect(await stored()).toHaveLength(1);
      expect(await stored(other.id)).toEqual([]);
    });

    it('is stored once if many requests set it up at the same time', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => call('put', sendgrid())));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(await stored()).toHaveLength(1);
    });

    it('is deleted with its application', async () => {
      await set();
      await rowsOf(server, 'delete from application where id = $1', [application.id]);
      expect(await stored()).toEqual([]);
    });

    it('reports refused credentials until a message is sent successfully again', async () => {
      service.domains.push({ domain: 'sandbox.test', valid: true });
      await set();
      const route = await routes().find(account());
      service.key = 'SG.rotated';
      await expect(route?.send(mail(), sendControl())).rejects.toMatchObject({ code: 'temporary' });
      expect((await call('get')).body).toMatchObject({
        last_error: expect.stringContaining('refused its credentials'),
        last_error_at: expect.any(Number),
      });
      const [grant] = await rowsOf(server, 'select status from "grant" where id = $1', [ada.id]);
      expect(grant).toEqual({ status: 'valid' });
      service.key = 'SG.good-key';
      await (await routes().find(account()))?.send(mail(), sendControl());
      expect((await call('get')).body).toMatchObject({ last_error: null, last_error_at: null });
    });
  });

  describe('sender confirmation', () => {
    it('is requested for every account of an application that sets up a service', async () => {
      const bo = await createAccount(server.app, application, { email: 'bo@sandbox.test' });
      await set();
      await enrolAll();
      await enrolAll();
      expect(service.senders.map(({ from_email }) => from_email).sort()).toEqual(
        [ada.email, bo.email].sort(),
      );
      expect(await routes().isOpen(account())).toBe(false);
      service.follow(ada.email);
      expect((await status()).body).toEqual({
        results: { domain_verified: false, sender_verified: true },
      });
      expect(await routes().isOpen(account())).toBe(true);
      expect(await routes().isOpen(account(bo))).toBe(false);
    });

    it('is requested when an account connects, and neither delays nor fails the connection', async () => {
      await registerSandbox(server, application);
      await set();
      service.fail('/v3/', () => undefined, 100);
      const response = await request(server.url)
        .post('/connect/grants')
        .set(application.basic)
        .send({ provider: 'sandbox', settings: { email: 'new@sandbox.test', password: 'x' } })
        .expect(200);
      service.faults.length = 0;
      await enrolAll();
      expect(service.senders.map(({ from_email }) => from_email)).toContain('new@sandbox.test');
      expect(await senders(response.body.data.id)).toHaveLength(1);
    });

    it('is requested again, by only one of several processes, if the service failed to respond', async () => {
      await set();
      service.answer('/v3/whitelabel/domains', 500);
      await enrolAll();
      expect(service.senders).toEqual([]);
      await clock.pass(120_000);
      await Promise.all([enrolAll(), enrolAll(), enrolAll()]);
      expect(service.senders).toHaveLength(1);
      expect(service.asked.filter(({ method }) => method === 'POST')).toHaveLength(1);
    });

    it('is forgotten when the service is replaced or removed', async () => {
      service.domains.push({ domain: 'sandbox.test', valid: true });
      await set();
      await enrolAll();
      expect(await routes().isOpen(account())).toBe(true);
      await set();
      expect(await routes().isOpen(account())).toBe(false);
      await enrolAll();
      await call('delete').expect(200);
      expect(await senders()).toEqual([]);
      expect(await routes().find(account())).toBeNull();
    });

    it('continues without error if an account is deleted at the same time', async () => {
      await set();
      service.fail('/v3/whitelabel/domains', (response) => {
        void rowsOf(server, 'delete from "grant" where id = $1', [ada.id]).then(() =>
          response.end('[]'),
        );
      });
      await enrolAll();
      expect(await senders()).toEqual([]);
      await status().expect(401);
    });
  });

  describe('/v2/outbox/onboard', () => {
    it('answers false for both kinds of confirmation if there is no service', async () => {
      const answer = await status().expect(200);
      expect(answer.body).toEqual({ results: { domain_verified: false, sender_verified: false } });
      await remove(ada.email).expect(200);
    });

    it('answers 503 if the service cannot be reached or refuses its credentials', async () => {
      await set();
      service.answer('/v3/verified_senders', 500);
      await status().expect(503);
      service.key = 'SG.rotated';
      const refused = await status();
      expect([refused.status, refused.body.message]).toEqual([
        503,
        expect.stringContaining('its credentials'),
      ]);
    });

    it('answers 503 if the settings cannot be decrypted', async () => {
      await set();
      const sealed = new SecretBox([{ id: 'gone', key: Buffer.alloc(32) }]).seal('{}', 'x');
      await rowsOf(server, 'update relay set settings_sealed = $2 where application_id = $1', [
        application.id,
        sealed,
      ]);
      await status().expect(503);
      await expect(routes().find(account())).rejects.toMatchObject({ code: 'temporary' });
      await set();
      await status().expect(200);
    });

    it('confirms an account at once if its domain is authenticated', async () => {
      await set();
      await status();
      expect(await routes().find(account())).toBeNull();
      service.domains.push({ domain: 'sandbox.test', valid: true });
      expect((await status()).body.results).toEqual({
        domain_verified: true,
        sender_verified: false,
      });
      expect(await routes().find(account())).not.toBeNull();
    });

    it('removes the account from the service permanently', async () => {
      await set();
      await enrolAll();
      service.follow(ada.email);
      service.domains.push({ domain: 'sandbox.test', valid: true });
      await status();
      const answer = await remove('Ada@Sandbox.test').expect(200);
      expect(answer.text).toBe('');
      expect(service.senders).toEqual([]);
      expect(await routes().find(account())).toBeNull();
      await enrolAll();
      expect((await status()).body.results.domain_verified).toBe(true);
      expect(await routes().isOpen(account())).toBe(false);
      expect(service.senders).toEqual([]);
      await remove(ada.email).expect(200);
    });

    it('removes the account of the token if the request has no body, as the Java client sends it', async () => {
      await set();
      await enrolAll();
      const answer = await request(server.url)
        .delete('/v2/outbox/onboard/subuser')
        .set(ada.bearer)
        .expect(200);
      expect(answer.text).toBe('');
      expect(service.senders).toEqual([]);
      expect((await senders())[0]?.removed_at).not.toBeNull();
    });

    it('requests confirmation again if a removed account connects again', async () => {
      await registerSandbox(server, application);
      await set();
      await remove(ada.email).expect(200);
      await enrolAll();
      expect(service.senders).toEqual([]);
      await request(server.url)
        .post('/connect/grants')
        .set(application.basic)
        .send({ provider: 'sandbox', settings: { email: ada.email, password: 'x' } })
        .expect(200);
      await enrolAll();
      expect(service.senders.map(({ from_email }) => from_email)).toEqual([ada.email]);
    });

    it('does not remove the address of another account', async () => {
      const bo = await createAccount(server.app, application, { email: 'bo@sandbox.test' });
      await set();
      await enrolAll();
      for (const email of [bo.email, '', 'nonsense', null, 7, undefined, ['x@y.test']]) {
        const answer = await remove(email);
        expect([answer.status, answer.body.message]).toEqual([
          400,
          expect.stringContaining('email'),
        ]);
      }
      expect(service.senders).toHaveLength(2);
      expect((await senders())[0]?.removed_at).toBeNull();
    });

    it('answers 404 and does not treat its name as the id of an outbox message', async () => {
      await request(server.url).get('/v2/outbox/onboard').set(ada.bearer).expect(404);
    });
  });
});
