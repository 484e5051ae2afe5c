import request from 'supertest';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

describe('provider writes', () => {
  let server: TestApp;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    ada = await createAccount(server.app, await createApplication(server.app));
  });
  afterAll(() => server.close());

  const api = async (method: 'get' | 'post' | 'put' | 'delete', path: string, body?: object) => {
    const response = await request(server.url)[method](path).set(ada.bearer).send(body);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body;
  };
  const outcome = (id: string) =>
    until(`the end of job ${id}`, async () => {
      const job = await api('get', `/job-statuses/${id}`);
      return job.status === 'pending' ? false : (job as { status: string; reason?: string });
    });

  it('are made in the order of the requests, even if the client does not wait for each result', async () => {
    const calendar = await api('post', '/calendars', { name: 'Team' });
    const event = await api('post', '/events', {
      calendar_id: calendar.id,
      when: { time: 1_900_000_000 },
      title: 'a',
    });
    const change = await api('put', `/events/${event.id}`, { title: 'b' });
    for (const { job_status_id: id } of [calendar, event, change])
      expect(await outcome(id)).toMatchObject({ status: 'successful' });
    expect(await api('get', `/events/${event.id}`)).toMatchObject({
      title: 'b',
      ical_uid: expect.any(String),
    });
    const removal = await api('delete', `/events/${event.id}`);
    const end = await api('delete', `/calendars/${calendar.id}`);
    for (const { job_status_id: id } of [removal, end])
      expect(await outcome(id)).toMatchObject({ status: 'successful' });
  });

  it('report why they failed', async () => {
    const calendar = await api('post', '/calendars', { name: '[sandbox:rejected]' });
    expect(await outcome(calendar.job_status_id)).toMatchObject({
      status: 'failed',
      reason: '400 The calendar server rejects this content',
    });
    const gone = await request(server.url).get(`/calendars/${calendar.id}`).set(ada.bearer);
    expect(gone.status).toBe(404);
  });

  it('all succeed when many change the same calendar at once', async () => {
    const calendar = await api('post', '/calendars', { name: 'v0' });
    const changes = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        api('put', `/calendars/${calendar.id}`, { name: `v${index + 1}` }),
      ),
    );
    for (const { job_status_id: id } of changes)
      expect(await outcome(id)).toMatchObject({ status: 'successful' });
  });
});
