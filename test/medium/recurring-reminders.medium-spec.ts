import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import {
  ReminderDispatcher,
  type ReminderResult,
  type ClaimedReminder,
} from '../../src/calendar/notifications/send/reminder-dispatcher.ts';
import { EngineSteps } from '../support/engine-steps.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const NEW_YEAR = 1_893_456_000;

describe('a reminder of a recurring event', () => {
  let server: TestApp;
  let receiver: Receiver;
  let queue: EngineSteps<ClaimedReminder, ReminderResult>;
  let ada: TestAccount;
  let calendar: string;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    receiver = await Receiver.start();
    const dispatcher = server.app.get(ReminderDispatcher);
    queue = new EngineSteps(server.app.get(Database), () => dispatcher);
    ada = await createAccount(server.app, await createApplication(server.app));
    calendar = (await api('post', '/calendars', { name: 'Team', timezone: 'Europe/Berlin' })).id;
  });
  afterAll(async () => {
    await receiver.stop();
    await server.close();
  });

  const api = async (method: 'post' | 'put' | 'delete', path: string, body?: object) => {
    const response = await request(server.url)[method](path).set(ada.bearer).send(body);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body as { id: string };
  };
  const create = (when: object, rrule: string[] = ['RRULE:FREQ=DAILY']) =>
    api('post', '/events', {
      calendar_id: calendar,
      title: 'Standup',
      when,
      recurrence: { rrule, timezone: 'Europe/Berlin' },
      notifications: [
        { type: 'webhook', minutes_before_event: 10, url: receiver.origin, payload: 'soon' },
      ],
    });
  /** Sends the only reminder of an event. */
  const remind = async (eventId: string) => {
    const rows = await server.app
      .get(Database)
      .query<{ id: string }>('select id from reminder where event_id = $1', [eventId]);
    expect(rows).toHaveLength(1);
    return outcomeOf(await queue.attempt(rows[0]?.id ?? '')).result;
  };
  const TIMED = { time: NEW_YEAR };
  const ALL_DAY = { date: '2030-01-01' };

  it.each([
    ['a timed one', TIMED],
    ['an all-day one', ALL_DAY],
  ])('is sent once, for the first occurrence: %s', async (_kind, when) => {
    const { id } = await create(when);
    expect(await remind(id)).toMatchObject({ kind: 'sent' });
  });

  it.each([
    ['deleted', 'a timed one', TIMED, '20300101T000000Z'],
    ['deleted', 'an all-day one', ALL_DAY, '20300101'],
    ['changed', 'a timed one', TIMED, '20300101T000000Z'],
  ])('is skipped if the first occurrence was %s: %s', async (how, _kind, when, stamp) => {
    const { id } = await create(when);
    if (how === 'deleted') await api('delete', `/events/${id}_${stamp}`);
    else await api('put', `/events/${id}_${stamp}`, { when: { time: NEW_YEAR + 3600 } });
    expect(await remind(id)).toEqual({
      kind: 'skipped',
      attempts: 0,
      reason:
        'the first occurrence of the recurring event was excluded, or changed or deleted on its own',
    });
  });

  it('is skipped if the first occurrence was excluded', async () => {
    const { id } = await create(TIMED);
    const rrule = ['RRULE:FREQ=DAILY', 'EXDATE:20300101T000000Z'];
    await api('put', `/events/${id}`, { recurrence: { rrule, timezone: 'Europe/Berlin' } });
    expect(await remind(id)).toMatchObject({ kind: 'skipped' });
  });

  it('is sent although another occurrence was deleted', async () => {
    const { id } = await create(TIMED);
    await api('delete', `/events/${id}_20300102T000000Z`);
    expect(await remind(id)).toMatchObject({ kind: 'sent' });
  });
});
