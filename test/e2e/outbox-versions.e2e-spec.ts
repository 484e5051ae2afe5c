import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const bo = { email: 'bo@example.test', name: 'Bo' };

describe('versions and delivery options of outbox messages', () => {
  let server: TestApp;
  let database: Database;
  let ada: TestAccount;
  beforeAll(async () => {
    // No worker runs, so waiting messages stay as they are.
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    ada = await createAccount(server.app, await createApplication(server.app));
  });
  afterAll(() => server.close());

  const post = (body: object = {}) =>
    request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({ to: [bo], subject: 'One', send_at: inSeconds(3600), ...body });
  const url = (id: string) => `/v2/outbox/${id}`;
  const read = async (id: string) => request(server.url).get(url(id)).set(ada.bearer);
  const accept = async (body: object = {}) =>
    (await post(body).expect(202)).body.job_status_id as string;
  const change = (method: 'patch' | 'put' | 'delete', id: string) =>
    request(server.url)[method](url(id)).set(ada.bearer);

  it('count edits, and appear in the body and in the ETag', async () => {
    const posted = await post();
    expect(posted.body.version).toBe(1);
    expect(posted.headers['etag']).toBe('"1"');
    const id = posted.body.job_status_id;
    const edited = await change('patch', id).send({ subject: 'Two' });
    expect(edited.body.version).toBe(2);
    expect(edited.headers['etag']).toBe('"2"');
    const put = await change('put', id).send({ body: 'x' });
    expect(put.headers['etag']).toBe('"3"');
    const found = await read(id);
    expect(found.body).toEqual(put.body);
    expect(found.headers['etag']).toBe('"3"');
  });

  it('of one account are changed a few at a time, so that requests waiting for a row lock delay no other account', async () => {
    const id = await accept();
    const answers = await database.transaction(async (sql) => {
      await sql.query('select from send_job where id = $1 for update', [id]);
      const sent = Array.from({ length: 30 }, (_, index) =>
        change(index % 2 ? 'patch' : 'delete', id).then(({ status }) => status),
      );
      const waiting = await until('requests to wait', async () => {
        const [row] = await database.query<{ n: number }>(
          `select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return row?.n;
      });
      expect(waiting).toBeLessThanOrEqual(2);
      await read(id);
      return sent;
    });
    for (const status of await Promise.all(answers)) expect([200, 409]).toContain(status);
  });

  it('are not used to answer 304, because the status of a message changes without a new version', async () => {
    const id = await accept();
    await change('delete', id).expect(200);
    const found = await request(server.url)
      .get(url(id))
      .set(ada.bearer)
      .set('If-None-Match', '"1"');
    expect([found.status, found.headers['etag']]).toEqual([200, '"1"']);
    expect(found.body.status).toBe('cancelled');
  });

  it.each(['patch', 'put', 'delete'] as const)('protect a %s with If-Match', async (method) => {
    const id = await accept();
    await change('patch', id).send({ subject: 'Two' }).expect(200);
    const before = (await read(id)).body;
    for (const tag of ['"1"', 'W/"2"', '"abc"']) {
      const refused = await change(method, id).set('If-Match', tag).send({ subject: 'Three' });
      expect(refused.status).toBe(412);
      expect(refused.body).toEqual({
        message: 'If-Match: the message has changed; its version is now "2"',
        type: 'invalid_request_error',
      });
    }
    for (const tag of ['2', '"2', '', '"2" "3"']) {
      const malformed = await change(method, id).set('If-Match', tag).send({ subject: 'Three' });
      expect(malformed.status).toBe(400);
      expect(malformed.body.message).toMatch(/^If-Match: /);
    }
    expect((await read(id)).body).toEqual(before);
    await change(method, id).set('If-Match', '"1", "2"').send({ subject: 'Three' }).expect(200);
    const other = await accept();
    await change(method, other).set('If-Match', '*').send({}).expect(200);
  });

  it.each(['patch', 'put', 'delete'] as const)(
    'protect a %s with the field version in the body',
    async (method) => {
      const id = await accept();
      const before = (await read(id)).body;
      const refused = await change(method, id).send({ subject: 'Two', version: 2 });
      expect(refused.status).toBe(409);
      expect(refused.body.message).toBe('version: the message is at version 1, not 2');
      const malformed = await change(method, id).send({ subject: 'Two', version: 'two' });
      expect(malformed.status).toBe(400);
      expect(malformed.body.message).toMatch(/^version: /);
      expect((await read(id)).body).toEqual(before);
      await change(method, id).send({ version: 1 }).expect(200);
    },
  );

  it('let only one of several simultaneous edits of the same version succeed', async () => {
    const id = await accept();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        change('patch', id)
          .set('If-Match', '"1"')
          .send({ subject: `edit ${index}` }),
      ),
    );
    const [applied, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(9);
    expect((await read(id)).body).toEqual(applied?.body);
  });

  it('of simultaneous edits without a version are all counted, and no edit is lost', async () => {
    const id = await accept();
    const edits: object[] = [{ subject: 'Two' }, { body: 'New' }, { cc: [bo] }, { bcc: [bo] }];
    const answers = await Promise.all(edits.map((edit) => change('patch', id).send(edit)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { body } = await read(id);
    expect(body.version).toBe(5);
    expect(body.original_data).toMatchObject({
      subject: 'Two',
      body: 'New',
      cc: [bo],
      bcc: [bo],
    });
  });

  it('that are out of date are reported before any other error', async () => {
    const id = await accept();
    await change('delete', id).expect(200);
    expect((await change('patch', id).set('If-Match', '"2"').send({})).status).toBe(412);
    expect((await change('patch', id).set('If-Match', '"1"').send({})).status).toBe(409);
  });

  it('are optional in requests', async () => {
    // The official client also sends the version of a draft.
    await post({ version: 7 }).expect(202);
    const id = await accept();
    await change('patch', id).send({ subject: 'x', version: null }).expect(200);
  });

  it('are returned and kept until they are changed', async () => {
    const plain = await read(await accept());
    expect(plain.body).toMatchObject({
      on_missed: 'send',
      max_lateness_seconds: null,
      on_unknown: null,
    });
    const id = await accept({ on_missed: 'skip', on_unknown: 'fail' });
    expect((await read(id)).body).toMatchObject({
      on_missed: 'skip',
      max_lateness_seconds: 60,
      on_unknown: 'fail',
    });
    await change('patch', id).send({ subject: 'x' }).expect(200);
    const moved = await change('put', id).send({ max_lateness_seconds: '900' });
    expect(moved.body).toMatchObject({
      on_missed: 'skip',
      max_lateness_seconds: 900,
      on_unknown: 'fail',
    });
    const back = await change('patch', id).send({ on_missed: 'send', on_unknown: 'resend' });
    expect(back.body).toMatchObject({
      on_missed: 'send',
      max_lateness_seconds: null,
      on_unknown: 'resend',
    });
    expect((await read(id)).body).toEqual(back.body);
  });

  it.each([
    [{ on_missed: 'drop' }, /^on_missed: must be send or skip/],
    [{ on_unknown: 'guess' }, /^on_unknown: must be resend or fail/],
    [{ max_lateness_seconds: 5 }, /^max_lateness_seconds: only allowed with on_missed/],
    [{ on_missed: 'skip', max_lateness_seconds: -1 }, /^max_lateness_seconds: must be between/],
    [
      { on_missed: 'skip', max_lateness_seconds: 604_801 },
      /^max_lateness_seconds: must be between/,
    ],
    [{ on_missed: 'skip', max_lateness_seconds: 1.5 }, /^max_lateness_seconds: must be an integer/],
  ])('are refused if they are %j', async (choices, message) => {
    const posted = await post(choices);
    expect(posted.status).toBe(400);
    expect(posted.body.message).toMatch(message);
    const id = await accept();
    const before = (await read(id)).body;
    expect((await change('patch', id).send(choices)).status).toBe(400);
    expect((await read(id)).body).toEqual(before);
  });

  describe('of messages that wait for the send rate of their account', () => {
    let account: TestAccount;
    const gate = async () => {
      const [row] = await database.query<{ ahead: number }>(
        `select extract(epoch from next_slot - now())::float8 as ahead from account_gate where account_id = $1`,
        [account.id],
      );
      return row?.ahead ?? 0;
    };
    const runAt = async (id: string) => {
      const [row] = await database.query<{ runAt: Date }>(
        'select run_at as "runAt" from send_job where id = $1',
        [id],
      );
      return row?.runAt;
    };
    /**
     * Puts a message in the state in which a claim leaves it when the send rate is reached: with a
     * later slot, which the rate gate counts.
     */
    const park = async (body: object = {}) => {
      account = await createAccount(server.app, await createApplication(server.app));
      const response = await request(server.url)
        .post('/v2/outbox')
        .set(account.bearer)
        .send({ to: [bo], ...body });
      const id = response.body.job_status_id as string;
      await database.query(
        `update send_job set run_at = now() + interval '100 s' where id = $1 and run_at < now() + interval '60 s'`,
        [id],
      );
      await database.query(
        `insert into account_gate (account_id, next_slot, slot_ms) values ($1, now() + interval '1000 s', 50000)`,
        [account.id],
      );
      return id;
    };
    const as = (method: 'patch' | 'delete', id: string) =>
      request(server.url)[method](url(id)).set(account.bearer);

    it('free the slot of a cancelled message', async () => {
      await as('delete', await park()).expect(200);
      expect(Math.round(await gate())).toBeLessThanOrEqual(950);
      expect(Math.round(await gate())).toBeGreaterThan(900);
    });

    it('free the slot of a message with a new send time, and keep the slot after other edits', async () => {
      const id = await park();
      const slot = await runAt(id);
      await as('patch', id).send({ subject: 'Two' }).expect(200);
      expect(await runAt(id)).toEqual(slot);
      expect(Math.round(await gate())).toBeGreaterThan(950);
      const sendAt = inSeconds(3600);
      await as('patch', id).send({ send_at: sendAt }).expect(200);
      expect(await runAt(id)).toEqual(new Date(sendAt * 1000));
      expect(Math.round(await gate())).toBeLessThanOrEqual(950);
    });

    it('occupy no slot before their send time', async () => {
      await as('delete', await park({ send_at: inSeconds(3600) })).expect(200);
      expect(Math.round(await gate())).toBeGreaterThan(950);
    });
  });

  it('report on cancellation which recipients have already accepted the message', async () => {
    const id = await accept({ to: [bo, { email: 'cy@example.test' }] });
    await database.query(`update outbox_message set accepted = '{bo@example.test}' where id = $1`, [
      id,
    ]);
    await database.query(`update send_job set attempt = 1 where id = $1`, [id]);
    await change('patch', id).send({ subject: 'late' }).expect(409);
    const cancelled = await change('delete', id).expect(200);
    expect(cancelled.body).toMatchObject({
      status: 'cancelled',
      reason: 'cancelled by the user; already accepted for bo@example.test',
    });
    expect((await read(id)).body).toEqual(cancelled.body);
  });

  it('refuse a retry limit in the past for a late message', async () => {
    const id = await accept();
    await database.query(
      `with job as (update job_status set send_at = now() - interval '1 h' where id = $1)
       update send_job set due_at = now() - interval '1 h', run_at = now() - interval '1 h' where id = $1`,
      [id],
    );
    const refused = await change('patch', id).send({ retry_limit_datetime: inSeconds(-600) });
    expect(refused.status).toBe(400);
    expect(refused.body.message).toBe('retry_limit_datetime: must not be in the past');
    await change('patch', id)
      .send({ retry_limit_datetime: inSeconds(600) })
      .expect(200);
  });
});
