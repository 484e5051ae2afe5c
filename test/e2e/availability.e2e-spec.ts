import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const UNKNOWN = '019aa1b2-0000-7000-8000-00000000dead';
/** Monday, 00:00 UTC. */
const MONDAY = Date.parse('2030-03-25T00:00:00Z') / 1000;
const HOUR = 3_600;
const DAY = 24 * HOUR;

interface TimeSlot {
  status: string;
  start_time: number;
  end_time: number;
  emails?: string[];
  capacity?: object;
}

describe('availability', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let bo: TestAccount;
  let stranger: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    application = await createApplication(server.app);
    stranger = await createAccount(server.app, await createApplication(server.app));
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    ada = await createAccount(server.app, application);
    bo = await createAccount(server.app, application);
  });

  const post = async (path: string, body: object, by = ada) =>
    request(server.url).post(path).set(by.bearer).send(body);
  const make = async (path: string, body: object, by = ada): Promise<string> => {
    const response = await post(path, body, by);
    expect(response.body).toMatchObject({ id: expect.any(String) });
    return response.body.id;
  };
  const calendar = (by = ada, timezone = 'Europe/Berlin') =>
    make('/calendars', { name: 'Team', timezone }, by);
  const timespan = (from: number, to: number) => ({
    start_time: MONDAY + from * HOUR,
    end_time: MONDAY + to * HOUR,
  });
  const event = (calendar_id: string, when: object, fields: object = {}, by = ada) =>
    make('/events', { calendar_id, title: 'Secret', when, ...fields }, by);
  const query = (text: string, ...values: unknown[]) =>
    server.app.get(Database).query(text, values);
  /** Start and end of each slot, in hours since that Monday. */
  const hours = (slots: TimeSlot[]) =>
    slots.map(({ start_time, end_time }) => [
      (start_time - MONDAY) / HOUR,
      (end_time - MONDAY) / HOUR,
    ]);

  describe('POST /calendars/free-busy', () => {
    const ask = (body: object = {}, by = ada) =>
      post(
        '/calendars/free-busy',
        { start_time: MONDAY, end_time: MONDAY + 7 * DAY, emails: [by.email], ...body },
        by,
      );
    const busy = async (body: object = {}, by = ada) => {
      const response = await ask(body, by);
      expect(response.status).toBe(200);
      return hours(response.body[0].time_slots);
    };

    it("returns the busy time slots of the application's accounts, merged and without event details", async () => {
      const own = await calendar();
      const other = await calendar(bo);
      await event(own, timespan(9, 11));
      await event(own, timespan(10, 12));
      await event(other, timespan(-1, 1), {}, bo);
      const response = await ask({
        start_time: `${MONDAY}`,
        emails: [bo.email.toUpperCase(), ada.email, bo.email],
      });
      expect(response.body).toEqual([
        {
          object: 'free_busy',
          email: bo.email,
          time_slots: [{ object: 'time_slot', status: 'busy', ...timespan(0, 1) }],
        },
        {
          object: 'free_busy',
          email: ada.email,
          time_slots: [{ object: 'time_slot', status: 'busy', ...timespan(9, 12) }],
        },
      ]);
    });

    it('counts an invitation in the mailbox as busy after it is accepted', async () => {
      const emailed = await calendar();
      const answered = (status: string) => ({ participants: [{ email: ada.email, status }] });
      for (const [index, status] of ['yes', 'no', 'maybe', 'noreply'].entries()) {
        await event(emailed, timespan(index * 2, index * 2 + 1), answered(status));
        const recurrence = { rrule: ['RRULE:FREQ=DAILY;COUNT=1'], timezone: 'UTC' };
        await event(emailed, timespan(24 + index * 2, 25 + index * 2), {
          ...answered(status),
          recurrence,
        });
      }
      await event(emailed, timespan(-9 * 24, 31), answered('noreply'));
      await event(emailed, timespan(-9 * 24, -7), answered('yes'));
      await event(emailed, timespan(-9 * 24, 0.5), answered('yes'));
      await query('update calendar set is_emailed = true, read_only = true where id = $1', emailed);
      expect(await busy()).toEqual([
        [0, 1],
        [4, 5],
        [24, 25],
        [28, 29],
      ]);
    });

    it('leaves out events that are cancelled, declined, not busy or without length', async () => {
      const own = await calendar();
      await event(own, timespan(1, 2), { busy: false });
      await event(own, { time: MONDAY + 3 * HOUR });
      await event(own, timespan(4, 5), { participants: [{ email: ada.email, status: 'no' }] });
      await event(own, timespan(6, 7), { participants: [{ email: ada.email, status: 'maybe' }] });
      await event(own, timespan(8, 9), { participants: [{ email: bo.email, status: 'no' }] });
      const cancelled = await event(own, timespan(10, 11));
      await request(server.url).delete(`/events/${cancelled}`).set(ada.bearer).expect(200);
      expect(await busy()).toEqual([
        [6, 7],
        [8, 9],
      ]);
    });

    it("counts all-day events in the calendar's time zone, and events that began long before", async () => {
      const own = await calendar(ada, 'America/New_York');
      await event(own, { date: '2030-03-26' });
      await event(own, timespan(-24 * 40, 2));
      expect(await busy()).toEqual([
        [0, 2],
        [28, 52],
      ]);
    });

    it('counts each instance of a recurring event, skips excluded ones, and uses the new time of changed ones', async () => {
      const own = await calendar();
      const series = await event(
        own,
        { start_time: MONDAY - 800 * DAY + 8 * HOUR, end_time: MONDAY - 800 * DAY + 9 * HOUR },
        {
          recurrence: {
            rrule: [
              'RRULE:FREQ=WEEKLY;BYDAY=MO,WE,SU',
              'EXDATE;TZID=Europe/Berlin:20300327T090000',
            ],
            timezone: 'Europe/Berlin',
          },
        },
      );
      await event(own, { date: '2029-03-29' }, { recurrence: { rrule: ['RRULE:FREQ=YEARLY'] } });
      // Daylight saving time begins there on Sunday.
      expect(await busy()).toEqual([
        [8, 9],
        [95, 119],
        [151, 152],
      ]);
      await query(
        `insert into event (id, account_id, calendar_id, master_event_id, original_start, title, description, location,
           when_value, starts_at, ends_at, busy, read_only, status, hide_participants, participants, notifications,
           metadata, round_robin_order, created_at, updated_at)
         select gen_random_uuid(), account_id, calendar_id, id, to_timestamp($2), '', '', '', when_value, to_timestamp($3),
           to_timestamp($4), true, false, 'confirmed', false, '[]', '[]', '{}', '{}', now(), now() from event where id = $1`,
        series,
        MONDAY + 8 * HOUR,
        MONDAY + 20 * HOUR,
        MONDAY + 21 * HOUR,
      );
      expect((await busy())[0]).toEqual([20, 21]);
    });

    it('counts no instance after the end of a recurring event, also with long instances or several rules', async () => {
      const own = await calendar();
      const series = (from: number, to: number, ...rrule: string[]) =>
        event(own, timespan(from - 364 * 24, to - 364 * 24), {
          recurrence: { rrule, timezone: 'UTC' },
        });
      await series(1, 2, 'RRULE:FREQ=WEEKLY;UNTIL=20300324T235959Z', 'EXDATE:20300318T010000Z');
      await series(3, 4, 'RRULE:FREQ=WEEKLY;UNTIL=20300325', 'EXDATE:20300318T030000Z');
      await series(5, 6, 'RRULE:FREQ=WEEKLY;UNTIL=20290601', 'RRULE:FREQ=MONTHLY;BYDAY=4MO');
      await series(7, 8, 'RRULE:FREQ=WEEKLY;COUNT=52');
      await series(9, 10, 'RRULE:FREQ=WEEKLY;COUNT=53');
      // Each instance lasts ten days. The last instances of the second series have ended by Monday.
      await series(-9 * 24 + 11, 24 + 12, 'rrule:freq=weekly;interval=4;until=20300316T110000Z');
      await series(-9 * 24 - 24, 24 - 24, 'RRULE:FREQ=WEEKLY;INTERVAL=4;UNTIL=20300210T000000Z');
      expect(await busy()).toEqual([[0, 36]]);
      await query(`delete from event where ends_at - starts_at > interval '7 days'`);
      expect(await busy()).toEqual([
        [3, 4],
        [5, 6],
        [9, 10],
      ]);
    });

    it('returns the busy slots of single calendars, also of read-only ones', async () => {
      const first = await calendar();
      const second = await calendar();
      await event(first, timespan(1, 2));
      await event(second, timespan(3, 4));
      await query('update calendar set read_only = true where id = $1', second);
      expect(await busy()).toEqual([[1, 2]]);
      const response = await ask(
        {
          emails: null,
          calendars: [{ account_id: ada.id, calendar_ids: [second, first] }, { account_id: bo.id }],
        },
        bo,
      );
      expect(response.body).toMatchObject([
        { email: ada.email, calendar_id: second, time_slots: [timespan(3, 4)] },
        { email: ada.email, calendar_id: first, time_slots: [timespan(1, 2)] },
        { email: bo.email, time_slots: [] },
      ]);
    });

    it('refuses unknown addresses by name, and treats addresses of other applications as unknown', async () => {
      const mailOnly = await createAccount(server.app, application, { scope: ['email'] });
      const foreign = await calendar(stranger);
      const refused = async (body: object, words: string) => {
        const response = await ask(body);
        expect(response.body.message).toContain(words);
        expect(response.status).toBe(400);
      };
      await refused(
        { emails: [ada.email, stranger.email] },
        `emails: ${stranger.email}: no account`,
      );
      await refused(
        { emails: [mailOnly.email] },
        'no account of this application whose calendar may be read',
      );
      await refused(
        { calendars: [{ account_id: stranger.id, calendar_ids: [foreign] }] },
        'calendars.0.account_id',
      );
      await refused(
        { calendars: [{ account_id: ada.id, calendar_ids: [foreign] }] },
        'calendars.0.calendar_ids',
      );
      await refused({ calendars: [{ account_id: ada.id, calendar_ids: [UNKNOWN] }] }, UNKNOWN);
      await refused({ emails: [] }, 'emails');
      await refused({ end_time: MONDAY }, 'end_time');
      await refused({ end_time: MONDAY + 367 * DAY }, 'end_time');
      await refused(
        { emails: Array.from({ length: 101 }, (_, index) => `${index}@example.test`) },
        'emails',
      );
    });
  });

  describe('POST /calendars/availability', () => {
    const QUESTION = {
      start_time: MONDAY,
      end_time: MONDAY + 6 * HOUR,
      duration_minutes: '60',
      interval_minutes: 60,
    };
    const ask = (body: object) => post('/calendars/availability', { ...QUESTION, ...body });
    const slotsOf = async (body: object): Promise<TimeSlot[]> => {
      const response = await ask(body);
      expect(response.body).toMatchObject({ object: 'availability' });
      return response.body.time_slots;
    };

    it('returns when all participants are free, with buffers, open hours and outside participants', async () => {
      await event(await calendar(), timespan(1, 2));
      await event(
        await calendar(bo),
        timespan(4, 5),
        { participants: [{ email: bo.email, status: 'maybe' }] },
        bo,
      );
      const emails = [ada.email, bo.email];
      const slots = await slotsOf({ emails, unknown: 'field' });
      const [start, end] = [MONDAY, MONDAY + HOUR];
      expect(slots[0]).toEqual({
        object: 'time_slot',
        status: 'free',
        ...timespan(0, 1),
        start,
        end,
      });
      expect(hours(slots).map(([start]) => start)).toEqual([0, 2, 3, 5]);
      const starts = async (body: object) =>
        hours(await slotsOf({ emails, ...body })).map(([start]) => start);
      expect(await starts({ tentative_busy: false })).toEqual([0, 2, 3, 4, 5]);
      expect(await starts({ buffer: '30' })).toEqual([]);
      expect(await starts({ buffer: 30, interval_minutes: 30 })).toEqual([2.5]);
      const outsider = {
        email: 'x@example.test',
        time_slots: [{ object: 'time_slot', ...timespan(2, 3) }],
      };
      expect(await starts({ free_busy: [{ object: 'free_busy', ...outsider }] })).toEqual([
        0, 3, 5,
      ]);
      const short = [{ start: MONDAY + 2 * HOUR, end: MONDAY + 3 * HOUR }];
      expect(await starts({ free_busy: [{ ...outsider, time_slots: short }] })).toEqual([0, 3, 5]);
      expect(
        await starts({ emails: [ada.email, 'x@example.test'], free_busy: [outsider] }),
      ).toEqual([0, 3, 4, 5]);
      const open = {
        object_type: 'open_hours',
        timezone: 'Asia/Kolkata',
        start: '7:30',
        end: '10:30',
        days: ['0'],
      };
      expect(await starts({ open_hours: [{ ...open, emails: [bo.email] }] })).toEqual([2, 3]);
      // As the clients of PHP and Python write them.
      const written = { ...open, emails: [[bo.email]], start: '7:5', end: '10:30:00' };
      expect(await starts({ open_hours: [written] })).toEqual([2, 3]);
    });

    it('returns for a round robin who is free and who is next', async () => {
      const own = await calendar();
      const collection = { event_collection_id: 'support' };
      await event(own, timespan(1, 2), collection);
      await event(await calendar(bo), timespan(2, 4), {}, bo);
      const emails = [ada.email, bo.email];
      const any = await ask({ emails, round_robin: 'max-availability', ...collection });
      expect(any.body.order).toEqual([bo.email, ada.email]);
      expect(any.body.time_slots.map((slot: TimeSlot) => slot.emails)).toEqual([
        [bo.email, ada.email],
        [bo.email],
        [ada.email],
        [ada.email],
        [bo.email, ada.email],
        [bo.email, ada.email],
      ]);
      const fair = await ask({ emails, round_robin: 'max-fairness', ...collection });
      expect(hours(fair.body.time_slots).map(([start]) => start)).toEqual([0, 1, 4, 5]);
      // A meeting counts for its participant, regardless of which account created it.
      await event(own, timespan(30, 31), { ...collection, participants: [{ email: bo.email }] });
      const later = await ask({ emails, round_robin: 'max-availability', ...collection });
      expect(later.body.order).toEqual([ada.email, bo.email]);
    });

    it('includes group events that still have capacity', async () => {
      const own = await calendar();
      const participants = [{ email: 'x@example.test' }];
      const id = await event(own, timespan(1.5, 2.5), { capacity: 2, participants });
      await event(own, timespan(4, 5), { capacity: 1, participants });
      const series = await event(own, timespan(-24 * 7 + 3, -24 * 7 + 4), {
        capacity: 5,
        recurrence: { rrule: ['RRULE:FREQ=WEEKLY'], timezone: 'UTC' },
      });
      const slots = await slotsOf({ emails: [ada.email] });
      expect(hours(slots).map(([start]) => start)).toEqual([0, 1.5, 3, 5]);
      expect(slots.flatMap(({ capacity }) => capacity ?? [])).toEqual([
        { event_id: id, current_capacity: 1, max_capacity: 2 },
        { event_id: `${series}_20300325T030000Z`, current_capacity: 0, max_capacity: 5 },
      ]);
    });

    it('refuses invalid and too expensive requests, and names the field', async () => {
      const emails = [ada.email];
      const hour = { emails, days: [0], timezone: 'UTC', start: '9:00', end: '17:00' };
      for (const [field, body] of Object.entries({
        duration_minutes: { emails, duration_minutes: 0 },
        interval_minutes: { emails, interval_minutes: 1, end_time: MONDAY + 300 * DAY },
        emails: { emails: ['nonsense'] },
        round_robin: { emails, round_robin: 'max' },
        open_hours: { emails, open_hours: [{ ...hour, emails: ['x@example.test'] }] },
        timezone: { emails, open_hours: [{ ...hour, timezone: 'Mars/Olympus' }] },
        start: { emails, open_hours: [{ ...hour, start: '25:00' }] },
        days: { emails, open_hours: [{ ...hour, days: [7] }] },
        end_time: {
          emails,
          free_busy: [{ email: 'x@example.test', time_slots: [{ start_time: 2, end_time: 1 }] }],
        },
        start_time: { emails, free_busy: [{ email: 'x@example.test', time_slots: [{ end: 1 }] }] },
        tentative_busy: { emails, tentative_busy: 'yes' },
        buffer: { emails, buffer: -1 },
      })) {
        const response = await ask(body);
        expect([response.status, response.body.message]).toEqual([
          400,
          expect.stringContaining(field),
        ]);
      }
    });
  });

  it('POST /calendars/availability/consecutive returns chains of meetings', async () => {
    await event(await calendar(), timespan(1, 2));
    await event(await calendar(bo), timespan(4, 5), {}, bo);
    const question = {
      start_time: MONDAY,
      end_time: MONDAY + 6 * HOUR,
      duration_minutes: 60,
      interval_minutes: 60,
    };
    const ask = (body: object) =>
      post('/calendars/availability/consecutive', { ...question, ...body });
    const found = await ask({ emails: [[ada.email], [bo.email, ada.email]] });
    expect(found.status).toBe(200);
    const chain = (from: number) => [
      { emails: [ada.email], ...timespan(from, from + 1) },
      { emails: [bo.email, ada.email], ...timespan(from + 1, from + 2) },
    ];
    expect(found.body).toEqual([chain(2), chain(4)]);
    const outsider = { email: 'x@example.test', time_slots: [timespan(3, 6)] };
    expect((await ask({ emails: [[ada.email], [bo.email]], free_busy: [outsider] })).body).toEqual([
      [
        { emails: [ada.email, outsider.email], ...timespan(0, 1) },
        { emails: [bo.email, outsider.email], ...timespan(1, 2) },
      ],
    ]);
    expect((await ask({ emails: [ada.email] })).status).toBe(400);
    expect((await ask({ emails: [] })).status).toBe(400);
  });

  it('GET /resources lists the meeting rooms of the application', async () => {
    const get = (path: string, by: TestAccount) => request(server.url).get(path).set(by.bearer);
    const metadata = { room: true, room_name: 'Aquarium', room_capacity: 8, room_building: 'Main' };
    await query('update "grant" set metadata = $2 where id = $1', bo.id, JSON.stringify(metadata));
    expect((await get('/resources?limit=100&offset=0', ada)).body).toEqual([
      {
        object: 'room_resource',
        email: bo.email,
        name: 'Aquarium',
        capacity: '8',
        building: 'Main',
        floor_name: '',
        floor_number: '',
      },
    ]);
    expect((await get('/resources?view=count', ada)).body).toEqual({ count: 1 });
    expect((await get('/resources?offset=1', ada)).body).toEqual([]);
    expect((await get('/resources', stranger)).body).toEqual([]);
    const scoped = (scope: string) => createAccount(server.app, application, { scope: [scope] });
    expect((await get('/resources', await scoped('calendar'))).status).toBe(403);
    expect((await get('/resources', await scoped('room_resources.read_only'))).status).toBe(200);
  });
});
