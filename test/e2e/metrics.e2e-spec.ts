import request from 'supertest';
import { newId } from '../../src/platform/base/ids/ids.ts';
import {
  databaseNow,
  deliveryFigures,
  invalidAccounts,
  messagesApart,
  queueStates,
  sendingFigures,
  syncStates,
} from '../../src/operator/overview/overview.repository.ts';
import { OverviewService } from '../../src/operator/overview/overview.service.ts';
import type { Sql } from '../../src/platform/database/sql.ts';
import { MetricsDatabase } from '../../src/platform/metrics/metrics-database.ts';
import { QUEUES } from '../../src/platform/work/signals.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { type MetricsPage, readMetrics, total } from '../support/metrics-page.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const TOKEN = 'token-of-these-metrics';

describe('metrics', () => {
  let server: TestApp;
  let ada: TestAccount;
  /** Other tests of this process may have counted before. */
  let first: MetricsPage;
  beforeAll(async () => {
    server = await startTestApp({ METRICS_TOKEN: TOKEN });
    first = await readMetrics(server, TOKEN);
    ada = await createAccount(server.app, await createApplication(server.app));
  });
  afterAll(() => server.close());

  const send = (email: string) =>
    request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({ to: [{ email, name: '' }], subject: 'Hi', body: 'Hi' })
      .expect(202);
  /** How much the sum of some series has grown. */
  const growth = async (
    before: MetricsPage,
    name: string,
    labels: Record<string, string>,
    to: number,
  ) =>
    until(`${name} to grow by ${to}`, async () => {
      const page = await readMetrics(server, TOKEN);
      return total(page, name, labels) - total(before, name, labels) === to && page;
    });

  it('counts accepted messages, attempts by outcome and route, and the lateness of first attempts', async () => {
    const before = await readMetrics(server, TOKEN);
    await send('bo@example.test');
    await send('temporary@sandbox.test');
    await send('unknown@sandbox.test');
    for (const outcome of ['sent', 'retried', 'unknown']) {
      const labels = { outcome, route: 'account' };
      await growth(before, 'carillon_send_attempts_total', labels, 1);
    }
    await growth(before, 'carillon_sends_ended_total', { status: 'successful' }, 1);
    await growth(before, 'carillon_queue_lateness_seconds_count', { queue: 'send' }, 3);
    await growth(before, 'carillon_queue_runs_total', { queue: 'send', result: 'again' }, 2);
    await growth(before, 'carillon_sends_accepted_total', { by: 'outbox' }, 3);
  });

  it('counts a message that is sent within its request', async () => {
    const before = await readMetrics(server, TOKEN);
    await request(server.url)
      .post('/v2/send')
      .set(ada.bearer)
      .send({ to: [{ email: 'bo@example.test', name: '' }], subject: 'Hi', body: 'Hi' });
    await growth(before, 'carillon_sends_accepted_total', { by: 'send' }, 1);
    await growth(before, 'carillon_send_attempts_total', { outcome: 'sent' }, 1);
  });

  it('names requests by route template and never by their path', async () => {
    const before = await readMetrics(server, TOKEN);
    const id = newId();
    await request(server.url).get(`/v2/outbox/${id}`).set(ada.bearer).expect(404);
    await request(server.url).get(`/nothing/${id}`).expect(404);
    const template = { method: 'GET', route: '/v2/outbox/:job_status_id', status: '404' };
    const page = await growth(before, 'carillon_http_requests_total', template, 1);
    await growth(before, 'carillon_http_requests_total', { route: 'none', status: '404' }, 1);
    expect([...page.keys()].filter((series) => series.includes(id))).toEqual([]);
  });

  it('shows the queues, workers, checks and connections of the installation', async () => {
    const page = await readMetrics(server, TOKEN);
    expect(total(page, 'carillon_workers', { state: 'alive' })).toBe(1);
    expect(total(page, 'carillon_check_ok', { check: 'keys' })).toBe(1);
    expect(total(page, 'carillon_queue_due_rows', { queue: 'send' })).toBe(0);
    expect(total(page, 'carillon_database_pool_size', { pool: 'carillon' })).toBe(10);
    expect(total(page, 'carillon_database_connections')).toBeGreaterThan(1);
    expect(total(page, 'carillon_database_size_bytes')).toBeGreaterThan(1_000_000);
    const sources = [...page].filter(([series]) => series.startsWith('carillon_metrics_source_up'));
    expect(sources.length).toBeGreaterThan(0);
    expect(sources.filter(([, up]) => up !== 1)).toEqual([]);
  });

  it('are shown only with the token of METRICS_TOKEN, in the format of Prometheus', async () => {
    const page = () => request(server.url).get('/metrics');
    expect((await page()).status).toBe(401);
    const wrong = await page().set('authorization', 'Bearer token-of-other-metrics');
    expect(wrong.status).toBe(401);
    expect(wrong.text).not.toContain('carillon_');
    expect((await page().set('authorization', TOKEN)).status).toBe(401);
    const right = await page().set('authorization', `Bearer ${TOKEN}`).expect(200);
    expect(right.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  it('agree with the overview of the last hour, which is read from the database', async () => {
    const service = server.app.get(OverviewService);
    const { sending, queues, workers, at } = await until('both to agree', async () => {
      const [overview, page] = [await service.read(), await readMetrics(server, TOKEN)];
      const agrees = (['sent', 'retried', 'failed', 'unknown'] as const).every((outcome) => {
        const attempts = (of: MetricsPage) =>
          total(of, 'carillon_send_attempts_total', { outcome });
        return overview.sending.figures[outcome] === attempts(page) - attempts(first);
      });
      return agrees && overview;
    });
    const { sent, lateP99Seconds } = sending.figures;
    expect(sent).toBeGreaterThanOrEqual(2);
    expect(lateP99Seconds).toBeGreaterThanOrEqual(0);
    expect(sending.minutes).toHaveLength(60);
    const inMinutes = sending.minutes.reduce((sum, { figures }) => sum + figures.sent, 0);
    expect(inMinutes).toBe(sent);
    expect(at.getTime() - (sending.minutes.at(-1)?.at.getTime() ?? 0)).toBeLessThan(60_000);
    expect(queues.map(({ queue }) => queue)).toEqual([...QUEUES]);
    expect(workers).toMatchObject([{ pid: process.pid }]);
  });

  it('are read from large tables by index only', async () => {
    const database = server.app.get(MetricsDatabase);
    const asked: [text: string, values: readonly unknown[]][] = [];
    const noting = {
      query: (text: string, values: readonly unknown[] = []) => {
        asked.push([text, values]);
        return database.query(text, values);
      },
    } as Sql;
    const now = await databaseNow(noting);
    for (const read of [
      queueStates,
      messagesApart,
      syncStates,
      sendingFigures,
      deliveryFigures,
      invalidAccounts,
    ])
      await read(noting, now);
    for (const [text, values] of asked) {
      const plan = await database.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
      const lines = plan.map((row) => row['QUERY PLAN']);
      expect(lines.filter((line) => line.includes('Seq Scan'))).toEqual([]);
    }
    expect(asked).toHaveLength(7);
  });
});
