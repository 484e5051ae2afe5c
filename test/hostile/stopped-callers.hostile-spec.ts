import http from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { deliver } from '../support/deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { createOperator, type TestOperator } from '../support/operators.ts';
import { rowsOf } from '../support/connect.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

interface Delta {
  id: string;
  object: string;
  attributes?: { filename?: string };
}

/** Callers that were allowed when their request began, and are not any more. */
describe('a caller who was stopped meanwhile', () => {
  let server: TestApp;
  let operator: TestOperator;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    operator = await createOperator(server);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application, {
      mirrored: true,
      scope: ['email', 'calendar'],
    });
  });

  const steer = (action: 'suspend' | 'unsuspend') =>
    request(server.url)
      .post(`/admin/applications/${application.clientId}/${action}`)
      .set(operator.bearer)
      .send(action === 'suspend' ? { reason: 'abuse' } : undefined)
      .expect(200);
  const narrow = (...scope: string[]) =>
    request(server.url)
      .patch(`/connect/grants/${ada.id}`)
      .set(application.basic)
      .send({ scope })
      .expect(200);
  const latest = async () =>
    (await request(server.url).post('/delta/latest_cursor').set(ada.bearer)).body.cursor as string;

  /** Opens a stream: the deltas that have arrived, and whether the server has ended it. */
  async function stream(query = '') {
    const path = `/delta/streaming?cursor=${await latest()}${query}`;
    const sent = http.get(server.url + path, { headers: ada.bearer, agent: false });
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).once('error', reject);
    });
    expect(response.statusCode).toBe(200);
    let text = '';
    response.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const deltas = () =>
      text
        .split('\n')
        .slice(0, -1)
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Delta);
    return { deltas, hasEnded: () => response.readableEnded, close: () => sent.destroy() };
  }

  const withAttachment = (name: string) =>
    deliver(server, ada, [
      `Subject: ${name}`,
      'Content-Type: text/plain',
      `Content-Disposition: attachment; filename="${name}"`,
      '',
      'A secret.',
    ]);
  const isMirrored = (name: string) =>
    until(`${name} to be mirrored`, async () => {
      const files = await rowsOf(
        server,
        'select 1 from file where account_id = $1 and filename = $2',
        [ada.id, name],
      );
      return files.length > 0;
    });
  const upload = (name: string) =>
    request(server.url)
      .post('/files')
      .set(ada.bearer)
      .attach('file', Buffer.from('x'), name)
      .expect(200);

  it('gets no attachment from a stream that was opened before the scopes were narrowed', async () => {
    const open = await stream('&include_types=file');
    await withAttachment('before.txt');
    await until('the first attachment', async () => open.deltas().length === 1);
    await narrow('email.drafts');
    await withAttachment('after.txt');
    await isMirrored('after.txt');
    await upload('own.txt');
    await until('the upload', async () => open.deltas().length > 1);
    open.close();
    expect(open.deltas().map(({ attributes }) => attributes?.filename)).toEqual([
      'before.txt',
      'own.txt',
    ]);
  });

  it('gets no attachment from a long poll that was waiting when the scopes were narrowed', async () => {
    const poll = request(server.url)
      .get(`/delta/longpoll?cursor=${await latest()}&include_types=file&timeout=60`)
      .set(ada.bearer)
      .then(({ body }) => body as { deltas: Delta[] });
    await narrow('email.drafts');
    await withAttachment('after.txt');
    await isMirrored('after.txt');
    await upload('own.txt');
    expect((await poll).deltas.map(({ attributes }) => attributes?.filename)).toEqual(['own.txt']);
  });

  it.each([
    [
      'whose token was revoked',
      () => request(server.url).post('/oauth/revoke').set(ada.bearer).expect(200),
      401,
    ],
    ['whose application was suspended', () => steer('suspend'), 403],
    [
      'whose account was cancelled',
      () =>
        request(server.url)
          .post(`/a/${application.clientId}/accounts/${ada.id}/downgrade`)
          .set(application.secretBasic)
          .expect(200),
      403,
    ],
    ['whose scopes do not allow any of it', () => narrow('calendar'), 401],
  ])('and %s loses streams and long polls, although nothing changes', async (_, stop, status) => {
    const open = await stream('&include_types=message');
    const poll = request(server.url)
      .get(`/delta/longpoll?cursor=${await latest()}&include_types=message&timeout=30`)
      .set(ada.bearer)
      .then((answer) => answer.status);
    await stop();
    const ended = until('the stream to end', async () => open.hasEnded());
    await ended.finally(() => open.close());
    expect(open.deltas()).toEqual([]);
    expect(await poll).toBe(status);
  });

  it('publishes no calendar while the application is suspended or the scopes do not allow it', async () => {
    const { body: calendar } = await request(server.url)
      .post('/calendars')
      .set(ada.bearer)
      .send({ name: 'Work' })
      .expect(200);
    const { body: feed } = await request(server.url)
      .post(`/calendars/${calendar.id}/feed`)
      .set(ada.bearer)
      .expect(200);
    const read = async () =>
      (await request(server.url).get(new URL(feed.url as string).pathname)).status;
    expect(await read()).toBe(200);
    await steer('suspend');
    expect(await read()).toBe(403);
    await steer('unsuspend');
    expect(await read()).toBe(200);
    await narrow('email.read_only');
    expect(await read()).toBe(404);
  });
});
