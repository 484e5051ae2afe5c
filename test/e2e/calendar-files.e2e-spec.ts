import ICAL from 'ical.js';
import nodeIcal, { type VEvent } from 'node-ical';
import request from 'supertest';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const BO = { email: 'bo@sandbox.test', name: 'Bo', status: 'maybe' };
const START = 1_900_000_000;
const WEEK = 7 * 86_400;
const WHEN = { start_time: START, end_time: START + 3600 };
const SERIES = { rrule: ['RRULE:FREQ=WEEKLY;COUNT=5'], timezone: 'Europe/Berlin' };

/** The VEVENTs of a calendar file, parsed by ical.js. */
function eventsIn(text: string): ICAL.Component[] {
  return new ICAL.Component(ICAL.parse(text) as unknown[]).getAllSubcomponents('vevent');
}

/** The first event of a calendar file, parsed by node-ical. */
function firstOf(text: string): VEvent {
  const found = Object.values(nodeIcal.sync.parseICS(text)).find(
    (one): one is VEvent => one?.type === 'VEVENT',
  );
  if (!found) throw new Error('no event');
  return found;
}

describe('calendar files', () => {
  let server: TestApp;
  let ada: TestAccount;
  let stranger: TestAccount;
  let calendarId: string;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    const application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { email: 'ada@sandbox.test', name: 'Ada' });
    stranger = await createAccount(server.app, application);
    calendarId = await createCalendar();
  });
  afterAll(() => server.close());

  const send = (
    method: 'get' | 'post' | 'put' | 'delete',
    path: string,
    body?: object,
    account: TestAccount | null = ada,
  ) =>
    request(server.url)
      [method](path)
      .set(account?.bearer ?? {})
      .send(body);

  async function createCalendar(): Promise<string> {
    const { body } = await send('post', '/calendars', {
      name: 'Work',
      timezone: 'Europe/Berlin',
    }).expect(200);
    return body.id;
  }

  async function create(fields: object, calendar_id = calendarId): Promise<string> {
    const event = { calendar_id, title: 'Review', when: WHEN, participants: [BO], ...fields };
    const { body } = await send('post', '/events', event).expect(200);
    return body.id;
  }

  /**
   * Changes or cancels one instance of a series, as a sync pass would store it. @param nth from 0
   */
  async function changeInstance(
    id: string,
    nth: number,
    title: string,
    status: string,
  ): Promise<void> {
    await server.app.get(Database).query(
      `insert into event (id, account_id, calendar_id, master_event_id, original_start, title, description, location,
         when_value, starts_at, ends_at, busy, read_only, status, hide_participants, participants, notifications, metadata,
         round_robin_order, created_at, updated_at)
       select $2, account_id, calendar_id, id, starts_at + $3::int * interval '7 days', $4, '', '',
         jsonb_build_object('object', 'time', 'time', ${START + 86_400}), starts_at, ends_at, true, false, $5, false,
         participants, '[]', '{}', '{}', now(), now()
       from event where id = $1`,
      [id, newId(), nth, title, status],
    );
  }

  const toIcs = (body: object, account = ada) => send('post', '/events/to-ics', body, account);

  describe('POST /events/to-ics', () => {
    it('writes a stored event with the given options', async () => {
      const id = await create({ location: 'Room 1' });
      const { body } = await toIcs({ event_id: id, ics_options: {} }).expect(200);
      expect(body.ics).toMatch(/^BEGIN:VCALENDAR\r\n[^]*END:VCALENDAR\r\n$/);
      expect(body.ics.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
      expect(firstOf(body.ics)).toMatchObject({
        summary: 'Review',
        location: 'Room 1',
        method: 'REQUEST',
        sequence: 0,
      });
      expect(body.ics).toContain('PARTSTAT=TENTATIVE');
      const ics_options = { ical_uid: 'my-uid', prodid: '-//Me//EN', method: 'CANCEL' };
      const chosen = (await toIcs({ event_id: id, ics_options }).expect(200)).body.ics as string;
      expect(firstOf(chosen)).toMatchObject({
        uid: 'my-uid',
        method: 'CANCEL',
        status: 'CANCELLED',
      });
      expect(chosen).toContain('PRODID:-//Me//EN\r\n');
    });

    it('writes an event that exists only in the request, and stores nothing', async () => {
      const described = { calendar_id: calendarId, title: 'Plan', when: { date: '2030-05-01' } };
      const { body } = await toIcs(described).expect(200);
      expect(firstOf(body.ics)).toMatchObject({
        summary: 'Plan',
        method: 'PUBLISH',
        datetype: 'date',
      });
      expect((await send('get', '/events?title=Plan')).body).toEqual([]);
    });

    it('writes a series with its changed instances, and a single instance', async () => {
      const id = await create({ recurrence: SERIES });
      await changeInstance(id, 1, 'Moved', 'confirmed');
      await changeInstance(id, 2, 'Off', 'cancelled');
      const { body } = await toIcs({ event_id: id }).expect(200);
      const [series, moved, ...others] = eventsIn(body.ics);
      expect(others).toEqual([]);
      expect(series?.getFirstProperty('exdate')?.toICALString()).toBe(
        'EXDATE;TZID=Europe/Berlin:20300331T194640',
      );
      expect(moved?.getFirstPropertyValue('summary')).toBe('Moved');
      expect(moved?.getFirstProperty('recurrence-id')?.toICALString()).toBe(
        'RECURRENCE-ID;TZID=Europe/Berlin:20300324T184640',
      );
      expect(moved?.getFirstPropertyValue('uid')).toBe(series?.getFirstPropertyValue('uid'));
      const read = firstOf(body.ics);
      expect(Object.values(read.recurrences ?? {})).toMatchObject([
        { summary: 'Moved' },
        { summary: 'Moved' },
      ]);
      const stamp = new Date((START + 3 * WEEK - 3600) * 1000)
        .toISOString()
        .replaceAll(/[-:]|\.\d+/g, '');
      const single = (await toIcs({ event_id: `${id}_${stamp}` }).expect(200)).body.ics as string;
      expect(eventsIn(single)).toHaveLength(1);
      expect(single).toContain('RECURRENCE-ID;TZID=Europe/Berlin:20300407T184640');
    });

    it('escapes line breaks in texts, so that a text cannot add lines to the file', async () => {
      const title = 'A\r\nATTENDEE:mailto:eve@example.test\rEND:VEVENT';
      const participants = [{ email: 'bo@sandbox.test', name: 'Bo"\r\nX-EVIL:1' }];
      const { body } = await toIcs({
        calendar_id: calendarId,
        when: WHEN,
        title,
        participants,
      }).expect(200);
      const [event, ...others] = eventsIn(body.ics);
      expect(others).toEqual([]);
      expect(event?.getAllProperties('attendee')).toHaveLength(1);
      expect(event?.hasProperty('x-evil')).toBe(false);
      expect(event?.getFirstPropertyValue('summary')).toBe(
        title.replace('\r\n', '\n').replace('\r', '\n'),
      );
    });

    it.each([
      ['a request without an event', {}, 400, 'calendar_id is required; when is required'],
      ['a described event without a time', { calendar_id: 'x' }, 400, 'when is required'],
      [
        'an unknown calendar',
        { calendar_id: 'x', when: WHEN },
        400,
        "calendar_id: Couldn't find calendar x",
      ],
      ['an unknown event', { event_id: 'x' }, 404, "Couldn't find event x"],
      [
        'an unknown method',
        { event_id: 'x', ics_options: { method: 'spam' } },
        400,
        'ics_options.method: must be one of',
      ],
      [
        'an invalid recurrence rule',
        { calendar_id: 'x', when: WHEN, recurrence: { rrule: ['RRULE:FREQ=NEVER'] } },
        400,
        'x',
      ],
    ])('refuses %s', async (_what, body, status, message) => {
      expect((await toIcs(body).expect(status)).body.message).toContain(message);
    });
  });

  describe('feeds', () => {
    const make = async (id: string): Promise<string> => {
      const { body } = await send('post', `/calendars/${id}/feed`).expect(200);
      return new URL(body.url).pathname;
    };
    const read = (path: string) => send('get', path, undefined, null).buffer(true);

    it('show a calendar to every client that knows the address, with the details of private events left out', async () => {
      const id = await createCalendar();
      const series = await create({ recurrence: SERIES, title: 'Weekly' }, id);
      await changeInstance(series, 1, 'Moved', 'confirmed');
      await create(
        { title: 'Secret', description: 'psst', location: 'cellar', visibility: 'private' },
        id,
      );
      const gone = await create({ title: 'Gone' }, id);
      await send('delete', `/events/${gone}`).expect(200);
      const answer = await read(await make(id)).expect(200);
      expect(answer.headers).toMatchObject({
        'content-type': 'text/calendar; charset=utf-8',
        'cache-control': 'private, no-cache',
      });
      const text = answer.text;
      expect(
        eventsIn(text)
          .map((event) => event.getFirstPropertyValue('summary'))
          .toSorted((a, b) => (String(a) < String(b) ? -1 : 1)),
      ).toEqual(['Busy', 'Moved', 'Weekly']);
      expect(text).toContain('RRULE:FREQ=WEEKLY;COUNT=5');
      expect(text).toContain('X-WR-CALNAME:Work\r\n');
      expect(text).not.toMatch(/psst|cellar|Secret|Gone|bo@sandbox|ada@sandbox/);
    });

    it('answer 304 until something changes', async () => {
      const id = await createCalendar();
      const event = await create({}, id);
      const path = await make(id);
      const { etag } = (await read(path).expect(200)).headers;
      await read(path).set('If-None-Match', String(etag)).expect(304);
      await send('put', `/events/${event}`, { title: 'Other' }).expect(200);
      const { text } = await read(path).set('If-None-Match', String(etag)).expect(200);
      expect(text).toContain('SUMMARY:Other');
    });

    it('escape line breaks in the name of a calendar, so that the name cannot add lines to the file', async () => {
      const name = 'A\\B; C, D\r\nX-EVIL:1';
      const { body } = await send('post', '/calendars', {
        name,
        description: 'x\nEND:VCALENDAR',
      }).expect(200);
      const { text } = await read(await make(body.id)).expect(200);
      expect(text).toContain(
        'X-WR-CALNAME:A\\\\B\\; C\\, D\\nX-EVIL:1\r\nX-WR-CALDESC:x\\nEND:VCALENDAR\r\n',
      );
    });

    it('contain every event of a long calendar', async () => {
      const id = await createCalendar();
      const first = await create({ when: { time: START }, participants: [] }, id);
      await server.app.get(Database).query(
        `insert into event (id, account_id, calendar_id, title, description, location, when_value, starts_at, ends_at, busy,
           read_only, status, hide_participants, participants, notifications, metadata, round_robin_order, created_at, updated_at)
         select gen_random_uuid(), account_id, calendar_id, 'n' || n, '', '', when_value, starts_at, ends_at, true, false,
           'confirmed', false, '[]', '[]', '{}', '{}', now(), now()
         from event, generate_series(1, 450) n where id = $1`,
        [first],
      );
      const { text } = await read(await make(id)).expect(200);
      const titles = new Set(eventsIn(text).map((event) => event.getFirstPropertyValue('summary')));
      expect(titles.size).toBe(451);
    });

    it('have one address at a time, and only its hash is stored', async () => {
      const id = await createCalendar();
      await send('get', `/calendars/${id}/feed`).expect(404);
      const first = await make(id);
      const second = await make(id);
      await read(first).expect(404);
      await read(second).expect(200);
      const { body } = await send('get', `/calendars/${id}/feed`).expect(200);
      expect(body).toEqual({ object: 'feed', calendar_id: id, created_at: expect.any(Number) });
      await send('delete', `/calendars/${id}/feed`, undefined, stranger).expect(404);
      await send('post', `/calendars/${id}/feed`, undefined, stranger).expect(404);
      await send('delete', `/calendars/${id}/feed`).expect(200);
      await read(second).expect(404);
    });

    it('answer 429 to a client that guesses addresses, and still serve a right address', async () => {
      const path = await make(await createCalendar());
      const guess = () => read(`/feeds/${'x'.repeat(50)}.ics`);
      let status = 404;
      // A client has thirty guesses a minute. The current minute may end during this loop.
      for (let tries = 0; tries < 80 && status === 404; tries++) ({ status } = await guess());
      expect(status).toBe(429);
      const { headers } = await guess().expect(429);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      await read(path).expect(200);
      await read('/feeds/no-secret-at-all.ics').expect(429);
    });
  });
});
