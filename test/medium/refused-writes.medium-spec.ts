import { jest } from '@jest/globals';
import request from 'supertest';
import {
  ProviderWriteDispatcher,
  type ProviderWriteRow,
  type WriteResult,
} from '../../src/accounts/provider-writes/provider-write-dispatcher.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { CalendarPort } from '../../src/providers/port/connector.ts';
import { EngineSteps } from '../support/engine-steps.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const REFUSED = '[sandbox:rejected]';
const KEPT = '[sandbox:delete-rejected]';
const NEW_YEAR = 1_893_456_000;
const WEEKLY = {
  when: { start_time: NEW_YEAR, end_time: NEW_YEAR + 3600, start_timezone: 'UTC' },
  recurrence: { rrule: ['RRULE:FREQ=WEEKLY;COUNT=4'], timezone: 'UTC' },
};
const BO = { email: 'bo@example.test', name: 'Bo', phone_number: '+15550100', comment: 'gladly' };
const HOOK = {
  type: 'webhook',
  minutes_before_event: 10,
  url: 'http://127.0.0.1:1/hook',
  payload: 'soon',
};

interface Written {
  id: string;
  job_status_id: string;
}

describe('a change that the provider refuses', () => {
  let server: TestApp;
  let port: CalendarPort;
  let queue: EngineSteps<ProviderWriteRow, WriteResult>;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    const dispatcher = server.app.get(ProviderWriteDispatcher);
    queue = new EngineSteps(server.app.get(Database), () => dispatcher);
    port = server.app.get(ConnectorRegistry).requireCalendar('sandbox');
    application = await createApplication(server.app);
    await createWebhook(server.app, application, 'http://127.0.0.1:1/', {
      triggers: [
        'event.created',
        'event.updated',
        'event.deleted',
        'calendar.created',
        'calendar.updated',
        'calendar.deleted',
      ],
    });
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    ada = await createAccount(server.app, application);
  });
  afterEach(() => jest.restoreAllMocks());

  const query = <R extends object>(text: string, ...values: unknown[]) =>
    server.app.get(Database).query<R>(text, values);
  const call = (method: 'get' | 'post' | 'put' | 'delete', path: string, body?: object) =>
    request(server.url)[method](path).set(ada.bearer).send(body);
  const api = async <R = Written>(
    method: 'get' | 'post' | 'put' | 'delete',
    path: string,
    body?: object,
  ): Promise<R> => {
    const response = await call(method, path, body);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body as R;
  };
  const show = (path: string) => api<Record<string, unknown>>('get', path);
  const step = async (job: Written | string) =>
    outcomeOf(await queue.attempt(typeof job === 'string' ? job : job.job_status_id)).result.kind;
  const done = async <W extends Written>(written: W): Promise<W> => {
    expect(await step(written)).toBe('written');
    return written;
  };
  const createCalendar = (fields: object = {}) =>
    api('post', '/calendars', { name: 'Team', ...fields });
  const createEvent = async (fields: object = {}, calendar?: Written) => {
    const { id: calendar_id } = calendar ?? (await done(await createCalendar()));
    return api('post', '/events', {
      calendar_id,
      title: 'Review',
      when: { time: NEW_YEAR },
      ...fields,
    });
  };
  const logged = async (...ids: string[]) =>
    (
      await query<{ change: string }>(
        `select object || ' ' || event as change from change where object_id = any($1) order by seq`,
        ids,
      )
    ).map(({ change }) => change);
  /** Types of the webhooks about an object, in order. */
  const notified = async (id: string) =>
    (
      await query<{ type: string }>(
        `select type from webhook_event where convert_from(body, 'utf8') like '%' || $1 || '%' order by id`,
        id,
      )
    ).map(({ type }) => type);
  /** Status and due time of each reminder of an event. */
  const reminders = (id: string) =>
    query<{ status: string; due: number }>(
      `select status, extract(epoch from due_at)::int as due from reminder where event_id = $1 order by due_at, status`,
      id,
    );
  const atProvider = async () =>
    (
      await query<{ title: string }>(
        `select data ->> 'title' as title from sandbox_event where address = $1 order by id`,
        ada.email,
      )
    ).map(({ title }) => title);
  const listed = async (path: string) =>
    (await api<{ id: string }[]>('get', path)).map(({ id }) => id);

  describe('of an event', () => {
    it('cancels an event that could not be created, with its reminders, and says so', async () => {
      const event = await createEvent({ title: REFUSED, notifications: [HOOK] });
      expect(await reminders(event.id)).toEqual([{ status: 'scheduled', due: NEW_YEAR - 600 }]);
      expect(await step(event)).toBe('failed');
      expect(await show(`/job-statuses/${event.job_status_id}`)).toMatchObject({
        status: 'failed',
        reason: '400 The calendar server rejects this content',
      });
      expect(await show(`/events/${event.id}`)).toMatchObject({ status: 'cancelled' });
      expect(await listed('/events')).toEqual([]);
      expect(await api('get', `/events/${event.id}/notifications`)).toMatchObject([
        {
          status: 'cancelled',
          reason: 'the provider refused the event: 400 The calendar server rejects this content',
        },
      ]);
      expect(await logged(event.id)).toEqual(['event create', 'event delete']);
      expect(await notified(event.id)).toEqual(['event.created', 'event.deleted']);
      expect((await call('put', `/events/${event.id}`, { title: 'x' })).status).toBe(409);
    });

    it('leaves an event to a later change that is open, which creates it', async () => {
      const event = await createEvent({ title: REFUSED, notifications: [HOOK] });
      const claimed = await queue.claim(event.job_status_id);
      const refusal = outcomeOf(await queue.outcomeOf(claimed));
      const repaired = await api('put', `/events/${event.id}`, { title: 'Review' });
      await queue.settle(claimed, refusal);
      expect(await show(`/events/${event.id}`)).toMatchObject({ status: 'confirmed' });
      await done(repaired);
      expect(await atProvider()).toEqual(['Review']);
      expect(await reminders(event.id)).toMatchObject([{ status: 'scheduled' }]);
      expect(await logged(event.id)).toEqual(['event create', 'event modify', 'event modify']);
    });

    it('gives a changed event back all that the change replaced, except metadata', async () => {
      const before = {
        title: 'Review',
        location: 'Room 1',
        participants: [BO],
        notifications: [HOOK],
        capacity: 5,
      };
      const event = await done(await createEvent(before));
      const original = await show(`/events/${event.id}`);
      const change = await api('put', `/events/${event.id}`, {
        title: REFUSED,
        location: '',
        when: { time: NEW_YEAR + 3600 },
        participants: [],
        capacity: 9,
        notifications: [{ ...HOOK, minutes_before_event: 30 }],
        metadata: { seen: 'yes' },
      });
      expect(await step(change)).toBe('failed');
      const after = await show(`/events/${event.id}`);
      expect(after).toEqual({
        ...original,
        metadata: { seen: 'yes' },
        updated_at: expect.any(Number),
      });
      expect(await reminders(event.id)).toEqual([{ status: 'scheduled', due: NEW_YEAR - 600 }]);
      expect(await notified(event.id)).toEqual(['event.created', 'event.updated', 'event.updated']);
      expect(await atProvider()).toEqual(['Review']);
    });

    it('takes back two changes if the provider refuses both', async () => {
      const event = await done(await createEvent({ notifications: [HOOK] }));
      const first = await api('put', `/events/${event.id}`, { title: REFUSED, notifications: [] });
      const second = await api('put', `/events/${event.id}`, { location: 'Room 2' });
      expect(await step(first)).toBe('failed');
      expect(await show(`/events/${event.id}`)).toMatchObject({ title: REFUSED });
      expect(await step(second)).toBe('failed');
      expect(await show(`/events/${event.id}`)).toMatchObject({
        title: 'Review',
        location: '',
        notifications: [HOOK],
      });
      expect(await reminders(event.id)).toMatchObject([{ status: 'scheduled' }]);
    });

    it('keeps a change that follows the refusal', async () => {
      const event = await done(await createEvent());
      const refused = await api('put', `/events/${event.id}`, { title: REFUSED, capacity: 9 });
      const claimed = await queue.claim(refused.job_status_id);
      const refusal = outcomeOf(await queue.outcomeOf(claimed));
      const good = await api('put', `/events/${event.id}`, { title: 'Retro' });
      await queue.settle(claimed, refusal);
      await done(good);
      expect(await show(`/events/${event.id}`)).toMatchObject({ title: 'Retro', capacity: 9 });
      expect(await atProvider()).toEqual(['Retro']);
    });

    it('keeps a change that no provider stores, even if the credentials are refused', async () => {
      const event = await done(await createEvent());
      const change = await api('put', `/events/${event.id}`, {
        metadata: { a: 'b' },
        notifications: [HOOK],
      });
      await query(`update "grant" set status = 'invalid' where id = $1`, ada.id);
      expect(await step(change)).toBe('failed');
      const [row] = await query<{ metadata: object; notifications: object[] }>(
        'select metadata, notifications from event where id = $1',
        event.id,
      );
      expect(row).toMatchObject({ metadata: { a: 'b' }, notifications: [HOOK] });
    });

    it('takes back chained changes in order if the credentials are refused', async () => {
      const event = await done(await createEvent({ capacity: 5 }));
      const first = await api('put', `/events/${event.id}`, { title: 'one', capacity: 6 });
      const second = await api('put', `/events/${event.id}`, { title: 'two', capacity: 7 });
      await query(`update "grant" set status = 'invalid' where id = $1`, ada.id);
      expect(await step(second)).toBe('waits');
      expect(await step(first)).toBe('failed');
      expect(await step(second)).toBe('failed');
      expect(await query('select title, capacity from event where id = $1', event.id)).toEqual([
        { title: 'Review', capacity: 5 },
      ]);
    });

    it('brings back a deleted event with its reminders', async () => {
      const event = await done(await createEvent({ title: KEPT, notifications: [HOOK] }));
      const removal = await api('delete', `/events/${event.id}`);
      expect(await reminders(event.id)).toMatchObject([{ status: 'cancelled' }]);
      expect(await step(removal)).toBe('failed');
      expect(await show(`/events/${event.id}`)).toMatchObject({ status: 'confirmed', title: KEPT });
      expect(await reminders(event.id)).toEqual([{ status: 'scheduled', due: NEW_YEAR - 600 }]);
      expect(await notified(event.id)).toEqual(['event.created', 'event.deleted', 'event.created']);
    });

    it('is taken back once if the worker dies before the result is stored', async () => {
      const event = await done(await createEvent());
      const change = await api('put', `/events/${event.id}`, { title: REFUSED });
      const claimed = await queue.claim(change.job_status_id);
      await queue.outcomeOf(claimed); // the worker dies
      expect(await show(`/events/${event.id}`)).toMatchObject({ title: REFUSED });
      await queue.settle(claimed, outcomeOf(await queue.outcomeOf(claimed)));
      expect(await show(`/events/${event.id}`)).toMatchObject({ title: 'Review' });
      expect(await logged(event.id)).toEqual([
        'event create',
        'event modify',
        'event modify',
        'event modify',
      ]);
    });

    it('is not overwritten by the result of a worker that lost its claim', async () => {
      const event = await done(await createEvent());
      const change = await api('put', `/events/${event.id}`, { title: 'Retro' });
      const claimed = await queue.claim(change.job_status_id);
      jest.spyOn(port, 'updateEvent').mockRejectedValueOnce(new ProviderError('rejected', '400'));
      const refusal = outcomeOf(await queue.outcomeOf(claimed));
      const other = { ...claimed, fence: claimed.fence + 1 };
      await query('update provider_job set fence = fence + 1 where id = $1', claimed.id);
      await queue.settle(other, outcomeOf(await queue.outcomeOf(other)));
      await queue.settle(claimed, refusal);
      expect(await show(`/events/${event.id}`)).toMatchObject({ title: 'Retro' });
      expect(await atProvider()).toEqual(['Retro']);
    });
  });

  describe('of a recurring event', () => {
    const instances = async (calendar: string) =>
      (
        await api<{ title: string; when: { start_time: number } }[]>(
          'get',
          `/events?calendar_id=${calendar}&expand_recurring=true&starts_after=${NEW_YEAR - 1}`,
        )
      ).map(({ title }) => title);
    const idAt = (series: string, week: number) =>
      `${series}_${new Date((NEW_YEAR + week * 604_800) * 1000).toISOString().replaceAll(/[-:]|\.000/g, '')}`;

    it('leaves a changed instance to the rules of its series', async () => {
      const calendar = await done(await createCalendar());
      const series = await done(await createEvent(WEEKLY, calendar));
      const change = await api('put', `/events/${idAt(series.id, 1)}`, { title: REFUSED });
      expect(await instances(calendar.id)).toContain(REFUSED);
      expect(await step(change)).toBe('failed');
      expect(await instances(calendar.id)).toEqual(['Review', 'Review', 'Review', 'Review']);
      expect(await show(`/events/${change.id}`)).toMatchObject({ status: 'cancelled' });
      expect(await logged(change.id)).toEqual(['event create', 'event delete']);
      const again = await done(
        await api('put', `/events/${idAt(series.id, 1)}`, { title: 'Retro' }),
      );
      expect(again.id).not.toBe(change.id);
      expect(await instances(calendar.id)).toEqual(['Review', 'Retro', 'Review', 'Review']);
    });

    it('gives an instance its earlier change back', async () => {
      const calendar = await done(await createCalendar());
      const series = await done(await createEvent(WEEKLY, calendar));
      const retro = await done(
        await api('put', `/events/${idAt(series.id, 1)}`, { title: 'Retro' }),
      );
      expect(await step(await api('put', `/events/${retro.id}`, { title: REFUSED }))).toBe(
        'failed',
      );
      expect(await instances(calendar.id)).toEqual(['Review', 'Retro', 'Review', 'Review']);
    });

    it('restores the instances that the change of the series had cancelled', async () => {
      const calendar = await done(await createCalendar());
      const series = await done(await createEvent(WEEKLY, calendar));
      const retro = await done(
        await api('put', `/events/${idAt(series.id, 3)}`, { title: 'Retro' }),
      );
      const shorter = { rrule: ['RRULE:FREQ=WEEKLY;COUNT=2'], timezone: 'UTC' };
      const change = await api('put', `/events/${series.id}`, {
        title: REFUSED,
        recurrence: shorter,
      });
      expect(await instances(calendar.id)).toEqual([REFUSED, REFUSED]);
      expect(await step(change)).toBe('failed');
      expect(await instances(calendar.id)).toEqual(['Review', 'Review', 'Review', 'Retro']);
      expect(await logged(retro.id)).toEqual([
        'event create',
        'event modify',
        'event delete',
        'event create',
      ]);
    });

    it('brings back a deleted series with its changed and without its deleted instances', async () => {
      const calendar = await done(await createCalendar());
      const series = await done(await createEvent({ ...WEEKLY, title: KEPT }, calendar));
      await done(await api('put', `/events/${idAt(series.id, 1)}`, { title: 'Retro' }));
      const deleted = await api('delete', `/events/${idAt(series.id, 2)}`);
      jest.spyOn(port, 'deleteInstance').mockResolvedValueOnce();
      expect(await step(deleted)).toBe('written');
      const removal = await api('delete', `/events/${series.id}`);
      expect(await instances(calendar.id)).toEqual([]);
      expect(await step(removal)).toBe('failed');
      expect(await instances(calendar.id)).toEqual([KEPT, 'Retro', KEPT]);
    });

    it('cancels the changed instances of a series that could not be created', async () => {
      const calendar = await done(await createCalendar());
      const series = await createEvent({ ...WEEKLY, title: REFUSED }, calendar);
      const retro = await api('put', `/events/${idAt(series.id, 1)}`, { title: 'Retro' });
      expect(await step(series)).toBe('failed');
      expect(await instances(calendar.id)).toEqual([]);
      expect(await step(retro)).toBe('superseded');
      expect(await logged(retro.id)).toEqual(['event create', 'event delete']);
      expect(await atProvider()).toEqual([]);
    });
  });

  describe('of a calendar', () => {
    it('removes a calendar that could not be created, with the events in it', async () => {
      const calendar = await createCalendar({ name: REFUSED });
      const event = await createEvent({ notifications: [HOOK] }, calendar);
      expect(await step(calendar)).toBe('failed');
      expect(await listed('/calendars')).toEqual([]);
      expect(await listed('/events?show_cancelled=true')).toEqual([]);
      for (const path of [`/calendars/${calendar.id}`, `/events/${event.id}`])
        expect((await call('get', path)).status).toBe(404);
      expect(await step(event)).toBe('superseded');
      expect(await reminders(event.id)).toMatchObject([{ status: 'cancelled' }]);
      expect(await logged(calendar.id, event.id)).toEqual([
        'calendar create',
        'event create',
        'event delete',
        'calendar delete',
      ]);
      expect(await notified(calendar.id)).toEqual(
        expect.arrayContaining(['calendar.created', 'calendar.deleted']),
      );
    });

    it('leaves a calendar to a later change that is open, which creates it', async () => {
      const calendar = await createCalendar({ name: REFUSED });
      const claimed = await queue.claim(calendar.job_status_id);
      const refusal = outcomeOf(await queue.outcomeOf(claimed));
      const repaired = await api('put', `/calendars/${calendar.id}`, { name: 'Crew' });
      await queue.settle(claimed, refusal);
      await done(repaired);
      expect(await show(`/calendars/${calendar.id}`)).toMatchObject({ name: 'Crew' });
    });

    it('gives a changed calendar its values back, and its all-day events their times', async () => {
      const calendar = await done(await createCalendar({ timezone: 'UTC', description: 'x' }));
      const day = { when: { date: '2030-01-01' }, notifications: [HOOK] };
      const event = await done(await createEvent(day, calendar));
      const change = await api('put', `/calendars/${calendar.id}`, {
        name: REFUSED,
        description: null,
        timezone: 'Asia/Tokyo',
        metadata: { a: 'b' },
      });
      expect(await reminders(event.id)).toEqual([{ status: 'scheduled', due: NEW_YEAR - 33_000 }]);
      expect(await step(change)).toBe('failed');
      expect(await show(`/calendars/${calendar.id}`)).toMatchObject({
        name: 'Team',
        description: 'x',
        timezone: 'UTC',
        metadata: { a: 'b' },
      });
      expect(await reminders(event.id)).toEqual([{ status: 'scheduled', due: NEW_YEAR - 600 }]);
      expect(await logged(calendar.id)).toEqual([
        'calendar create',
        'calendar modify',
        'calendar modify',
      ]);
    });

    it('hides a deleted calendar, and shows it again with its events if the provider keeps it', async () => {
      const calendar = await done(await createCalendar({ name: KEPT, metadata: { a: 'b' } }));
      const event = await done(await createEvent({ notifications: [HOOK] }, calendar));
      const series = await done(await createEvent(WEEKLY, calendar));
      const first = `${series.id}_20300101T000000Z`;
      await done(await api('put', `/events/${first}`, { title: 'Kick-off' }));
      await done(await api('delete', `/events/${series.id}_20300108T000000Z`));
      const cancelled = await createEvent({ title: 'Old' }, calendar);
      await done(cancelled);
      await done(await api('delete', `/events/${cancelled.id}`));
      const all = `/events?expand_recurring=true&starts_after=${NEW_YEAR - 1}`;
      const before = await api('get', all);

      const removal = await api('delete', `/calendars/${calendar.id}`);
      expect(await listed('/calendars')).toEqual([]);
      for (const path of ['/events', all, `${all}&show_cancelled=true`])
        expect(await listed(path)).toEqual([]);
      for (const path of [`/calendars/${calendar.id}`, `/events/${event.id}`, `/events/${first}`])
        expect((await call('get', path)).status).toBe(404);
      expect((await call('put', `/events/${event.id}`, { title: 'x' })).status).toBe(404);
      expect((await call('delete', `/calendars/${calendar.id}`)).status).toBe(404);
      expect(
        (await call('post', '/events', { calendar_id: calendar.id, when: { time: 1 } })).status,
      ).toBe(400);

      expect(await step(removal)).toBe('failed');
      expect(await show(`/calendars/${calendar.id}`)).toMatchObject({
        name: KEPT,
        metadata: { a: 'b' },
      });
      const strip = (events: unknown) =>
        (events as object[]).map((one) => ({ ...one, updated_at: 0 }));
      expect(strip(await api('get', all))).toEqual(strip(before));
      expect(await reminders(event.id)).toEqual([{ status: 'scheduled', due: NEW_YEAR - 600 }]);
      expect(await logged(calendar.id)).toEqual([
        'calendar create',
        'calendar delete',
        'calendar create',
      ]);
      expect(await show(`/events/${cancelled.id}`)).toMatchObject({ status: 'cancelled' });
    });

    it('removes a deleted calendar and its events once the provider has deleted it', async () => {
      const calendar = await done(await createCalendar());
      const event = await done(await createEvent({}, calendar));
      await done(await api('delete', `/calendars/${calendar.id}`));
      expect(await query('select 1 from calendar where id = $1', calendar.id)).toEqual([]);
      expect(await query('select 1 from event where id = $1', event.id)).toEqual([]);
    });
  });
});
