import { createHmac } from 'node:crypto';
import { Carillon, CarillonError, verifyWebhook } from '../../clients/typescript/src/index.ts';
import {
  countAndIds,
  deliveries,
  exists,
  markRead,
  newestSubjects,
  sendLater,
  subjectsOf,
  titlesOfAllEvents,
} from '../../clients/typescript/samples.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('the TypeScript client', () => {
  let server: TestApp;
  let application: TestApplication;
  let carillon: Carillon;
  let asApplication: Carillon;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    application = await createApplication(server.app);
    const { token } = await createAccount(server.app, application);
    carillon = new Carillon({ baseUrl: `${server.url}/`, accessToken: token });
    const { clientId, clientSecret } = application;
    asApplication = new Carillon({ baseUrl: server.url, clientId, clientSecret });
  });
  afterAll(() => server.close());

  it('reads lists as objects, ids or a number, each with its type', async () => {
    const messages = await carillon.get('/messages');
    expect((await newestSubjects(carillon)).length).toBe(Math.min(5, messages.length));
    const { count, ids } = await countAndIds(carillon);
    expect(ids).toHaveLength(count);
  });

  it('reads a list to its end, whatever the size of a page', async () => {
    const calendar = await carillon.post('/calendars', { body: { name: 'Team' } });
    const titles = ['a', 'b', 'c', 'd', 'e'];
    for (const title of titles) {
      const when = { start_time: 1_900_000_000, end_time: 1_900_003_600 };
      await carillon.post('/events', { body: { calendar_id: calendar.id, title, when } });
    }
    expect((await titlesOfAllEvents(carillon, calendar.id)).sort()).toEqual(titles);
  });

  it('sends later, and does not send twice with one key', async () => {
    const at = new Date(1_900_000_000_000);
    const first = await sendLater(carillon, at);
    expect(first).toMatchObject({ status: 'pending', send_at: 1_900_000_000 });
    expect((await sendLater(carillon, at)).job_status_id).toBe(first.job_status_id);
    const path = { job_status_id: first.job_status_id };
    const cancelled = await carillon.delete('/v2/outbox/{job_status_id}', { path, body: {} });
    expect(cancelled.status).toBe('cancelled');
  });

  it('throws errors with status, kind, request and the id of the request', async () => {
    expect(await exists(carillon, 'nothing')).toBe(false);
    const error: unknown = await markRead(carillon, 'nothing').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CarillonError);
    expect(error).toMatchObject({ status: 404, type: 'invalid_request_error' });
    expect((error as CarillonError).message).toMatch(/^PUT \/messages\/\{id\}: 404 /);
    expect((error as CarillonError).requestId).toMatch(/.{10}/);
  });

  it('uses the credentials of the application where they are needed', async () => {
    expect(await deliveries(asApplication)).toBe(0);
    expect((await asApplication.get('/connect/grants')).data).toHaveLength(1);
    const withoutSecret = new Carillon({ baseUrl: server.url, clientId: application.clientId });
    await expect(deliveries(withoutSecret)).rejects.toMatchObject({ status: 401 });
  });

  it('hands out files as they are', async () => {
    const form = new FormData();
    form.append('file', new Blob(['Soup']), 'menu.txt');
    const uploaded = await (await carillon.fetch('post', '/files', { body: form })).json();
    expect(uploaded).toMatchObject([{ filename: 'menu.txt', size: 4 }]);
  });

  it('accepts webhooks that the secret has signed, and refuses others and old ones', async () => {
    const body = JSON.stringify({ deltas: [{ type: 'job.failed', object: 'job_status' }] });
    const seconds = Math.floor(Date.now() / 1000);
    const signed = (timestamp: number, key = 'secret') => ({
      body,
      id: 'id-1',
      timestamp: String(timestamp),
      signature: `v1,${createHmac('sha256', key).update(`id-1.${timestamp}.${body}`).digest('base64')}`,
    });
    expect(await verifyWebhook(signed(seconds), 'secret')).toMatchObject([{ type: 'job.failed' }]);
    expect(subjectsOf((await verifyWebhook(signed(seconds), 'secret')) ?? [])).toEqual([]);
    const bytes = { ...signed(seconds), body: Buffer.from(body) };
    expect(await verifyWebhook(bytes, 'secret')).toHaveLength(1);
    const forged = [
      signed(seconds, 'other'),
      signed(seconds - 400),
      { ...signed(seconds), id: 'id-2' },
      { ...signed(seconds), timestamp: null },
      { ...signed(seconds), signature: 'v1,%%%' },
      { ...signed(seconds), body: `${body} ` },
    ];
    for (const one of forged) expect(await verifyWebhook(one, 'secret')).toBeUndefined();
  });
});
