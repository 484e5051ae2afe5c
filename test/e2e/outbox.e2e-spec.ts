import request from 'supertest';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { rowsOf } from '../support/connect.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const bo = { email: 'bo@example.test', name: 'Bo' };

describe('outbox and job statuses', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let eve: TestAccount;
  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application, {
      email: 'ada@sandbox.test',
      name: 'Ada',
      mirrored: true,
    });
    eve = await createAccount(server.app, await createApplication(server.app));
  });
  afterAll(() => server.close());

  const post = (body: object, account = ada) =>
    request(server.url).post('/v2/outbox').set(account.bearer).send(body);
  const job = async (id: string, account = ada) =>
    (await request(server.url).get(`/job-statuses/${id}?view=expanded`).set(account.bearer)).body;
  const settled = (id: string) =>
    until(`job ${id} to end`, async () => {
      const status = await job(id);
      return ['successful', 'failed', 'cancelled'].includes(status.status) && status;
    });

  it('accepts an immediate message with 202 and sends it', async () => {
    const before = inSeconds(0);
    const response = await post({ to: [bo], cc: [], subject: 'Hi', body: '<p>Hi</p>' });
    const after = inSeconds(0);
    expect(response.status).toBe(202);
    expect(response.body).toMatchObject({
      status: 'pending',
      account_id: ada.id,
      original_data: {
        from: [{ email: 'ada@sandbox.test', name: 'Ada' }],
        to: [bo],
        cc: [],
        bcc: [],
        reply_to: [],
        subject: 'Hi',
        body: '<p>Hi</p>',
      },
    });
    const { original_data: data, send_at: sendAt } = response.body;
    expect(data.send_at).toBe(sendAt);
    expect(data.original_send_at).toBe(sendAt);
    expect(data.retry_limit_datetime).toBe(sendAt + 86_400);
    expect(sendAt).toBeGreaterThanOrEqual(before);
    expect(sendAt).toBeLessThanOrEqual(after);

    const end = await settled(response.body.job_status_id);
    expect(end).toMatchObject({
      status: 'successful',
      action: 'new_outbox',
      object: 'message',
      send_at: sendAt,
      original_send_at: sendAt,
      attempts: [{ attempt: 1, outcome: 'sent', phase: 'confirmation' }],
    });
    expect(end).not.toHaveProperty('reason');
    expect(end.message_id).toEqual(expect.any(String));
  });

  it('sends a message at the requested time, not earlier', async () => {
    const later = inSeconds(3600);
    const { body } = await post({ to: [bo], subject: 'Later', send_at: String(later) });
    expect(body.send_at).toBe(later);
    const sendAt = inSeconds(2);
    const edited = await request(server.url)
      .patch(`/v2/outbox/${body.job_status_id}`)
      .set(ada.bearer)
      .send({ send_at: String(sendAt) })
      .expect(200);
    // A time that has passed before the server reads the request means "now".
    expect(edited.body.send_at).toBeGreaterThanOrEqual(sendAt);
    const end = await settled(body.job_status_id);
    expect(end).toMatchObject({ status: 'successful', send_at: edited.body.send_at });
    expect(end.attempts[0].started_at).toBeGreaterThanOrEqual(edited.body.send_at);
  });

  it.each(['patch', 'put'] as const)(
    'applies an edit by %s and returns the result',
    async (method) => {
      const { body } = await post({
        to: [bo],
        subject: 'One',
        body: 'x',
        send_at: inSeconds(3600),
      });
      const sendAt = inSeconds(7200);
      const url = `/v2/outbox/${body.job_status_id}`;
      const client = request(server.url);
      const edited = await client[method](url)
        .set(ada.bearer)
        .send({ subject: 'Two', send_at: sendAt, to: [], cc: [], bcc: [], from: [], reply_to: [] });
      expect(edited.status).toBe(200);
      expect(edited.body).toMatchObject({
        status: 'pending',
        send_at: sendAt,
        original_send_at: sendAt,
        original_data: {
          subject: 'Two',
          body: 'x',
          to: [bo],
          send_at: sendAt,
          original_send_at: sendAt,
          retry_limit_datetime: sendAt + 86_400,
        },
      });
      const read = await request(server.url)
        .get(`/v2/outbox/${body.job_status_id}`)
        .set(ada.bearer);
      expect(read.body).toEqual(edited.body);
      expect(await job(body.job_status_id)).toMatchObject({
        send_at: sendAt,
        original_send_at: sendAt,
      });
    },
  );

  it('sends a message at once when its send time is changed to now', async () => {
    const { body } = await post({ to: [bo], send_at: inSeconds(3600) });
    await request(server.url)
      .patch(`/v2/outbox/${body.job_status_id}`)
      .set(ada.bearer)
      .send({ send_at: 0 })
      .expect(200);
    expect(await settled(body.job_status_id)).toMatchObject({ status: 'successful' });
  });

  it('cancels a message, which is then never sent, and reports the cancellation', async () => {
    const { body } = await post({ to: [bo], send_at: inSeconds(3600) });
    const url = `/v2/outbox/${body.job_status_id}`;
    await request(server.url).delete(url).set(ada.bearer).expect(200);
    expect(await job(body.job_status_id)).toMatchObject({
      status: 'cancelled',
      reason: 'cancelled by the user',
      attempts: [],
    });
    const edited = await request(server.url).patch(url).set(ada.bearer).send({ subject: 'x' });
    expect(edited.status).toBe(409);
    expect(edited.body).toEqual({
      message: 'The message is cancelled and can no longer be changed.',
      type: 'invalid_request_error',
    });
  });

  it('answers a repeated cancellation with the same cancelled message, and refuses to cancel a message that has ended in another way', async () => {
    const { body } = await post({ to: [bo], send_at: inSeconds(3600) });
    const url = `/v2/outbox/${body.job_status_id}`;
    const together = await Promise.all(
      [1, 2, 3].map(() => request(server.url).delete(url).set(ada.bearer)),
    );
    const first = together[0]!;
    expect([first.status, first.body.status]).toEqual([200, 'cancelled']);
    const again = await request(server.url).delete(url).set(ada.bearer);
    for (const { status, body: message, headers } of [...together, again]) {
      expect([status, message]).toEqual([200, first.body]);
      expect(headers['etag']).toBe(first.headers['etag']);
    }
    await request(server.url).delete(url).set(ada.bearer).set('If-Match', '"2"').expect(412);
    const now = await post({ to: [bo] });
    await settled(now.body.job_status_id);
    const late = await request(server.url)
      .delete(`/v2/outbox/${now.body.job_status_id}`)
      .set(ada.bearer);
    expect([late.status, late.body.message]).toEqual([
      409,
      'The message is successful and can no longer be changed.',
    ]);
  });

  it('lists unsent messages, and every job newest first', async () => {
    const { body } = await post({ to: [bo], subject: 'Waiting', send_at: inSeconds(3600) });
    const list = await request(server.url).get('/v2/outbox').set(ada.bearer);
    expect(list.body.map((item: { job_status_id: string }) => item.job_status_id)).toContain(
      body.job_status_id,
    );
    expect(
      list.body.every((item: { status: string }) => ['pending', 'delayed'].includes(item.status)),
    ).toBe(true);
    const jobs = await request(server.url).get('/job-statuses?limit=1').set(ada.bearer);
    expect(jobs.body).toHaveLength(1);
    expect(jobs.body[0]).toMatchObject({
      job_status_id: body.job_status_id,
      object: 'message',
      action: 'new_outbox',
    });
    expect((await request(server.url).get('/job-statuses?limit=0').set(ada.bearer)).body).toEqual(
      [],
    );
  });

  it('lists a long unsent message on a short page, too', async () => {
    const long = { to: [bo], body: 'Hello '.repeat(120_000), send_at: inSeconds(7200) };
    const { body } = await post(long);
    const list = await request(server.url).get('/v2/outbox?limit=16').set(ada.bearer).expect(200);
    const item = (list.body as { job_status_id: string; original_data: object }[]).find(
      (one) => one.job_status_id === body.job_status_id,
    );
    expect(item).toMatchObject({ original_data: { body: long.body } });
  });

  it('fails a message at once if the provider rejects it, with the reason', async () => {
    const { body } = await post({ to: [{ email: 'rejected@sandbox.test' }] });
    const end = await settled(body.job_status_id);
    expect(end.status).toBe('failed');
    expect(end.reason).toMatch(/^rejected by the provider: 550/);
    expect(end.attempts).toMatchObject([
      { outcome: 'not-sent', code: 'rejected', rule: 'rejected', next_at: null },
    ]);
  });

  it('marks a message as delayed after a temporary failure, and then accepts its cancellation but no edit', async () => {
    const { body } = await post({ to: [{ email: 'temporary@sandbox.test' }] });
    const delayed = await until('the job to be delayed', async () => {
      const status = await job(body.job_status_id);
      return status.status === 'delayed' && status;
    });
    expect(delayed.reason).toMatch(/^could not be sent yet: 4/);
    expect(delayed.attempts).toMatchObject([{ attempt: 1, outcome: 'not-sent', rule: 'backoff' }]);
    const url = `/v2/outbox/${body.job_status_id}`;
    await request(server.url).patch(url).set(ada.bearer).send({ subject: 'x' }).expect(409);
    await request(server.url).delete(url).set(ada.bearer).expect(200);
    expect(await job(body.job_status_id)).toMatchObject({ status: 'cancelled' });
  });

  it('lists jobs with their timelines and recipients with view=expanded', async () => {
    const { body } = await post({
      to: [bo, { email: 'bounce@sandbox.test' }],
      subject: 'Listed',
    });
    const end = await settled(body.job_status_id);
    const listed = await request(server.url)
      .get('/job-statuses?view=expanded&limit=1000')
      .set(ada.bearer);
    const one = (id: string) =>
      listed.body.find(({ job_status_id }: { job_status_id: string }) => job_status_id === id);
    expect(one(body.job_status_id)).toEqual(end);
    expect(end.attempts).toHaveLength(1);
    const plain = (await request(server.url).get('/job-statuses?limit=1000').set(ada.bearer)).body;
    expect(plain[0]).not.toHaveProperty('attempts');
    const without = listed.body.map(
      ({ attempts: _attempts, recipients: _recipients, ...job }: Record<string, unknown>) => job,
    );
    expect(without).toEqual(plain);
    expect((await request(server.url).get('/job-statuses?view=all').set(ada.bearer)).status).toBe(
      400,
    );
  });

  it('makes a single attempt if the retry limit is 0', async () => {
    const { body } = await post({
      to: [{ email: 'temporary@sandbox.test' }],
      retry_limit_datetime: 0,
    });
    expect(body.original_data.retry_limit_datetime).toBe(0);
    const end = await settled(body.job_status_id);
    expect(end.reason).toMatch(/^retry limit datetime reached; last error: 4/);
    expect(end.attempts).toHaveLength(1);
    const left = 'select id from send_job where id = $1';
    expect(await rowsOf(server, left, [body.job_status_id])).toEqual([]);
  });

  it('shows a retry limit as it was sent: 0, or the same second as the send time', async () => {
    const sendAt = inSeconds(3600);
    for (const limit of [0, sendAt]) {
      const { body } = await post({ to: [bo], send_at: sendAt, retry_limit_datetime: limit });
      const { body: read } = await request(server.url)
        .get(`/v2/outbox/${body.job_status_id}`)
        .set(ada.bearer);
      const status = await job(body.job_status_id);
      for (const shown of [body, read, status])
        expect(shown.original_data.retry_limit_datetime).toBe(limit);
      const same = await request(server.url)
        .patch(`/v2/outbox/${body.job_status_id}`)
        .set(ada.bearer)
        .send({ send_at: sendAt, retry_limit_datetime: limit });
      expect(same.body).toEqual(read);
    }
    const second = inSeconds(0) + 1;
    const soon = await post({
      to: [{ email: 'temporary@sandbox.test' }],
      send_at: second,
      retry_limit_datetime: second,
    });
    const end = await settled(soon.body.job_status_id);
    expect(end).toMatchObject({
      status: 'failed',
      original_data: { retry_limit_datetime: second },
    });
    expect(end.attempts).toHaveLength(1);
  });

  it('looks up a message with an unknown outcome and does not send it again', async () => {
    const { body } = await post({ to: [{ email: 'unknown@sandbox.test' }] });
    const delayed = await until('the unknown outcome', async () => {
      const status = await job(body.job_status_id);
      return status.status === 'delayed' && status;
    });
    expect(delayed.reason).toMatch(/^the outcome is unknown/);
    expect(delayed.attempts).toMatchObject([{ outcome: 'unknown', rule: 'look-up' }]);
    // While the outcome is unknown, the message cannot be edited or cancelled: it may already have
    // been sent.
    await request(server.url)
      .delete(`/v2/outbox/${body.job_status_id}`)
      .set(ada.bearer)
      .expect(409);
  });

  it('marks the grant invalid if the provider refuses the credentials, and then refuses messages with 403', async () => {
    const account = await createAccount(server.app, application);
    const { body } = await post({ to: [{ email: 'auth-invalid@sandbox.test' }] }, account);
    await until(
      'the job to fail',
      async () => (await job(body.job_status_id, account)).status === 'failed',
    );
    const refused = await post({ to: [bo] }, account);
    expect(refused.status).toBe(403);
    expect(refused.body.message).toMatch(/credentials are out of date/);
  });

  it('keeps a reply in the thread of the original message', async () => {
    const { body } = await post({ to: [{ email: ada.email }], subject: 'Question' });
    await settled(body.job_status_id);
    const message = await until('the message in the mailbox', async () => {
      const list = await request(server.url).get('/messages?subject=Question').set(ada.bearer);
      return list.body[0];
    });
    const reply = await post({ to: [bo], reply_to_message_id: message.id });
    expect(reply.body.original_data.subject).toBe('Re: Question');
    expect((await settled(reply.body.job_status_id)).thread_id).toBe(message.thread_id);
  });

  describe('bad input is refused with a clear error and stores nothing', () => {
    const count = async () =>
      (await request(server.url).get('/job-statuses?limit=1000').set(ada.bearer)).body.length;
    it.each([
      ['no recipients', {}, /No recipients specified/],
      ['empty recipients', { to: [], cc: [], bcc: [] }, /No recipients specified/],
      [
        'a malformed address',
        { to: [{ email: 'nobody' }] },
        /^to\.0\.email: must be an email address/,
      ],
      ['a missing address', { to: [{ name: 'Bo' }] }, /^to\.0\.email is required/],
      ['recipients of the wrong type', { to: 'bo@example.test' }, /^to: /],
      ['two senders', { to: [bo], from: [bo, bo] }, /^from: must not have more than 1 entries/],
      ['a subject of the wrong type', { to: [bo], subject: 5 }, /^subject: /],
      [
        'a send_at in the past',
        { to: [bo], send_at: inSeconds(-3600) },
        /^send_at: must not be in the past/,
      ],
      [
        'a send_at that is not a number',
        { to: [bo], send_at: 'soon' },
        /^send_at: must be an integer/,
      ],
      [
        'a send_at in milliseconds',
        { to: [bo], send_at: Date.now() * 1000 },
        /^send_at: must be between/,
      ],
      [
        'a retry limit before send_at',
        { to: [bo], send_at: inSeconds(7200), retry_limit_datetime: inSeconds(3600) },
        /^retry_limit_datetime: must not be before send_at/,
      ],
      [
        'a retry limit more than seven days after send_at',
        { to: [bo], send_at: inSeconds(3600), retry_limit_datetime: inSeconds(700_000) },
        /^retry_limit_datetime: must be at most 7 days/,
      ],
      ['an unknown file', { to: [bo], file_ids: ['f1'] }, /^file_ids: Couldn't find file f1/],
      [
        'a reply to an unknown message',
        { to: [bo], reply_to_message_id: 'm1' },
        /^reply_to_message_id: Couldn't find/,
      ],
      ['a NUL in the subject', { to: [bo], subject: 'a\0b' }, /NUL/],
    ])('%s', async (_what, body, message) => {
      const before = await count();
      const response = await post(body);
      expect(response.status).toBe(400);
      expect(response.body.message).toMatch(message);
      expect(response.body.type).toBe('invalid_request_error');
      expect(await count()).toBe(before);
    });

    it('an array, a string, broken JSON and a huge body', async () => {
      const before = await count();
      const raw = (body: string) =>
        request(server.url)
          .post('/v2/outbox')
          .set(ada.bearer)
          .set('Content-Type', 'application/json')
          .send(body);
      expect((await raw('[1]')).body.message).toMatch(/^Invalid request body/);
      // PHP writes an empty object as an empty list.
      expect((await raw('[]')).body.message).toBe('No recipients specified');
      expect((await raw('"x"')).status).toBe(400);
      const broken = await raw('{"to": [');
      expect(broken.status).toBe(400);
      expect(broken.body).toEqual({
        message: 'The request body is not valid JSON',
        type: 'api_error',
      });
      expect(
        (await raw(JSON.stringify({ to: [bo], body: 'x'.repeat(11 * 1024 * 1024) }))).status,
      ).toBe(413);
      expect(await count()).toBe(before);
    });
  });

  it('answers 404 for jobs of other accounts', async () => {
    const { body } = await post({ to: [bo], subject: 'Mine', send_at: inSeconds(3600) });
    for (const id of [body.job_status_id, 'nonsense', '019aa1b2-0000-7000-8000-000000000001']) {
      for (const send of [
        request(server.url).get(`/v2/outbox/${id}`),
        request(server.url).get(`/job-statuses/${id}`),
        request(server.url).patch(`/v2/outbox/${id}`).send({ subject: 'Stolen' }),
        request(server.url).delete(`/v2/outbox/${id}`),
      ]) {
        const response = await send.set(eve.bearer);
        expect(response.status).toBe(404);
        expect(response.body.type).toBe('invalid_request_error');
      }
    }
    expect((await job(body.job_status_id)).original_data.subject).toBe('Mine');
  });

  it('needs a scope for sending', async () => {
    const reader = await createAccount(server.app, application, { scope: ['email.read_only'] });
    const response = await post({ to: [bo] }, reader);
    expect(response.status).toBe(403);
    expect(response.body.message).toMatch(/email\.send/);
    const sender = await createAccount(server.app, application, { scope: ['email.send'] });
    expect((await post({ to: [bo] }, sender)).status).toBe(202);
  });

  it('accepts JSON under any content type, and the token as a Basic user name', async () => {
    const basic = `Basic ${Buffer.from(`${ada.token}:`).toString('base64')}`;
    for (const type of ['text/plain;charset=UTF-8', 'application/x-www-form-urlencoded']) {
      const response = await request(server.url)
        .post('/v2/outbox')
        .set('Authorization', basic)
        .set('Content-Type', type)
        .send(JSON.stringify({ to: [bo] }));
      expect(response.status).toBe(202);
    }
  });
});
