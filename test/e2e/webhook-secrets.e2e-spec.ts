import request from 'supertest';
import { Webhook } from 'standardwebhooks';
import { ApplicationsService } from '../../src/accounts/applications/applications.service.ts';
import { Maintenance } from '../../src/app/scheduler/maintenance.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { type ReceivedRequest, Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook, recordEvent } from '../support/webhook-fixture.ts';

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;

interface CreatedSecret {
  id: string;
  secret: string;
  created_at: number;
  expires_at: number | null;
  previous_expires_at: number;
}

describe('secrets of webhooks', () => {
  let server: TestApp;
  let clock: PassingClock;
  let database: Database;
  let receiver: Receiver;
  let application: TestApplication;
  let webhook: string;

  beforeAll(async () => {
    clock = new PassingClock();
    server = await startTestApp({}, { clock });
    database = server.app.get(Database);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    receiver = await Receiver.start();
    application = await createApplication(server.app);
    webhook = await createWebhook(server.app, application, `${receiver.origin}/hook`);
  });
  afterEach(() => receiver.stop());

  const call = (
    method: 'get' | 'post' | 'delete',
    suffix = '',
    of: { as?: TestApplication; id?: string } = {},
  ) => {
    const { as = application, id = webhook } = of;
    return request(server.url)
      [method](`/a/${as.clientId}/webhooks/${id}/secrets${suffix}`)
      .set(as.secretBasic);
  };
  async function create(body: object = {}): Promise<CreatedSecret> {
    const answer = await call('post').send(body);
    expect([answer.status, answer.body.message]).toEqual([200, undefined]);
    return answer.body as CreatedSecret;
  }
  const ids = async () => ((await call('get')).body as { id: string }[]).map(({ id }) => id);

  /** Records an event and returns its delivery. */
  async function delivered(): Promise<ReceivedRequest> {
    const before = receiver.posted.length;
    await recordEvent(server.app, application);
    return until('a delivery', async () => receiver.posted[before]);
  }
  const ownKey = ({ secret }: CreatedSecret) => new Webhook(secret);
  const clientKey = (secret = application.clientSecret) => new Webhook(secret, { format: 'raw' });
  /** Whether the official library accepts the delivery. */
  function accepts(key: Webhook, { body, headers }: ReceivedRequest): boolean {
    try {
      key.verify(body, headers as Record<string, string>);
      return true;
    } catch (error) {
      if (error instanceof Error && error.message === 'No matching signature found') return false;
      throw error;
    }
  }
  /** Moves the clocks of Carillon. Deliveries then have timestamps that the library refuses. */
  const pass = (seconds: number) => clock.pass(seconds * 1_000);
  const signaturesOf = ({ headers }: ReceivedRequest) =>
    String(headers['webhook-signature']).split(' ');

  // First, while the clock of Carillon still agrees with that of the library.
  describe('and the official Standard Webhooks library', () => {
    it('accepts deliveries signed with the client secret, and refuses a changed body and an old timestamp', async () => {
      const delivery = await delivered();
      expect(accepts(clientKey(), delivery)).toBe(true);
      const changed = Buffer.concat([delivery.body, Buffer.from(' ')]);
      expect(accepts(clientKey(), { ...delivery, body: changed })).toBe(false);
      const old = Number(delivery.headers['webhook-timestamp']) - 301;
      const headers = { ...delivery.headers, 'webhook-timestamp': String(old) };
      expect(() => accepts(clientKey(), { ...delivery, headers })).toThrow(
        'Message timestamp too old',
      );
      expect(accepts(clientKey('another secret'), delivery)).toBe(false);
    });

    it('accepts deliveries with the secret of the webhook, refuses a changed body, and refuses the client secret once it has ended', async () => {
      const made = await create({ previous_expires_in: 0 });
      const delivery = await delivered();
      expect(accepts(ownKey(made), delivery)).toBe(true);
      const changed = Buffer.concat([delivery.body, Buffer.from(' ')]);
      expect(accepts(ownKey(made), { ...delivery, body: changed })).toBe(false);
      expect(accepts(clientKey(), delivery)).toBe(false);
      expect(signaturesOf(delivery)).toHaveLength(1);
    });

    it('accepts deliveries with the client secret and the first secret of the webhook while both are valid', async () => {
      const made = await create();
      const delivery = await delivered();
      expect([ownKey(made), clientKey()].map((key) => accepts(key, delivery))).toEqual([
        true,
        true,
      ]);
    });

    it('accepts deliveries with the old and the new secret of a webhook while both are valid', async () => {
      const first = await create({ previous_expires_in: 0 });
      const second = await create({ previous_expires_in: HOUR_SECONDS });
      const delivery = await delivered();
      expect(accepts(ownKey(first), delivery)).toBe(true);
      expect(accepts(ownKey(second), delivery)).toBe(true);
      expect(accepts(clientKey(), delivery)).toBe(false);
      const third = await create({ previous_expires_in: 0 });
      const later = await delivered();
      expect([first, second, third].map((made) => accepts(ownKey(made), later))).toEqual([
        false,
        false,
        true,
      ]);
    });

    it('accepts deliveries with the old and the new client secret while both are valid', async () => {
      const applications = server.app.get(ApplicationsService);
      const { clientSecret } = await applications.rotateSecret(application.clientId, DAY_SECONDS);
      const delivery = await delivered();
      expect(accepts(clientKey(), delivery)).toBe(true);
      expect(accepts(clientKey(clientSecret), delivery)).toBe(true);
      const next = await applications.rotateSecret(application.clientId);
      const later = await delivered();
      expect(accepts(clientKey(clientSecret), later)).toBe(false);
      expect(accepts(clientKey(next.clientSecret), later)).toBe(true);
    });

    it('accepts deliveries with the client secret again after the last secret of the webhook was deleted', async () => {
      const made = await create({ previous_expires_in: 0 });
      expect((await call('delete', `/${made.id}`)).body).toEqual({ success: true });
      const delivery = await delivered();
      expect(accepts(ownKey(made), delivery)).toBe(false);
      expect(accepts(clientKey(), delivery)).toBe(true);
    });
  });

  it('are shown once, as Standard Webhooks defines them, and are stored encrypted', async () => {
    const made = await create();
    expect(made).toEqual({
      id: expect.any(String),
      secret: expect.stringMatching(/^whsec_[\w+/]{43}=$/),
      created_at: expect.any(Number),
      expires_at: null,
      previous_expires_at: made.created_at + DAY_SECONDS,
    });
    const list = await call('get');
    expect(list.body).toEqual([{ id: made.id, created_at: made.created_at, expires_at: null }]);
    const [row] = await database.query<{ sealed: string }>(
      'select secret_sealed as sealed from webhook_secret where id = $1',
      [made.id],
    );
    expect(row?.sealed).toMatch(/^v1\./);
    expect(row?.sealed).not.toContain(made.secret);
    const audit = await request(server.url)
      .get(`/a/${application.clientId}/audit-log?action=webhook.create-secret`)
      .set(application.secretBasic);
    expect(audit.body).toMatchObject([{ action: 'webhook.create-secret' }]);
    expect(JSON.stringify(audit.body)).toContain(made.id);
    expect(JSON.stringify(audit.body)).not.toContain(made.secret.slice('whsec_'.length));
  });

  it('sign for the time that the caller chooses, and are deleted afterwards', async () => {
    const first = await create({ previous_expires_in: 0 });
    const second = await create({ previous_expires_in: HOUR_SECONDS });
    expect((await call('get')).body).toEqual([
      expect.objectContaining({ id: first.id, expires_at: second.created_at + HOUR_SECONDS }),
      expect.objectContaining({ id: second.id, expires_at: null }),
    ]);
    expect(signaturesOf(await delivered())).toHaveLength(2);
    await pass(HOUR_SECONDS + 1);
    expect(await ids()).toEqual([second.id]);
    expect(signaturesOf(await delivered())).toHaveLength(1);
    await server.app.get(Maintenance, { strict: false }).runAll(new AbortController().signal);
    const stored = await database.query<{ id: string }>(
      'select id from webhook_secret where webhook_id = $1',
      [webhook],
    );
    expect(stored).toEqual([{ id: second.id }]);
  });

  it('let the client secret sign beside the first one for the chosen time only', async () => {
    await create({ previous_expires_in: HOUR_SECONDS });
    expect(signaturesOf(await delivered())).toHaveLength(2);
    await pass(HOUR_SECONDS + 1);
    expect(signaturesOf(await delivered())).toHaveLength(1);
  });

  it('keep an earlier end when another one is made', async () => {
    const first = await create({ previous_expires_in: 0 });
    const second = await create({ previous_expires_in: HOUR_SECONDS });
    await create({ previous_expires_in: DAY_SECONDS });
    const [before] = (await call('get')).body as { id: string; expires_at: number }[];
    expect(before).toMatchObject({
      id: first.id,
      expires_at: second.created_at + HOUR_SECONDS,
    });
  });

  it('are refused as the secret of an application once their time is over', async () => {
    const applications = server.app.get(ApplicationsService);
    const status = async () => (await call('get')).status;
    await applications.rotateSecret(application.clientId, HOUR_SECONDS);
    expect(await status()).toBe(200);
    await pass(HOUR_SECONDS + 1);
    expect(await status()).toBe(401);
    await server.app.get(Maintenance, { strict: false }).runAll(new AbortController().signal);
    const [row] = await database.query(
      'select previous_secret_hash as hash, previous_secret_sealed as sealed from application where id = $1',
      [application.id],
    );
    expect(row).toEqual({ hash: null, sealed: null });
  });

  it('are at most 5 of a webhook, even if requests come at the same time', async () => {
    const made = await Promise.all(Array.from({ length: 7 }, () => call('post').send({})));
    expect(made.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200, 200, 200, 200, 200, 409, 409,
    ]);
    expect(made.find(({ status }) => status === 409)?.body.message).toContain(
      '5 valid secrets already',
    );
    expect(await ids()).toHaveLength(5);
    const last = await create({ previous_expires_in: 0 });
    expect(await ids()).toEqual([last.id]);
  });

  it('are deleted with their webhook', async () => {
    await create();
    await request(server.url)
      .delete(`/a/${application.clientId}/webhooks/${webhook}`)
      .set(application.secretBasic);
    expect(
      await database.query('select 1 from webhook_secret where webhook_id = $1', [webhook]),
    ).toEqual([]);
    expect((await call('get')).status).toBe(404);
  });

  it('are those of the own application only', async () => {
    const made = await create();
    const other = await createApplication(server.app);
    const others = await createWebhook(server.app, other, `${receiver.origin}/other`);
    expect((await call('get', '', { as: other })).status).toBe(404);
    expect((await call('post', '', { as: other }).send({})).status).toBe(404);
    expect((await call('delete', `/${made.id}`, { as: other })).status).toBe(404);
    expect((await call('delete', `/${made.id}`, { as: other, id: others })).status).toBe(404);
    expect((await call('delete', '/nothing')).status).toBe(404);
    expect((await call('get', '', { id: 'nothing' })).status).toBe(404);
    expect(await ids()).toEqual([made.id]);
  });

  it.each<[object, RegExp]>([
    [{ previous_expires_in: -1 }, /^previous_expires_in/],
    [{ previous_expires_in: 30 * DAY_SECONDS + 1 }, /^previous_expires_in/],
    [{ previous_expires_in: 1.5 }, /^previous_expires_in/],
    [{ previous_expires_in: '60' }, /^previous_expires_in/],
  ])('refuse the body %j with the name of the field', async (body, message) => {
    const answer = await call('post').send(body);
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringMatching(message)]);
  });

  it('are made by a request without a body, too', async () => {
    expect((await call('post')).status).toBe(200);
  });
});
