import { jest } from '@jest/globals';
import request from 'supertest';
import { Clock } from '../../src/platform/base/time/clock.ts';
import { Database } from '../../src/platform/database/sql.ts';
import {
  ProviderWriteDispatcher,
  type ProviderWriteRow,
  type WriteResult,
} from '../../src/accounts/provider-writes/provider-write-dispatcher.ts';
import { ProviderWrites } from '../../src/accounts/provider-writes/provider-writes.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { CalendarPort, WriteNotes } from '../../src/providers/port/connector.ts';
import { BudgetExhaustedError } from '../../src/platform/budgets/budget-exhausted-error.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { EngineSteps } from '../support/engine-steps.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const WHEN = { time: 1_900_000_000 };

/** A promise, and a function that resolves it. */
function barrier(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

describe('ProviderWriteDispatcher', () => {
  let server: TestApp;
  let dispatcher: ProviderWriteDispatcher;
  let queue: EngineSteps<ProviderWriteRow, WriteResult>;
  let port: CalendarPort;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    dispatcher = server.app.get(ProviderWriteDispatcher);
    queue = new EngineSteps(server.app.get(Database), () => dispatcher);
    port = server.app.get(ConnectorRegistry).requireCalendar('sandbox');
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    ada = await createAccount(server.app, await createApplication(server.app));
  });
  afterEach(() => jest.restoreAllMocks());

  const run = async (job: ProviderWriteRow) => outcomeOf(await queue.outcomeOf(job));
  /** Claims, runs and settles one row. @returns the kind of the result */
  const step = async (id: string) => outcomeOf(await queue.attempt(id)).result.kind;
  const query = <R extends object>(text: string, ...values: unknown[]) =>
    server.app.get(Database).query<R>(text, values);
  async function api(
    method: 'post' | 'put' | 'delete',
    path: string,
    body?: object,
  ): Promise<{ id: string; job: string }> {
    const response = await request(server.url)[method](path).set(ada.bearer).send(body);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return { id: response.body.id, job: response.body.job_status_id };
  }
  const createCalendar = (body: object = { name: 'Team' }) => api('post', '/calendars', body);
  async function calendarAtProvider(): Promise<string> {
    const calendar = await createCalendar();
    expect(await step(calendar.job)).toBe('written');
    return calendar.id;
  }
  const jobOf = async (id: string) => {
    const response = await request(server.url).get(`/job-statuses/${id}`).set(ada.bearer);
    return response.body as { status: string; reason?: string };
  };
  const row = async (id: string) => {
    const [job] = await query<{ attempt: number; runAt: Date; ambiguous: boolean; due: boolean }>(
      `select attempt, ambiguous, run_at as "runAt", run_at <= now() as due from provider_job where id = $1`,
      id,
    );
    return job;
  };
  /** Seconds until the next run of a row whose last run ended between `before` and `after`. */
  const waitOf = async (id: string, before: Date, after: Date) => {
    const runAt = (await row(id))?.runAt.getTime() ?? NaN;
    return { most: (runAt - before.getTime()) / 1000, least: (runAt - after.getTime()) / 1000 };
  };
  const now = () => server.app.get(Clock).now();
  const atProvider = async (kind: 'calendar' | 'event') =>
    (
      await query<{ data: Record<string, unknown> }>(
        `select data from sandbox_${kind} where address = $1 order by id`,
        ada.email,
      )
    ).map(({ data }) => data);
  /** The provider makes the change, but its response is lost. */
  const loseAnswer = (method: 'createCalendar' | 'createEvent') => {
    const original = port[method].bind(port) as (
      ...parameters: unknown[]
    ) => Promise<{ providerId: string; icalUid: string }>;
    jest.spyOn(port, method).mockImplementationOnce(async (...parameters: unknown[]) => {
      await original(...parameters);
      throw new ProviderError('outcome-unknown', 'the connection was lost');
    });
  };

  const logged = async (...ids: unknown[]) =>
    (
      await query<{ change: string }>(
        `select object || ' ' || event as change from change where object_id = any($1) order by seq`,
        ids,
      )
    ).map(({ change }) => change);

  it('creates an object with its current state, and lets later writes of the object wait', async () => {
    const calendar = await calendarAtProvider();
    const event = await api('post', '/events', { calendar_id: calendar, when: WHEN, title: 'one' });
    const second = await api('put', `/events/${event.id}`, { title: 'two' });
    const third = await api('put', `/events/${event.id}`, { title: 'three' });
    expect(await step(third.job)).toBe('waits');
    expect(await step(second.job)).toBe('waits');
    expect(await atProvider('event')).toEqual([]);
    expect(await step(event.job)).toBe('written');
    expect(await atProvider('event')).toMatchObject([
      { title: 'three', when: { object: 'time', time: 1_900_000_000 } },
    ]);
    expect(await step(third.job)).toBe('waits');
    expect(await step(second.job)).toBe('written');
    expect(await step(third.job)).toBe('written');
    expect(await atProvider('event')).toMatchObject([{ title: 'three' }]);
    for (const { job } of [event, second, third])
      expect(await jobOf(job)).toMatchObject({ status: 'successful' });
    const [stored] = await query('select provider_id, ical_uid from event where id = $1', event.id);
    expect(stored).toEqual({
      provider_id: expect.any(String),
      ical_uid: expect.stringContaining('@'),
    });
  });

  it('does not count waiting as an attempt, and wakes the next row at once', async () => {
    const calendar = await createCalendar();
    const update = await api('put', `/calendars/${calendar.id}`, { name: 'Crew' });
    for (let times = 0; times < 29; times += 1) expect(await step(update.job)).toBe('waits');
    const before = now();
    expect(await step(update.job)).toBe('waits');
    expect(await row(update.job)).toMatchObject({ attempt: 0 });
    expect((await waitOf(update.job, before, now())).most).toBeGreaterThan(0.4);
    // The row would wait very long, so that its wait cannot end by itself.
    await query(
      `update provider_job set run_at = now() + interval '1 h' where id = $1`,
      update.job,
    );
    await step(calendar.job);
    expect(await row(update.job)).toMatchObject({ due: true });
    expect(await jobOf(update.job)).toMatchObject({ status: 'pending' });
  });

  it('waits until the retry of the provider write before it', async () => {
    const calendar = await createCalendar({ name: '[sandbox:temporary+1]' });
    const update = await api('put', `/calendars/${calendar.id}`, { description: 'x' });
    expect(await step(calendar.job)).toBe('delayed');
    expect(await step(update.job)).toBe('waits');
    const [first, second] = [await row(calendar.job), await row(update.job)];
    expect(second?.runAt.getTime()).toBeGreaterThan(first?.runAt.getTime() ?? NaN);
  });

  it('writes a change that is made while the object is being created', async () => {
    const calendar = await calendarAtProvider();
    const event = await api('post', '/events', { calendar_id: calendar, when: WHEN, title: 'old' });
    const { opened, open } = barrier();
    const original = port.createEvent.bind(port);
    const begun = barrier();
    jest.spyOn(port, 'createEvent').mockImplementationOnce(async (...parameters) => {
      begun.open();
      await opened;
      return original(...parameters);
    });
    const job = await queue.claim(event.job);
    const running = run(job);
    await begun.opened;
    const update = await api('put', `/events/${event.id}`, { title: 'new' });
    expect(await step(update.job)).toBe('waits');
    open();
    await queue.settle(job, await running);
    expect(await atProvider('event')).toMatchObject([{ title: 'old' }]);
    expect(await step(update.job)).toBe('written');
    expect(await atProvider('event')).toMatchObject([{ title: 'new' }]);
  });

  it('never runs two writes of one object at once, whichever is older', async () => {
    const id = await calendarAtProvider();
    const older = await api('put', `/calendars/${id}`, { name: 'older' });
    const younger = await api('put', `/calendars/${id}`, { name: 'younger' });
    // The younger row started before the older one was visible, because several machines make ids.
    await query('update provider_job set state = 1, handoff_at = now() where id = $1', younger.job);
    expect(await step(older.job)).toBe('waits');
    await query('update provider_job set state = 0, handoff_at = null where id = $1', younger.job);
    expect(await step(older.job)).toBe('written');
  });

  describe.each(['calendar', 'event'] as const)('deletion of a %s', (kind) => {
    const create = async () =>
      kind === 'calendar'
        ? createCalendar()
        : api('post', '/events', { calendar_id: await calendarAtProvider(), when: WHEN });
    const method = kind === 'calendar' ? 'createCalendar' : 'createEvent';
    const deletion = kind === 'calendar' ? 'deleteCalendar' : 'deleteEvent';

    it('asks no provider to delete an object that was never created there', async () => {
      const object = await create();
      const update = await api('put', `/${kind}s/${object.id}`, { location: 'here' });
      const removal = await api('delete', `/${kind}s/${object.id}`);
      const calls = [jest.spyOn(port, method), jest.spyOn(port, deletion)];
      expect(await step(object.job)).toBe('superseded');
      expect(await step(update.job)).toBe('superseded');
      expect(await step(removal.job)).toBe('written');
      for (const call of calls) expect(call).not.toHaveBeenCalled();
      expect(await jobOf(object.job)).toMatchObject({
        status: 'cancelled',
        reason: `The ${kind} was deleted before this change had reached the provider`,
      });
      expect(await jobOf(removal.job)).toMatchObject({ status: 'successful' });
    });

    it('removes an object that is still being created', async () => {
      const object = await create();
      const job = await queue.claim(object.job);
      const outcome = await run(job);
      const removal = await api('delete', `/${kind}s/${object.id}`);
      expect(await step(removal.job)).toBe('waits');
      await queue.settle(job, outcome);
      expect(await atProvider(kind)).toHaveLength(1);
      expect(await step(removal.job)).toBe('written');
      expect(await atProvider(kind)).toEqual([]);
      expect(await jobOf(object.job)).toMatchObject({ status: 'successful' });
    });

    it('removes the object that a creation without a response may have left', async () => {
      const object = await create();
      loseAnswer(method);
      expect(await step(object.job)).toBe('delayed');
      expect(await row(object.job)).toMatchObject({ attempt: 1, ambiguous: true });
      const removal = await api('delete', `/${kind}s/${object.id}`);
      expect(await step(removal.job)).toBe('waits');
      expect(await step(object.job)).toBe('written');
      expect(await step(removal.job)).toBe('written');
      expect(await atProvider(kind)).toEqual([]);
    });

    it('can be repeated', async () => {
      const object = await create();
      await step(object.job);
      const removal = await api('delete', `/${kind}s/${object.id}`);
      const job = await queue.claim(removal.job);
      await run(job); // the worker dies, and the result is lost
      await queue.settle(job, await run(job));
      expect(await jobOf(removal.job)).toMatchObject({ status: 'successful' });
      expect(await atProvider(kind)).toEqual([]);
    });
  });

  it('creates no second calendar when the response to the creation was lost', async () => {
    const calendar = await createCalendar();
    loseAnswer('createCalendar');
    expect(await step(calendar.job)).toBe('delayed');
    expect(await jobOf(calendar.job)).toMatchObject({
      status: 'delayed',
      reason: 'the connection was lost',
    });
    expect(await step(calendar.job)).toBe('written');
    expect(await atProvider('calendar')).toHaveLength(1);
  });

  it('makes an event wait for its calendar', async () => {
    const calendar = await createCalendar();
    const event = await api('post', '/events', {
      calendar_id: calendar.id,
      when: WHEN,
      title: 'x',
    });
    expect(await step(event.job)).toBe('waits');
    expect(await row(event.job)).toMatchObject({ attempt: 0 });
    await step(calendar.job);
    expect(await step(event.job)).toBe('written');
    expect(await atProvider('event')).toMatchObject([{ title: 'x' }]);
  });

  it('supersedes the writes of events whose calendar was deleted', async () => {
    const calendar = await calendarAtProvider();
    const event = await api('post', '/events', { calendar_id: calendar, when: WHEN });
    const removal = await api('delete', `/calendars/${calendar}`);
    expect(await step(event.job)).toBe('superseded');
    expect(await step(removal.job)).toBe('written');
    expect(await atProvider('calendar')).toEqual([]);
  });

  it('retries after a temporary failure, and reports why the write is late', async () => {
    const calendar = await createCalendar({ name: '[sandbox:temporary+1]' });
    const before = now();
    expect(await step(calendar.job)).toBe('delayed');
    const wait = await waitOf(calendar.job, before, now());
    expect(await jobOf(calendar.job)).toMatchObject({
      status: 'delayed',
      reason: '503 Service temporarily unavailable',
    });
    expect(await row(calendar.job)).toMatchObject({ attempt: 1 });
    expect(wait.most).toBeGreaterThan(25);
    expect(wait.least).toBeLessThan(34);
    expect(await step(calendar.job)).toBe('written');
    const job = await jobOf(calendar.job);
    expect(job).toMatchObject({ status: 'successful' });
    expect(job.reason ?? null).toBeNull();
    const attempts = await query(
      'select attempt, outcome, code, rule from job_attempt where job_id = $1 order by id',
      calendar.job,
    );
    expect(attempts).toEqual([
      { attempt: 1, outcome: 'not-sent', code: 'temporary', rule: 'backoff' },
      { attempt: 2, outcome: 'sent', code: null, rule: null },
    ]);
  });

  it('waits for our own limit on requests without counting an attempt, and says so', async () => {
    const create = jest.spyOn(port, 'createCalendar');
    const calendar = await createCalendar();
    for (let times = 0; times < 25; times += 1) {
      create.mockRejectedValueOnce(new BudgetExhaustedError(9));
      const before = now();
      expect(await step(calendar.job)).toBe('delayed');
      const wait = await waitOf(calendar.job, before, now());
      expect(wait.most).toBeGreaterThanOrEqual(8.9);
      expect(wait.least).toBeLessThanOrEqual(9.1);
      // A write of several requests may have begun.
      expect(await row(calendar.job)).toMatchObject({ attempt: 0, ambiguous: true });
    }
    expect(await jobOf(calendar.job)).toMatchObject({
      status: 'delayed',
      reason:
        "Carillon waits for 9 s, so that the account stays below its provider's limit on requests",
    });
    expect(await step(calendar.job)).toBe('written');
    expect(await atProvider('calendar')).toHaveLength(1);
  });

  it('gives up after twenty attempts', async () => {
    const calendar = await createCalendar({ name: '[sandbox:temporary]' });
    for (let attempt = 1; attempt < 20; attempt += 1)
      expect(await step(calendar.job)).toBe('delayed');
    expect(await step(calendar.job)).toBe('failed');
    expect(await jobOf(calendar.job)).toMatchObject({
      status: 'failed',
      reason: 'Given up after 20 attempts: 503 Service temporarily unavailable',
    });
    expect(await row(calendar.job)).toBeUndefined();
  });

  it('gives up a write that never ends', async () => {
    const calendar = await createCalendar();
    const registered = server.app.get(ProviderWrites).require('create_calendar');
    jest
      .spyOn(server.app.get(ProviderWrites), 'require')
      .mockReturnValue({ ...registered, run: async () => ({ kind: 'continues' }) });
    expect(await step(calendar.job)).toBe('continues');
    expect(await row(calendar.job)).toMatchObject({ attempt: 0 });
    await query(
      `update provider_job set payload = payload || '{"steps": 100}' where id = $1`,
      calendar.job,
    );
    expect(await step(calendar.job)).toBe('failed');
    expect(await jobOf(calendar.job)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('100 steps'),
    });
  });

  it('makes the grant invalid when the provider refuses its credentials, and makes no further request', async () => {
    const calendar = await createCalendar({ name: '[sandbox:auth-invalid]' });
    const other = await createCalendar();
    expect(await step(calendar.job)).toBe('failed');
    const [grant] = await query(`select status, status_reason from "grant" where id = $1`, ada.id);
    expect(grant).toEqual({ status: 'invalid', status_reason: '401 Invalid credentials' });
    const calls = jest.spyOn(port, 'createCalendar');
    expect(await step(other.job)).toBe('failed');
    expect(calls).not.toHaveBeenCalled();
    const [job] = await query<{ reason: string }>(
      'select reason from job_status where id = $1',
      other.job,
    );
    expect(job?.reason).toMatch(/has to authenticate again/);
  });

  it('fails a change of an object that was deleted at the provider', async () => {
    const id = await calendarAtProvider();
    await query('delete from sandbox_calendar where address = $1', ada.email);
    const update = await api('put', `/calendars/${id}`, { name: 'x' });
    expect(await step(update.job)).toBe('failed');
    expect(await jobOf(update.job)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('404'),
    });
  });

  it('treats an unexpected error as temporary, and does not show its text', async () => {
    const calendar = await createCalendar();
    jest.spyOn(port, 'createCalendar').mockRejectedValueOnce(new TypeError('secret is undefined'));
    expect(await step(calendar.job)).toBe('delayed');
    expect(await jobOf(calendar.job)).toMatchObject({
      status: 'delayed',
      reason: 'An unexpected error on our side',
    });
    expect(await step(calendar.job)).toBe('written');
  });

  it('drops the writes of a deleted account', async () => {
    const calendar = await createCalendar();
    await query('delete from "grant" where id = $1', ada.id);
    const [left] = await query('select id from provider_job where id = $1', calendar.job);
    if (left) expect(await step(calendar.job)).toBe('gone');
    expect(await row(calendar.job)).toBeUndefined();
  });

  it('merges a created calendar with the row that the mirror has made of it meanwhile', async () => {
    const calendar = await createCalendar();
    const job = await queue.claim(calendar.job);
    const outcome = await run(job);
    const [seen] = await query<{ id: string }>(
      'select id from sandbox_calendar where address = $1',
      ada.email,
    );
    const [duplicate] = await query<{ id: string }>(
      `insert into calendar (id, account_id, provider_id, name, is_primary, read_only, metadata, created_at, updated_at)
       values (gen_random_uuid(), $1, $2, 'Team', false, false, '{}', now(), now()) returning id`,
      ada.id,
      seen?.id,
    );
    const event = await api('post', '/events', { calendar_id: duplicate?.id, when: WHEN });
    await queue.settle(job, outcome);
    const rows = await query('select id, provider_id from calendar where account_id = $1', ada.id);
    expect(rows).toEqual([{ id: calendar.id, provider_id: seen?.id }]);
    const [moved] = await query('select calendar_id from event where id = $1', event.id);
    expect(moved).toEqual({ calendar_id: calendar.id });
    expect(await logged(event.id, duplicate?.id)).toEqual([
      'event create',
      'event modify',
      'calendar delete',
    ]);
  });

  it('logs the deletion of events in a calendar that the mirror has copied and a client has deleted', async () => {
    const calendar = await createCalendar();
    const job = await queue.claim(calendar.job);
    const outcome = await run(job);
    const [duplicate] = await query<{ id: string }>(
      `insert into calendar (id, account_id, provider_id, name, is_primary, read_only, metadata, created_at, updated_at)
       select gen_random_uuid(), $1, id, 'Team', false, false, '{}', now(), now()
       from sandbox_calendar where address = $2 returning id`,
      ada.id,
      ada.email,
    );
    const event = await api('post', '/events', { calendar_id: duplicate?.id, when: WHEN });
    await api('delete', `/calendars/${calendar.id}`);
    await queue.settle(job, outcome);
    const shown = await request(server.url).get('/calendars').set(ada.bearer);
    expect(shown.body).toEqual([]);
    const rows = await query('select id, deleting from calendar where account_id = $1', ada.id);
    expect(rows).toEqual([{ id: calendar.id, deleting: true }]);
    expect(await logged(event.id, duplicate?.id)).toEqual([
      'event create',
      'event delete',
      'calendar delete',
    ]);
  });

  it('gives the notes of a connector to the next attempt, and takes none from a worker that lost the write', async () => {
    const calendar_id = await calendarAtProvider();
    const event = await api('post', '/events', { calendar_id, when: WHEN, title: 'one' });
    await step(event.job);
    const update = await api('put', `/events/${event.id}`, { title: 'two' });
    const seen: (string | null | undefined)[] = [];
    const given: WriteNotes[] = [];
    jest.spyOn(port, 'updateEvent').mockImplementation(async (...[, , , options]) => {
      const { notes } = options ?? {};
      seen.push(notes?.text);
      if (notes) given.push(notes);
      await notes?.store(`begun by attempt ${seen.length} \0`);
      throw new ProviderError('temporary', 'busy');
    });
    await run(await queue.claim(update.job)); // the worker dies
    await queue.sweep();
    expect(await step(update.job)).toBe('delayed');
    expect(await step(update.job)).toBe('delayed');
    expect(seen).toEqual([null, 'begun by attempt 1 \0', 'begun by attempt 2 \0']);
    await expect(given[0]?.store('late')).rejects.toMatchObject({ code: 'temporary' });
    await queue.claim(update.job); // another worker has it now
    await expect(given[0]?.store('late')).rejects.toMatchObject({ code: 'temporary' });
  });

  it('fails a row that keeps killing its worker', async () => {
    const calendar = await createCalendar();
    const job = await queue.claim(calendar.job);
    await queue.settle(job, dispatcher.onPoison(job));
    expect(await jobOf(calendar.job)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('crashed'),
    });
  });

  describe('notification mails about a change', () => {
    const people = [
      { email: 'bo@sandbox.test', name: 'Bo' },
      { email: 'cy@sandbox.test', name: 'Cy' },
    ];

    /** Ids of the jobs that create the mails of an event's changes, in order. */
    const releases = async (id: string) =>
      (
        await query<{ id: string }>('select id from invitation where event_id = $1 order by id', id)
      ).map((invitation) => invitation.id);
    const invite = async (fields: object = {}) => {
      const event = {
        calendar_id: await calendarAtProvider(),
        when: WHEN,
        title: 'x',
        participants: people,
        ...fields,
      };
      const { id, job } = await api('post', '/events?notify_participants=true', event);
      const [release = ''] = await releases(id);
      return { id, job, release };
    };
    const update = async (id: string, fields: object) => {
      const { job } = await api('put', `/events/${id}?notify_participants=true`, fields);
      return { job, release: (await releases(id)).at(-1) ?? '' };
    };
    /** Recipients of each mail of the account, and the event's SEQUENCE in it. */
    const mails = async () => {
      const sent = await query<{ recipients: string[]; mime: Buffer }>(
        `select envelope -> 'recipients' as recipients, mime from outbox_message where account_id = $1 order by id`,
        ada.id,
      );
      return sent.map(({ recipients, mime }) => {
        const encoded =
          /filename=invite\.ics[^]*?\r\n\r\n([A-Za-z0-9+/=\r\n]+)/.exec(String(mime))?.[1] ?? '';
        const sequence = /SEQUENCE:(\d+)/.exec(Buffer.from(encoded, 'base64').toString())?.[1];
        return `${recipients.join(' ')}: ${sequence}`;
      });
    };
    const ALL = 'bo@sandbox.test cy@sandbox.test';

    it('are created once even if the worker dies after the write and before its result is stored', async () => {
      const { job, release } = await invite();
      const write = await queue.claim(job);
      await run(write); // the worker dies
      expect(await step(release)).toBe('waits');
      expect(await mails()).toEqual([]);
      await queue.settle(write, await run(write));
      expect(await step(release)).toBe('written');
      expect(await mails()).toEqual([`${ALL}: 0`]);
      expect(await atProvider('event')).toHaveLength(1);
    });

    it('are created once even if the worker dies after creating them and before the result is stored', async () => {
      const { job, release } = await invite();
      await step(job);
      const making = await queue.claim(release);
      await run(making); // the worker dies
      expect(await mails()).toEqual([]);
      const outcome = await run(making);
      const died = new Error('the connection to the database was lost');
      const dispatcher = server.app.get(ProviderWriteDispatcher);
      const settling = server.app.get(Database).transaction(async (sql) => {
        await dispatcher.record(sql, [{ row: making, ...outcome }]);
        throw died;
      });
      await expect(settling).rejects.toBe(died);
      expect(await mails()).toEqual([]);
      await queue.settle(making, await run(making));
      expect(await mails()).toEqual([`${ALL}: 0`]);
      expect(await jobOf(release)).toMatchObject({ status: 'successful' });
    });

    it('are not created for an event whose creation failed permanently', async () => {
      const { job, release } = await invite({ title: '[sandbox:rejected]' });
      expect(await step(job)).toBe('failed');
      expect(await step(release)).toBe('failed');
      expect(await jobOf(release)).toMatchObject({
        status: 'failed',
        reason: expect.stringContaining(
          'No participant was notified, because the change of the event failed',
        ),
      });
      expect(await mails()).toEqual([]);
    });

    it('are not created for a change that failed permanently, but for the next one', async () => {
      const { id, job, release } = await invite();
      await step(job);
      await step(release);
      const failing = await update(id, { title: '[sandbox:rejected]' });
      expect(await step(failing.job)).toBe('failed');
      expect(await step(failing.release)).toBe('failed');
      expect(await mails()).toEqual([`${ALL}: 0`]);
      const good = await update(id, { title: 'y' });
      await step(good.job);
      expect(await step(good.release)).toBe('written');
      expect(await mails()).toEqual([`${ALL}: 0`, `${ALL}: 2`]);
    });

    it('wait for a delayed write, and carry the revision that the provider has assigned', async () => {
      const { id, job, release } = await invite();
      await step(job);
      await step(release);
      const moved = await update(id, { when: { time: WHEN.time + 60 } });
      const renamed = await update(id, { title: 'y' });
      jest.spyOn(port, 'updateEvent').mockRejectedValueOnce(new ProviderError('temporary', '503'));
      expect(await step(moved.job)).toBe('delayed');
      expect(await step(moved.release)).toBe('waits');
      // Meanwhile another program has written revision 4 of the event.
      const written = jest.spyOn(port, 'updateEvent').mockResolvedValueOnce({ sequence: 5 });
      expect(await step(moved.job)).toBe('written');
      expect(written).toHaveBeenLastCalledWith(
        expect.anything(),
        expect.any(String),
        expect.anything(),
        { base: expect.objectContaining({ title: 'x' }), sequence: 2, notes: expect.anything() },
      );
      await step(moved.release);
      await step(renamed.job);
      expect(written).toHaveBeenLastCalledWith(
        expect.anything(),
        expect.any(String),
        expect.anything(),
        { base: expect.objectContaining({ title: 'y' }), sequence: 5, notes: expect.anything() },
      );
      await step(renamed.release);
      expect(await mails()).toEqual([`${ALL}: 0`, `${ALL}: 4`, `${ALL}: 5`]);
    });
  });
});
