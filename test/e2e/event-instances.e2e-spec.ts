import { jest } from '@jest/globals';
import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const at = (text: string) => Date.parse(text) / 1000;
const HOUR = 3600;
/** Mondays at nine in Berlin, before and after the start of daylight saving time. */
const WEEKLY = {
  title: 'weekly',
  location: 'Room 1',
  participants: [{ email: 'bo@example.test', name: 'Bo', status: 'yes' }],
  when: { start_time: at('2030-03-18T08:00:00Z'), end_time: at('2030-03-18T09:00:00Z') },
  recurrence: { rrule: ['RRULE:FREQ=WEEKLY;COUNT=5'], timezone: 'Europe/Berlin' },
  metadata: { team: 'a' },
};
const WINDOW = `starts_after=${at('2030-03-01T00:00:00Z')}&starts_before=${at('2030-06-01T00:00:00Z')}`;

type Body = Record<string, unknown> & { id: string; job_status_id: string };

describe('single instances of recurring events', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let calendar: string;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    await createWebhook(server.app, application, 'http://127.0.0.1:1/', {
      triggers: ['event.created', 'event.updated', 'event.deleted'],
    });
  });
  afterAll(() => server.close());
  afterEach(() => jest.restoreAllMocks());
  beforeEach(async () => {
    ada = await createAccount(server.app, application);
    calendar = (await ok('post', '/calendars', { name: 'Team', timezone: 'Europe/Berlin' })).id;
  });

  type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
  const call = (method: Method, path: string, body?: object) =>
    request(server.url)[method](path).set(ada.bearer).send(body);
  async function ok(method: Method, path: string, body?: object): Promise<Body> {
    const answer = await call(method, path, body);
    expect([answer.status, answer.body.message]).toEqual([200, undefined]);
    return answer.body;
  }
  const list = async (filter: string) =>
    (await ok('get', `/events?${filter}`)) as unknown as Body[];
  const expanded = async (more = '') => {
    const events = await list(`expand_recurring=true&${WINDOW}${more}`);
    return events.map(
      ({ title, when }) =>
        `${String(title)} ${new Date((when as { start_time: number }).start_time * 1000).toISOString().slice(5, 16)}`,
    );
  };
  const create = (body: object) => ok('post', '/events', { calendar_id: calendar, ...body });
  const query = <R extends object>(text: string, ...values: unknown[]) =>
    server.app.get(Database).query<R>(text, values);
  const done = (id: string) =>
    until(`the end of job ${id}`, async () => {
      const job = await ok('get', `/job-statuses/${id}`);
      return ['pending', 'delayed'].includes(String(job['status'])) ? false : job;
    });
  const written = async <T extends { job_status_id: string }>(answer: T): Promise<T> => {
    expect(await done(answer.job_status_id)).toMatchObject({ status: 'successful' });
    return answer;
  };
  /** The changed instances of a series that the sandbox stores. */
  const atProvider = (id: string) =>
    query<{ start: string; title: string | null; status: string }>(
      `select data ->> 'start' as start, data ->> 'title' as title, data ->> 'status' as status from sandbox_event
       where data ->> 'series' = (select provider_id from event where id = $1) order by 1`,
      id,
    );
  const webhookTypes = async (id: string) => {
    const rows = await query<{ type: string }>(
      `select type from webhook_event where convert_from(body, 'utf8') like '%' || $1 || '%' order by id`,
      id,
    );
    return rows.map(({ type }) => type).filter((type) => type.startsWith('event.'));
  };

  it('changes one instance by its virtual id, keeps its position in the series and inherits the other fields', async () => {
    const weekly = await written(await create(WEEKLY));
    const id = `${weekly.id}_20300401T070000Z`;
    const start = at('2030-04-01T12:00:00Z');
    const changed = await ok('put', `/events/${id}`, {
      title: 'moved',
      when: { start_time: start, end_time: start + HOUR },
      recurrence: null,
      notifications: [],
    });
    expect(changed).toMatchObject({
      title: 'moved',
      location: 'Room 1',
      participants: [{ email: 'bo@example.test', status: 'yes' }],
      when: { object: 'timespan', start_time: start, start_timezone: 'Europe/Berlin' },
      master_event_id: weekly.id,
      original_start_time: at('2030-04-01T07:00:00Z'),
      metadata: { team: 'a' },
      status: 'confirmed',
    });
    await written(changed);
    expect(await atProvider(weekly.id)).toEqual([
      { start: '20300401T070000Z', title: 'moved', status: 'confirmed' },
    ]);
    expect(await expanded()).toEqual([
      'weekly 03-18T08:00',
      'weekly 03-25T08:00',
      'moved 04-01T12:00',
      'weekly 04-08T07:00',
      'weekly 04-15T07:00',
    ]);
    // The virtual id and the id of the stored event both name the instance.
    const again = await written(await ok('patch', `/events/${id}`, { title: 'again' }));
    expect(again.id).toBe(changed.id);
    await written(await ok('post', `/events/${changed.id}`, { location: 'Room 2' }));
    expect(await ok('get', `/events/${id}`)).toMatchObject({
      id: changed.id,
      title: 'again',
      location: 'Room 2',
      ical_uid: weekly['ical_uid'] ?? expect.any(String),
      original_start_time: at('2030-04-01T07:00:00Z'),
    });
    expect(await atProvider(weekly.id)).toHaveLength(1);
    expect(await webhookTypes(changed.id)).toEqual([
      'event.created',
      'event.updated',
      'event.updated',
    ]);
    // The other instances still follow the series.
    await written(await ok('put', `/events/${weekly.id}`, { title: 'renamed' }));
    expect(await expanded('&title=renamed')).toHaveLength(4);
  });

  it('deletes one instance, which disappears from the expanded list and is cancelled in the plain list', async () => {
    const weekly = await written(await create(WEEKLY));
    const id = `${weekly.id}_20300325T080000Z`;
    const { job_status_id } = await ok('delete', `/events/${id}`);
    await written({ job_status_id });
    expect(await atProvider(weekly.id)).toEqual([
      { start: '20300325T080000Z', title: null, status: 'cancelled' },
    ]);
    expect(await expanded()).toHaveLength(4);
    const gone = await ok('get', `/events/${id}`);
    expect(gone).toMatchObject({
      status: 'cancelled',
      title: 'weekly',
      master_event_id: weekly.id,
    });
    expect((await list(WINDOW)).map((event) => event.id)).toEqual([weekly.id, gone.id]);
    expect(await webhookTypes(gone.id)).toEqual(['event.deleted']);
    expect((await call('put', `/events/${id}`, { title: 'x' })).status).toBe(409);
    await written(await ok('delete', `/events/${id}`));
    // This instance was changed before it is deleted.
    const moved = await ok('put', `/events/${weekly.id}_20300408T070000Z`, { title: 'moved' });
    await written(await ok('delete', `/events/${moved.id}`));
    expect(await expanded()).toHaveLength(3);
    expect(await expanded('&show_cancelled=true')).toHaveLength(5);
    expect(await atProvider(weekly.id)).toEqual([
      { start: '20300325T080000Z', title: null, status: 'cancelled' },
      { start: '20300408T070000Z', title: null, status: 'cancelled' },
    ]);
  });

  it('writes the instances of a new series to the provider after the series itself', async () => {
    const weekly = await create(WEEKLY);
    const changed = await ok('put', `/events/${weekly.id}_20300318T080000Z`, { title: 'first' });
    const removed = await ok('delete', `/events/${weekly.id}_20300325T080000Z`);
    await written(changed);
    await written(removed);
    expect(await atProvider(weekly.id)).toEqual([
      { start: '20300318T080000Z', title: 'first', status: 'confirmed' },
      { start: '20300325T080000Z', title: null, status: 'cancelled' },
    ]);
  });

  it('stores simultaneous changes of one instance as one event', async () => {
    const weekly = await create(WEEKLY);
    const id = `${weekly.id}_20300401T070000Z`;
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd', 'e'].map((title) => ok('put', `/events/${id}`, { title })),
    );
    expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
    for (const answer of answers) await done(answer.job_status_id);
    expect(await expanded()).toHaveLength(5);
    const [there] = await atProvider(weekly.id);
    expect(there?.title).toBe((await ok('get', `/events/${id}`))['title']);
  });

  it('uses dates for instances of all-day series', async () => {
    const daily = await written(
      await create({
        title: 'daily',
        when: { date: '2030-03-29' },
        recurrence: { rrule: ['RRULE:FREQ=DAILY;COUNT=4'] },
      }),
    );
    const moved = await written(
      await ok('put', `/events/${daily.id}_20300331`, {
        when: { start_date: '2030-04-05', end_date: '2030-04-06' },
      }),
    );
    expect(moved).toMatchObject({
      original_start_time: at('2030-03-31T00:00:00Z'),
      when: { start_date: '2030-04-05' },
    });
    await written(await ok('delete', `/events/${daily.id}_20300330`));
    expect(await atProvider(daily.id)).toMatchObject([
      { start: '20300330', status: 'cancelled' },
      { start: '20300331' },
    ]);
    const events = await list(`expand_recurring=true&${WINDOW}`);
    expect(events.map(({ when }) => (when as { date?: string }).date ?? 'moved')).toEqual([
      '2030-03-29',
      '2030-04-01',
      'moved',
    ]);
    expect((await call('put', `/events/${daily.id}_20300331T000000Z`, { title: 'x' })).status).toBe(
      200,
    );
  });

  it('cancels changed instances that a shortened series no longer contains, sends webhooks, and keeps the others', async () => {
    const weekly = await written(await create(WEEKLY));
    const first = await written(
      await ok('put', `/events/${weekly.id}_20300325T080000Z`, { title: 'first' }),
    );
    const last = await written(
      await ok('put', `/events/${weekly.id}_20300415T070000Z`, { title: 'last' }),
    );
    await written(
      await ok('put', `/events/${weekly.id}`, {
        recurrence: { rrule: ['RRULE:FREQ=WEEKLY;COUNT=3'], timezone: 'Europe/Berlin' },
      }),
    );
    expect(await expanded()).toEqual([
      'weekly 03-18T08:00',
      'first 03-25T08:00',
      'weekly 04-01T07:00',
    ]);
    expect(await ok('get', `/events/${last.id}`)).toMatchObject({ status: 'cancelled' });
    expect([await webhookTypes(last.id), await webhookTypes(first.id)]).toEqual([
      ['event.created', 'event.deleted'],
      ['event.created'],
    ]);
    expect((await atProvider(weekly.id)).map(({ title }) => title)).toEqual(['first']);
    // When the series contains the instance again, it has the fields of the series.
    await written(await ok('put', `/events/${weekly.id}`, { recurrence: WEEKLY.recurrence }));
    expect(await expanded()).toHaveLength(5);
    expect(await ok('get', `/events/${weekly.id}_20300415T070000Z`)).toMatchObject({
      id: `${weekly.id}_20300415T070000Z`,
      title: 'weekly',
    });
  });

  it('keeps an instance deleted when its series moves to another time', async () => {
    const weekly = await written(await create(WEEKLY));
    const deleted = await ok('delete', `/events/${weekly.id}_20300325T080000Z`);
    await written(deleted);
    const start = at('2030-03-18T10:00:00Z');
    const when = { start_time: start, end_time: start + HOUR };
    await written(await ok('put', `/events/${weekly.id}`, { when }));
    const left = [
      'weekly 03-18T10:00',
      'weekly 04-01T09:00',
      'weekly 04-08T09:00',
      'weekly 04-15T09:00',
    ];
    expect(await expanded()).toEqual(left);
    // A client that sends back what it has read, with yet another time.
    const { recurrence } = await ok('get', `/events/${weekly.id}`);
    const later = { start_time: start + HOUR, end_time: start + 2 * HOUR };
    await written(await ok('put', `/events/${weekly.id}`, { when: later, recurrence }));
    expect(await expanded()).toEqual(
      left.map((one) => one.replace('T09', 'T10').replace('03-18T10', '03-18T11')),
    );
  });

  it('restores a deleted instance when its EXDATE is removed', async () => {
    const rrule = ['RRULE:FREQ=WEEKLY;COUNT=5', 'EXDATE:20300325T080000Z'];
    const weekly = await create(WEEKLY);
    await ok('delete', `/events/${weekly.id}_20300325T080000Z`);
    await ok('put', `/events/${weekly.id}`, { recurrence: { ...WEEKLY.recurrence, rrule } });
    expect(await expanded()).toHaveLength(4);
    await ok('put', `/events/${weekly.id}`, { recurrence: WEEKLY.recurrence });
    expect(await expanded()).toHaveLength(5);
  });

  it('deletes the changed instances together with their series', async () => {
    const weekly = await written(await create(WEEKLY));
    const changed = await written(
      await ok('put', `/events/${weekly.id}_20300325T080000Z`, { title: 'x' }),
    );
    await written(await ok('delete', `/events/${weekly.id}`));
    expect([await expanded(), await list(WINDOW), await atProvider(weekly.id)]).toEqual([
      [],
      [],
      [],
    ]);
    expect(await webhookTypes(changed.id)).toEqual(['event.created', 'event.deleted']);
    expect((await call('put', `/events/${changed.id}`, { title: 'y' })).status).toBe(409);
    expect(
      (await call('put', `/events/${weekly.id}_20300401T070000Z`, { title: 'y' })).status,
    ).toBe(404);
  });

  it('stores nothing when an update leaves an instance the same as in its series', async () => {
    const weekly = await create(WEEKLY);
    const id = `${weekly.id}_20300325T080000Z`;
    const { participants, ...rest } = await ok('get', `/events/${id}`);
    expect(participants).toHaveLength(1);
    const same = await ok('put', `/events/${id}`, { ...rest, notifications: [] });
    expect(same.id).toBe(id);
    const job = await ok('get', `/job-statuses/${same.job_status_id}`);
    expect(job.status).toBe('successful');
    expect(await query('select 1 from event where master_event_id = $1', weekly.id)).toEqual([]);
  });

  it('refuses fields that an instance cannot have, and invalid ids', async () => {
    const weekly = await create(WEEKLY);
    const id = `${weekly.id}_20300325T080000Z`;
    const email = { type: 'email', minutes_before_event: 60, subject: 's', body: 'b' };
    for (const [body, status, words] of [
      [
        { notifications: [email] },
        400,
        'notifications: an instance of a recurring event cannot have notifications of its own',
      ],
      [
        { recurrence: WEEKLY.recurrence },
        400,
        'recurrence: an instance of a recurring event has no rules',
      ],
      [{ calendar_id: weekly.id }, 400, 'calendar_id: '],
      [{ when: { start_time: 2, end_time: 1 } }, 400, "when: 'start_time' must be < 'end_time'."],
    ] as const) {
      const answer = await call('put', `/events/${id}`, body);
      expect([answer.status, answer.body.message]).toEqual([
        status,
        expect.stringContaining(words),
      ]);
    }
    for (const stamp of [
      '20300326T080000Z',
      '20300325',
      '20300325T080001Z',
      '99999999T999999Z',
      'x',
    ])
      for (const method of ['put', 'delete'] as const)
        expect((await call(method, `/events/${weekly.id}_${stamp}`, { title: 'x' })).status).toBe(
          404,
        );
    ada = await createAccount(server.app, application);
    expect((await call('put', `/events/${id}`, { title: 'x' })).status).toBe(404);
  });

  it('finds an instance, changed or not, by the filter event_id combined with other filters', async () => {
    const weekly = await create(WEEKLY);
    const ids = [`${weekly.id}_20300401T070000Z`, `${weekly.id}_20300408T070000Z`];
    const changed = await ok('put', `/events/${ids[0]}`, { title: 'changed' });
    const found = async (filter: string) => (await list(filter)).map(({ id }) => id);
    for (const more of ['', '&expand_recurring=true', `&${WINDOW}`]) {
      expect(await found(`event_id=${ids[0]}${more}`)).toEqual([changed.id]);
      expect(await found(`event_id=${ids[1]}${more}`)).toEqual([ids[1]]);
    }
    for (const filter of ['&title=other', '&starts_before=1900000000', `&calendar_id=${weekly.id}`])
      for (const id of ids) expect(await found(`event_id=${id}${filter}`)).toEqual([]);
    for (const stamp of ['20300402T070000Z', '20300401', 'x'])
      expect(await found(`event_id=${weekly.id}_${stamp}`)).toEqual([]);
  });

  it('still lists other series when a series from another calendar program has too many instances', async () => {
    const wild = await create({ ...WEEKLY, title: 'wild' });
    await query(
      `update event set recurrence = '{"rrule":["RRULE:FREQ=SECONDLY"],"timezone":"UTC"}' where id = $1`,
      wild.id,
    );
    const hourly = { rrule: ['RRULE:FREQ=HOURLY'], timezone: 'UTC' };
    await create({ title: 'hourly', when: WEEKLY.when, recurrence: hourly });
    const bounds = `starts_after=${WEEKLY.when.start_time - 1}&starts_before=${WEEKLY.when.start_time + 300 * 86_400}`;
    const { count } = await ok('get', `/events?expand_recurring=true&view=count&${bounds}`);
    expect(count).toBe(300 * 24);
    for (const method of ['get', 'put', 'delete'] as const)
      expect(
        (await call(method, `/events/${wild.id}_20300401T070000Z`, { title: 'x' })).status,
      ).toBe(404);
  });

  it('shows an instance again if the provider refuses to delete it', async () => {
    const title = '[sandbox:delete-rejected]';
    const weekly = await written(await create({ ...WEEKLY, title }));
    const port = server.app.get(ConnectorRegistry).requireCalendar('sandbox');
    const deleteInstance = port.deleteInstance.bind(port);
    let answer = (): void => undefined;
    const asked = new Promise<void>((resolve) => (answer = resolve));
    jest
      .spyOn(port, 'deleteInstance')
      .mockImplementationOnce((...parameters) => asked.then(() => deleteInstance(...parameters)));
    const { job_status_id } = await ok('delete', `/events/${weekly.id}_20300325T080000Z`);
    expect(await expanded()).toHaveLength(4);
    answer();
    expect(await done(job_status_id)).toMatchObject({ status: 'failed' });
    expect(await expanded()).toHaveLength(5);
    expect((await ok('get', `/events/${weekly.id}_20300325T080000Z`))['status']).toBe('confirmed');
  });
});
