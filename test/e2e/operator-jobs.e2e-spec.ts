import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { failureOf } from '../../src/cli/carillon/exit-codes.ts';
import { run } from '../../src/cli/carillon/program.ts';
import { EXIT_CODES } from '../../src/cli/terminal/exit-codes.ts';
import { webhookStates } from '../../src/operator/overview/overview.repository.ts';
import type { OperatorWebhookDetailsView } from '../../src/operator/webhooks/admin-webhooks.schema.ts';
import type {
  BulkJobsView,
  OperatorJobDetailsView,
} from '../../src/operator/jobs/admin-jobs.schema.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { requeueEvent } from '../../src/platform/webhooks/events/requeue-events.ts';
import { registerSandbox, rowsOf } from '../support/connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { createOperator, type TestOperator } from '../support/operators.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { agreeable, eventIds, Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook, recordEvent } from '../support/webhook-fixture.ts';

const MINUTE_MS = 60_000;
const NEVER = newId();
const BUSY = '451 4.3.2 System not accepting messages, try again later';
const NOT_YET_DUE = 'its time has not come; nothing runs before the promised time';

interface List<T> {
  items: T[];
}

describe('what operators see of jobs and webhooks, and do with them', () => {
  const key = `test:${randomBytes(32).toString('base64')}`;
  let clock: PassingClock;
  let server: TestApp;
  let operator: TestOperator;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    clock = new PassingClock();
    server = await startTestApp({ ENCRYPTION_KEYS: key }, { clock });
    operator = await createOperator(server);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application);
  });

  const seconds = () => Math.floor(clock.now().getTime() / 1000);
  const get = async <T>(path: string, status = 200): Promise<T> =>
    (await request(server.url).get(`/admin/${path}`).set(operator.bearer).expect(status)).body as T;
  const post = async <T>(path: string, body: object = {}, status = 200): Promise<T> =>
    (
      await request(server.url)
        .post(`/admin/${path}`)
        .set(operator.bearer)
        .send(body)
        .expect(status)
    ).body as T;
  const accept = async (to: string, more: object = {}, account = ada): Promise<string> => {
    const { body } = await request(server.url)
      .post('/v2/outbox')
      .set(account.bearer)
      .send({ to: [{ email: to }], subject: 'Hello', body: 'Hello', ...more })
      .expect(202);
    return body.job_status_id as string;
  };
  const job = (id: string) => get<OperatorJobDetailsView>(`jobs/${id}`);
  const reaches = (id: string, state: string) =>
    until(`job ${id} to be ${state}`, async () => {
      const found = await job(id);
      return found.state === state && !found.running ? found : null;
    });
  const find = async (filter: object) => {
    const { items } = await get<List<{ id: string }>>(`jobs?${new URLSearchParams({ ...filter })}`);
    return items.map(({ id }) => id);
  };
  const audit = (target: string) =>
    rowsOf<{ action: string; name: string; details: object }>(
      server,
      'select action, actor_name as name, details from audit_entry where target_id = $1 order by id',
      [target],
    );

  const carillon = async (...args: string[]): Promise<string> => {
    let output = '';
    await run(args, {
      environment: {
        NODE_ENV: 'test',
        DATABASE_URL: server.database.url,
        ENCRYPTION_KEYS: key,
        EGRESS_ALLOW: '127.0.0.0/8',
      },
      print: (text) => (output += text),
      write: () => undefined,
    });
    return output;
  };
  const json = async <T>(...args: string[]): Promise<T> =>
    JSON.parse(await carillon('--json', ...args)) as T;
  const exitCode = (...args: string[]): Promise<number> =>
    carillon(...args).then(
      () => 0,
      (error: unknown) => EXIT_CODES[failureOf(error).kind],
    );

  describe('a job', () => {
    it('is found by recipient, Message-ID, words of the subject, account, id and state', async () => {
      const other = await createAccount(server.app, application);
      const subject = 'Invoice 4711 for the Müller company';
      const id = await accept('Grace@Example.test', { subject });
      await accept('bo@example.test', { subject: 'Invoice 4712' }, other);
      const { message_id_header: header, subject: shown } = await reaches(id, 'successful');
      expect(shown).toBe(subject);
      const mine = { application: application.clientId };
      const messageId = header ?? '';
      for (const filter of [
        { ...mine, recipient: 'gRACE@example.TEST' },
        { message_id: messageId },
        { message_id: messageId.slice(1, -1) },
        ...['müller INVOICE', 'MÜLLER 4711'].map((words) => ({ ...mine, subject: words })),
        { account: ada.id },
        { account: ada.email, state: 'successful' },
        { id },
      ])
        expect([filter, await find(filter)]).toEqual([filter, [id]]);
      expect(await find({ account: ada.id, state: 'failed' })).toEqual([]);
      await get(`jobs?account=${NEVER}`, 404);

      const flags = ['--application', application.clientId, '--recipient', 'grace@example.test'];
      expect(await json('jobs', 'list', ...flags)).toMatchObject({
        items: [{ id, subject, account_email: ada.email }],
        next_page_token: null,
      });
      expect(await carillon('jobs', 'list', '--message-id', messageId)).toContain(subject);
      const page = await carillon('jobs', 'list', '--application', application.id, '--limit', '1');
      const [, token = ''] = /More: --page-token (\S+)/.exec(page) ?? [];
      const rest = ['--application', application.id, '--page-token', token];
      expect(await json('jobs', 'list', ...rest)).toMatchObject({ items: [{ id }] });
    });

    it('that is a reminder is found by its Message-ID, too', async () => {
      const id = newId();
      const header = `<${id}@carillon.invalid>`;
      await rowsOf(
        server,
        `insert into reminder (id, account_id, event_id, notification_id, participant, type, recipient, name, due_at,
           expires_at, status, message_id_header, created_at, updated_at)
         values ($1, $2, $1, $1, 'p', 'email', 'a@b.example', 'n', now(), now(), 'sent', $3, now(), now())`,
        [id, ada.id, header],
      );
      expect(await find({ message_id: header })).toEqual([id]);
    });

    it('shows the words of the provider, and can be retried before its time', async () => {
      const id = await accept('temporary+1@sandbox.test');
      const waiting = await reaches(id, 'delayed');
      expect(waiting.allowed).toEqual(['retry', 'cancel']);
      const [attempt] = waiting.timeline.filter(({ kind }) => kind === 'attempt');
      expect(attempt?.said).toContain(BUSY);
      const shown = await carillon('jobs', 'show', id);
      expect(shown).toContain(`\n    could not be sent yet: ${BUSY}`);
      await post(`jobs/${id}/retry`, { reason: 'it is back' });
      const sent = await reaches(id, 'successful');
      expect(sent.timeline).toContainEqual(
        expect.objectContaining({
          text: `job.retry by operator ${operator.name}.`,
          said: 'it is back',
        }),
      );
      expect(await post(`jobs/${id}/retry`, {}, 409)).toMatchObject({
        message: 'The job was left alone: it has ended: successful',
      });
      await post(`jobs/${NEVER}/retry`, {}, 404);
      expect(await exitCode('jobs', 'retry', id)).toBe(4);
      expect(await exitCode('jobs', 'show', NEVER)).toBe(3);
      expect(await audit(id)).toEqual([
        {
          action: 'job.retry',
          name: operator.name,
          details: { kind: 'message', reason: 'it is back' },
        },
      ]);
    });

    it('never leaves once it is cancelled', async () => {
      const later = { send_at: seconds() + 3600 };
      const [one, two] = [await accept('a@b.test', later), await accept('a@b.test', later)];
      const done = await post<OperatorJobDetailsView>(`jobs/${one}/cancel`, { reason: 'oops' });
      expect(done).toMatchObject({ state: 'cancelled', reason: 'cancelled by an operator: oops' });
      expect(await json('jobs', 'cancel', two, '--reason', 'oops')).toMatchObject({
        id: two,
        state: 'cancelled',
        reason: done.reason,
      });
      const name = expect.stringContaining('@');
      expect(await audit(two)).toMatchObject([{ action: 'job.cancel', name }]);
      const queued = 'select from send_job where account_id = $1';
      expect(await rowsOf(server, queued, [ada.id])).toEqual([]);
    });

    it('that killed its workers is found in quarantine, and is looked up before it is sent again', async () => {
      const id = await accept('bo@example.test', { send_at: seconds() + 60 });
      await rowsOf(server, 'update send_job set crashes = 3 where id = $1', [id]);
      await clock.pass(61_000);
      expect(await reaches(id, 'failed')).toMatchObject({
        quarantined: true,
        allowed: ['release', 'settle'],
      });
      expect(await find({ state: 'quarantined' })).toEqual([id]);
      expect(await carillon('jobs', 'release', '--state', 'quarantined')).toMatch(
        /^1 matched, 1 would be released\n/,
      );
      expect(await audit(id)).toEqual([]);
      await post(`jobs/${id}/release`);
      const { timeline } = await reaches(id, 'successful');
      expect(timeline.map(({ kind }) => kind)).not.toContain('edited');
      const attempts = timeline.filter(({ kind }) => kind === 'attempt');
      expect(attempts).toMatchObject([
        { said: expect.stringContaining('workers crashed'), attempt: { outcome: 'unknown' } },
        { attempt: { outcome: 'sent' } },
      ]);
      expect(await exitCode('jobs', 'release', id)).toBe(4);
      expect(await audit(id)).toMatchObject([{ action: 'job.release' }]);
    });
  });

  describe('an action on all jobs that match', () => {
    it('changes nothing in a dry run, then only what matches, and says what it left alone', async () => {
      const bo = await createAccount(server.app, application);
      const busy = 'temporary@sandbox.test';
      const mine = [await accept(busy), await accept(busy)];
      const [later, theirs] = [
        await accept(busy, { send_at: seconds() + 3600 }),
        await accept(busy, {}, bo),
      ];
      for (const id of [...mine, theirs]) await reaches(id, 'delayed');
      const filter = { account: ada.email, state: 'open' };
      const plan = {
        matched: 3,
        changed: 2,
        skipped: [{ reason: NOT_YET_DUE, count: 1 }],
        dry_run: true,
      };
      expect(await post<BulkJobsView>('jobs/retry', { filter })).toMatchObject(plan);
      const states = () =>
        Promise.all([...mine, later, theirs].map(async (id) => (await job(id)).state));
      expect(await states()).toEqual(['delayed', 'delayed', 'pending', 'delayed']);
      expect(await audit(later)).toEqual([]);

      const cancel = { filter: { ...filter, state: 'delayed' }, dry_run: false, reason: 'a test' };
      const done = await post<BulkJobsView>('jobs/cancel', cancel);
      expect(done).toMatchObject({ matched: 2, changed: 2, skipped: [], dry_run: false });
      expect(done.sample.map(({ id }) => id).toSorted()).toEqual(mine.toSorted());
      expect(await states()).toEqual(['cancelled', 'cancelled', 'pending', 'delayed']);
      for (const id of mine)
        expect(await audit(id)).toEqual([
          {
            action: 'job.cancel',
            name: operator.name,
            details: { kind: 'message', reason: 'a test' },
          },
        ]);
      await post('jobs/cancel', { filter: {}, dry_run: false }, 400);
    });

    it('is shown first by the command, and done with --yes', async () => {
      const id = await accept('a@b.test', { send_at: seconds() + 3600 });
      await reaches(await accept('a@b.test'), 'successful');
      const args = ['jobs', 'cancel', '--account', ada.email];
      const plan = await carillon(...args);
      expect(plan).toMatch(
        /^2 matched, 1 would be cancelled\n1 left alone: it has ended: successful\n/,
      );
      expect(plan).toMatch(/\nNothing was changed\. Add --yes to do it\.$/);
      expect((await job(id)).state).toBe('pending');
      expect(await json(...args, '--yes')).toMatchObject({ changed: 1, dry_run: false });
      expect((await job(id)).state).toBe('cancelled');
      expect(await exitCode('jobs', 'cancel', '--yes')).toBe(2);
      await expect(carillon('jobs', 'cancel', id, '--account', ada.email)).rejects.toThrow(
        'give the id of one job, or conditions, not both',
      );
    });
  });

  it('an operator with the role read sees everything and changes nothing', async () => {
    const reader = await createOperator(server, 'read');
    const id = await accept('a@b.test', { send_at: seconds() + 3600 });
    const webhook = await createWebhook(server.app, application, 'http://127.0.0.1:9/hook');
    for (const path of [`jobs/${id}`, 'jobs?state=open', 'webhooks', `webhooks/${webhook}`])
      await request(server.url).get(`/admin/${path}`).set(reader.bearer).expect(200);
    await request(server.url).get(`/admin/jobs/${id}/preview`).set(reader.bearer).expect(403);
    for (const path of [
      ...['retry', 'cancel', 'release'].flatMap((what) => [`jobs/${what}`, `jobs/${id}/${what}`]),
      ...['replay', 'pause', 'activate'].map((what) => `webhooks/${webhook}/${what}`),
      `jobs/${id}/settle`,
    ])
      await request(server.url)
        .post(`/admin/${path}`)
        .set(reader.bearer)
        .send({ filter: { id }, dry_run: false, since: 0 })
        .expect(403);
    expect((await job(id)).state).toBe('pending');
    expect([...(await audit(id)), ...(await audit(webhook))]).toEqual([]);
  });

  describe('a webhook', () => {
    const ANSWER = `relation "orders" does not exist\n${'x'.repeat(2_000)}`;
    let receiver: Receiver;
    let id: string;

    beforeEach(async () => {
      receiver = await Receiver.start();
      id = await createWebhook(server.app, application, `${receiver.origin}/hook`);
    });
    afterEach(() => receiver.stop());

    const webhook = () => get<OperatorWebhookDetailsView>(`webhooks/${id}`);
    const delivered = () => eventIds(receiver.posted);
    const hasReceived = (count: number) =>
      until(`${count} deliveries`, async () => {
        const { backlog } = await webhook();
        return delivered().length >= count && backlog === 0 ? delivered() : null;
      });

    /** The id of an event that another application's webhook waits for. */
    const strangersEvent = async (): Promise<string> => {
      const stranger = await createApplication(server.app);
      const theirs = await createWebhook(server.app, stranger, receiver.origin, {
        state: 'failed',
      });
      await recordEvent(server.app, stranger);
      const [event] = await rowsOf<{ id: string }>(
        server,
        'select id from webhook_event where application_id = $1',
        [stranger.id],
      );
      await rowsOf(server, `update webhook set state = 'inactive' where id = $1`, [theirs]);
      return event?.id ?? '';
    };

    it('whose receiver fails comes first in the list, with the reason and the answer', async () => {
      const well = await createWebhook(server.app, application, 'http://127.0.0.1:9/well', {
        triggers: ['message.created'],
      });
      receiver.behave = (response) => response.writeHead(500).end(ANSWER);
      await recordEvent(server.app, application);
      await until('a first failure', async () => (await webhook()).failures === 1);
      await clock.pass(20 * MINUTE_MS);
      await until('the state failing', async () => (await webhook()).state === 'failing');
      const of = `application=${application.clientId}`;
      const { items } = await get<List<{ id: string }>>(`webhooks?${of}`);
      expect(items).toMatchObject([
        { id, state: 'failing', backlog: 1, last_failure: 'the receiver answered 500' },
        { id: well, state: 'active', backlog: 0, last_failure: null },
      ]);
      const shown = await get<{ webhooks: object }>(`applications/${application.clientId}`);
      expect(shown.webhooks).toEqual({ active: 1, failing: 1, failed: 0 });
      const path = `webhooks/${id}/attempts?outcome=retry`;
      const attempts = await get<List<{ http_status: number; response: string }>>(path);
      expect(attempts.items).toHaveLength(2);
      expect(attempts.items[0]).toMatchObject({ http_status: 500, event_id: delivered()[0] });
      const answer = attempts.items[0]?.response ?? '';
      expect([answer.slice(0, 32), answer.length]).toEqual([ANSWER.slice(0, 32), 1024]);

      const list = ['webhooks', 'list', '--state', 'unwell', '--url', receiver.origin];
      expect(await carillon(...list)).toContain('the receiver answered 500');
      expect(await json('webhooks', 'attempts', id, '--limit', '1')).toMatchObject({
        items: [{ http_status: 500, outcome: 'retry', response: answer }],
      });
      expect(await carillon('webhooks', 'show', id)).toMatch(/last_hour +│ 0 delivered, 2 failed/);
    });

    it('gets one event, or all since a time, again with the same ids', async () => {
      // Ids of events have the time of the machine, not of the clock that tests move.
      const before = Math.floor(Date.now() / 1000) - 60;
      for (let count = 0; count < 2; count += 1) await recordEvent(server.app, application);
      const [first = '', second = ''] = await hasReceived(2);
      const theirs = await strangersEvent();
      const path = `webhooks/${id}/replay`;
      expect(await post(path, { event_id: first })).toMatchObject({ queued: 1 });
      expect((await webhook()).backlog).toBe(0);
      await post(path, { event_id: first, dry_run: false });
      expect((await hasReceived(3)).slice(2)).toEqual([first]);
      const since = { since: before, dry_run: false };
      expect(await post(path, since)).toMatchObject({ matched: 2, queued: 2, dry_run: false });
      expect((await hasReceived(5)).slice(3).toSorted()).toEqual([first, second].toSorted());
      expect(await post(path, { ...since, undelivered_only: true })).toMatchObject({ matched: 0 });

      const command = ['webhooks', 'replay', id, '--event', second];
      expect(await carillon(...command)).toMatch(
        /^1 events matched, 1 would be queued, 0 [^]*Nothing was queued\. Add --yes to do it\.$/,
      );
      expect(await json(...command, '--yes')).toMatchObject({ queued: 1, dry_run: false });
      expect((await hasReceived(6)).slice(5)).toEqual([second]);
      expect(await json('webhooks', 'replay', id, '--since', '1h')).toMatchObject({ matched: 2 });
      await post(path, { event_id: NEVER }, 404);
      await post(path, { event_id: theirs, dry_run: false }, 404);
      const queued = server.app.get(Database).transaction((sql) => requeueEvent(sql, id, theirs));
      expect(await queued).toBe(false);
      expect(await exitCode('webhooks', 'replay', id, '--event', NEVER)).toBe(3);
      expect((await audit(id)).map(({ action }) => action)).toEqual(
        Array.from({ length: 3 }, () => 'webhook.replay'),
      );
    });

    it('gets nothing while it is paused, and what it missed once it is activated', async () => {
      const paused = await post(`webhooks/${id}/pause`, { reason: 'their wish' });
      expect(paused).toMatchObject({
        state: 'failed',
        paused: true,
        last_failure: `paused by ${operator.name}`,
      });
      // A pause is no failure that an operator has to look at.
      const unwell = await get<List<{ id: string }>>('webhooks?state=unwell');
      expect(unwell.items.map((one) => one.id)).not.toContain(id);
      expect(await webhookStates(server.app.get(Database))).toMatchObject({ failed: 0, paused: 1 });
      await recordEvent(server.app, application);
      await post(`webhooks/${id}/replay`, { since: 0, dry_run: false }, 409);
      expect(await exitCode('webhooks', 'pause', id)).toBe(4);
      receiver.behave = (response) => response.writeHead(200).end('no challenge');
      await post(`webhooks/${id}/activate`, {}, 400);
      expect(await exitCode('webhooks', 'show', NEVER)).toBe(3);
      expect([(await webhook()).state, receiver.posted]).toEqual(['failed', []]);
      receiver.behave = agreeable;
      expect(await post(`webhooks/${id}/activate`)).toMatchObject({ state: 'active' });
      await hasReceived(1);
      expect(await audit(id)).toMatchObject([
        { action: 'webhook.pause', name: operator.name, details: { reason: 'their wish' } },
        { action: 'webhook.activate', name: operator.name, details: { before: 'failed' } },
      ]);

      expect(await json('webhooks', 'pause', id, '--reason', 'x')).toMatchObject({
        state: 'failed',
      });
      expect(await json('webhooks', 'activate', id)).toMatchObject({ state: 'active' });
    });
  });

  // The last test: a command that loads the container ends the ORM of this process.
  it('a link to sign in again is made by the command', async () => {
    await registerSandbox(server, application);
    const redirect_uris = ['https://app.example.test/back'];
    const { secretBasic, clientId } = application;
    await request(server.url)
      .put(`/a/${clientId}`)
      .set(secretBasic)
      .send({ redirect_uris })
      .expect(200);
    expect(await carillon('account', 'sign-in-link', ada.id)).toContain(ada.email);
  });
});
