import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { rowsOf } from '../support/connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const UNKNOWN = '019aa1b2-0000-7000-8000-00000000dead';
const START = 1_900_000_000;
const WHEN = { start_time: START, end_time: START + 3600 };
const EMAIL = { type: 'email', minutes_before_event: '60', subject: 'Soon', body: '<b>Soon</b>' };
const SMS = { type: 'sms', minutes_before_event: 60, message: 'Soon' };
const HOOK = {
  type: 'webhook',
  minutes_before_event: 30,
  url: 'https://hooks.example.test/x',
  payload: '{"a":1}',
};
const BO = { email: 'bo@example.test', name: 'Bo', phone_number: '+15550100' };

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
interface EventBody {
  id: string;
  job_status_id: string;
  [key: string]: unknown;
}

describe('/events', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let calendar: string;

  beforeAll(async () => {
    // Only the API role: provider writes stay queued, so the tests can read their rows.
    server = await startTestApp({ ROLES: 'api' });
    application = await createApplication(server.app, { features: ['sms'] });
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    ada = await createAccount(server.app, application);
    calendar = await createCalendar({ name: 'Team' });
  });

  const call = (method: Method, path: string, by = ada) =>
    request(server.url)[method](path).set(by.bearer);
  const query = <R extends object>(text: string, ...values: unknown[]) =>
    server.app.get(Database).query<R>(text, values);
  async function createCalendar(body: object, by = ada): Promise<string> {
    const response = await call('post', '/calendars', by).send(body);
    expect(response.status).toBe(200);
    return response.body.id;
  }
  async function create(body: object = {}, by = ada): Promise<EventBody> {
    const response = await call('post', '/events', by).send({
      calendar_id: calendar,
      when: WHEN,
      ...body,
    });
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body;
  }
  const stateOf = async (id: string) => {
    const [event] = await query('select * from event where id = $1', id);
    const jobs = await query('select id from provider_job where object_id = $1', id);
    const reminders = await query(
      'select id, status, due_at from reminder where event_id = $1 order by id',
      id,
    );
    const changes = await query('select seq from change where object_id = $1', id);
    return { event, jobs, reminders, changes };
  };
  const titles = async (filter: string) => {
    const response = await call('get', `/events?${filter}`);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body.map(({ title }: { title: string }) => title);
  };

  describe('POST', () => {
    it('creates an event at once and starts a job for the provider write', async () => {
      const response = await call('post', '/events').send({
        calendar_id: calendar,
        title: 'Review',
        description: 'All of it',
        location: 'Room 1',
        when: {
          start_time: String(START),
          end_time: String(START + 3600),
          start_timezone: 'Europe/Berlin',
          object: 'time',
        },
        participants: [{ ...BO, email: 'BO@Example.test', status: 'maybe', comment: 'perhaps' }],
        conferencing: {
          provider: 'Zoom Meeting',
          details: {
            meeting_code: '1',
            password: 'p',
            pin: '2',
            url: 'https://zoom.example.test/1',
            phone: ['+1 2'],
            extra: 1,
          },
        },
        metadata: { team: 'sales' },
        visibility: 'private',
        hide_participants: true,
        capacity: '5',
        event_collection_id: 'col',
        round_robin_order: ['BO@example.test'],
        customer_event_id: 'cust',
        reminder_minutes: '[20]',
        reminder_method: 'popup',
        unknown: 'dropped',
      });
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        id: expect.any(String),
        object: 'event',
        account_id: ada.id,
        calendar_id: calendar,
        message_id: null,
        ical_uid: null,
        title: 'Review',
        description: 'All of it',
        location: 'Room 1',
        owner: `Test User <${ada.email}>`,
        organizer_email: ada.email,
        organizer_name: 'Test User',
        participants: [
          {
            email: 'bo@example.test',
            name: 'Bo',
            phone_number: '+15550100',
            status: 'maybe',
            comment: 'perhaps',
          },
        ],
        read_only: false,
        when: {
          object: 'timespan',
          start_time: START,
          end_time: START + 3600,
          start_timezone: 'Europe/Berlin',
          end_timezone: 'Europe/Berlin',
        },
        busy: true,
        status: 'confirmed',
        visibility: 'private',
        hide_participants: true,
        conferencing: {
          provider: 'Zoom Meeting',
          details: {
            meeting_code: '1',
            password: 'p',
            pin: '2',
            url: 'https://zoom.example.test/1',
            phone: ['+1 2'],
          },
        },
        reminders: { reminder_minutes: 20, reminder_method: 'popup' },
        notifications: [],
        metadata: { team: 'sales' },
        event_collection_id: 'col',
        capacity: 5,
        round_robin_order: ['bo@example.test'],
        customer_event_id: 'cust',
        updated_at: expect.any(Number),
        job_status_id: expect.any(String),
      });
      const { job_status_id: jobId, ...stored } = response.body;
      expect((await call('get', `/events/${stored.id}`)).body).toEqual(stored);
      expect((await call('get', '/events')).body).toEqual([stored]);
      expect((await call('get', `/job-statuses/${jobId}`)).body).toMatchObject({
        id: stored.id,
        action: 'create_event',
        object: 'event',
        status: 'pending',
      });
    });

    it.each([
      [{ time: String(START) }, { object: 'time', time: START, timezone: 'UTC' }],
      [
        { time: START, timezone: 'UTC' },
        { object: 'time', time: START, timezone: 'UTC' },
      ],
      [
        { start_time: START, end_time: START },
        { object: 'time', time: START, timezone: 'UTC' },
      ],
      [
        { start_time: START, end_time: START + 1, end_timezone: '' },
        {
          object: 'timespan',
          start_time: START,
          end_time: START + 1,
          start_timezone: 'UTC',
          end_timezone: 'UTC',
        },
      ],
      [{ date: '2030-02-28' }, { object: 'date', date: '2030-02-28' }],
      [{ date: '1000-01-01' }, { object: 'date', date: '1000-01-01' }],
      [{ date: '9999-12-31' }, { object: 'date', date: '9999-12-31' }],
      [
        { start_date: '2030-02-27', end_date: '2030-02-28', time: null },
        { object: 'datespan', start_date: '2030-02-27', end_date: '2030-02-28' },
      ],
      [
        { start_date: '2030-02-28', end_date: '2030-02-28' },
        { object: 'date', date: '2030-02-28' },
      ],
    ])('accepts when = %j', async (when, expected) => {
      const event = await create({ when });
      expect(event['when']).toEqual(expected);
      expect((await call('get', `/events/${event.id}`)).body.when).toEqual(expected);
    });

    it('shows a zone for every time, and stores none if a client sends the shown zone back', async () => {
      const zones = 'select when_value from event where id = $1';
      const recurrence = { rrule: ['RRULE:FREQ=DAILY;COUNT=2'], timezone: 'Europe/Berlin' };
      for (const [more, zone] of [
        [{}, 'UTC'],
        [{ recurrence }, 'Europe/Berlin'],
      ] as const) {
        const event = await create({ when: { start_time: START, end_time: START + 60 }, ...more });
        expect(event['when']).toMatchObject({ start_timezone: zone, end_timezone: zone });
        const [before] = await query(zones, event.id);
        const saved = await call('put', `/events/${event.id}`).send({ when: event['when'] });
        expect(saved.body.when).toEqual(event['when']);
        expect(await query(zones, event.id)).toEqual([before]);
      }
    });

    it('stores all-day events in the time zone of the calendar', async () => {
      calendar = await createCalendar({ name: 'Berlin', timezone: 'Europe/Berlin' });
      const { id } = await create({ when: { date: '2030-07-15' } });
      const [event] = await query('select starts_at, ends_at from event where id = $1', id);
      expect(event).toEqual({
        starts_at: new Date('2030-07-14T22:00:00Z'),
        ends_at: new Date('2030-07-15T22:00:00Z'),
      });
    });

    it('stores a recurring event once, in the time zone of the calendar', async () => {
      calendar = await createCalendar({ name: 'Berlin', timezone: 'Europe/Berlin' });
      const rrule = ['RRULE:FREQ=WEEKLY;BYDAY=MO', 'EXDATE:20300101T000000Z'];
      const event = await create({ recurrence: { rrule } });
      expect(event['recurrence']).toEqual({ rrule, timezone: 'Europe/Berlin' });
      expect((await call('get', '/events?view=count')).body).toEqual({ count: 1 });
    });

    it.each([
      [{ calendar_id: undefined }, 'calendar_id is required'],
      [{ calendar_id: 5 }, /^calendar_id: /],
      [{ calendar_id: 'x' }, "calendar_id: Couldn't find calendar x"],
      [{ calendar_id: UNKNOWN }, `calendar_id: Couldn't find calendar ${UNKNOWN}`],
      [{ when: undefined }, 'when is required'],
      [{ when: null }, /^when: /],
      [{ when: 'now' }, /^when: /],
      [{ when: [] }, /^when: /],
      [{ when: {} }, /^when: When object had invalid keys\./],
      [{ when: { object: 'time' } }, /^when: When object had invalid keys\./],
      [{ when: { start_time: START } }, /^when: When object had invalid keys\./],
      [{ when: { time: START, date: '2030-01-01' } }, /^when: When object had invalid keys\./],
      [{ when: { time: START, somewhere: 1 } }, /^when: When object had invalid keys\./],
      [
        { when: { start_time: START + 1, end_time: START } },
        `when: 'start_time' must be < 'end_time'.`,
      ],
      [
        { when: { start_date: '2030-01-02', end_date: '2030-01-01' } },
        `when: 'start_date' must be < 'end_date'.`,
      ],
      [{ when: { time: 'soon' } }, 'when.time: must be an integer'],
      [{ when: { time: 1.5 } }, 'when.time: must be an integer'],
      [{ when: { time: -1 } }, /^when\.time: must be between/],
      [{ when: { time: START * 1000 } }, /^when\.time: must be between/],
      [
        { when: { time: START, timezone: 'Mars' } },
        /^when\.timezone: must be the name of an IANA time zone/,
      ],
      [{ when: { date: '2030-02-30' } }, 'when.date: must be an existing date, as YYYY-MM-DD'],
      [{ when: { date: 20300101 } }, /^when\.date: /],
      [{ title: 5 }, /^title: /],
      [{ title: 'x'.repeat(1025) }, 'title: must not be longer than 1024 characters'],
      [{ title: 'nul \0' }, /NUL/],
      [{ description: 'x'.repeat(65_537) }, /^description: /],
      [{ location: {} }, /^location: /],
      [{ busy: 'yes' }, 'busy: must be true or false'],
      [{ hide_participants: 1 }, 'hide_participants: must be true or false'],
      [{ visibility: 'secret' }, 'visibility: must be public or private'],
      [{ participants: 'bo' }, /^participants: /],
      [{ participants: [{}] }, 'participants.0: needs an email or a phone_number'],
      [
        { participants: [{ email: '', phone_number: '' }] },
        'participants.0: needs an email or a phone_number',
      ],
      [
        { participants: [{ phone_number: '+15550100' }, { phone_number: '+1 555-0100' }] },
        'participants: +15550100 is given twice',
      ],
      [
        { notifications: [EMAIL], participants: [{ phone_number: '+15550100' }] },
        'participants: email notifications need an email for every participant; missing for: +15550100',
      ],
      [
        { notifications: [SMS, HOOK], participants: [{ phone_number: '+15550100' }] },
        'participants: an event with notifications of several types needs an email and a phone_number for every participant; missing for: +15550100',
      ],
      [{ participants: [{ email: 'bo' }] }, 'participants.0.email: must be an email address'],
      [{ participants: [{ email: null }] }, 'participants.0: needs an email or a phone_number'],
      [{ participants: ['bo@example.test'] }, /^participants\.0: /],
      [
        { participants: [BO, { ...BO, email: 'BO@example.test' }] },
        'participants: bo@example.test is given twice',
      ],
      [
        { participants: [{ ...BO, phone_number: '555 0100' }] },
        /^participants\.0\.phone_number: must be in international format/,
      ],
      [{ participants: [{ ...BO, phone_number: 15550100 }] }, /^participants\.0\.phone_number: /],
      [
        { participants: [{ ...BO, status: 'perhaps' }] },
        'participants.0.status: must be one of: yes, no, maybe, noreply',
      ],
      [
        { participants: Array.from({ length: 501 }, (_, i) => ({ email: `p${i}@example.test` })) },
        'participants: must not have more than 500 entries',
      ],
      [
        { participants: [BO, { email: 'c@example.test' }], capacity: 1 },
        /^capacity: the event has 2 participants/,
      ],
      [{ capacity: -2 }, /^capacity: must be between -1/],
      [{ capacity: 'many' }, 'capacity: must be an integer'],
      [{ conferencing: 'zoom' }, /^conferencing: /],
      [{ conferencing: { details: { url: 'x' } } }, 'conferencing.provider is required'],
      [{ conferencing: { provider: '', details: {} } }, 'conferencing.provider: must not be empty'],
      [{ conferencing: { provider: 'WebEx' } }, 'conferencing: details or autocreate is required'],
      [
        { conferencing: { provider: 'WebEx', autocreate: {} } },
        /^conferencing.provider: no conferencing service/,
      ],
      [
        { conferencing: { provider: 'WebEx', autocreate: { settings: {} }, details: {} } },
        'conferencing: details and autocreate cannot be used together',
      ],
      [
        { conferencing: { provider: 'WebEx', details: { url: 5 } } },
        /^conferencing\.details\.url: /,
      ],
      [{ recurrence: { rrule: [] } }, /^recurrence\.rrule: must have a rule/],
      [{ recurrence: { rrule: 'RRULE:FREQ=DAILY' } }, /^recurrence\.rrule: /],
      [{ recurrence: { rrule: ['FREQ=DAILY'] } }, /^recurrence\.rrule\.0: must start with RRULE:/],
      [
        { recurrence: { rrule: ['RRULE:COUNT=3'] } },
        /^recurrence\.rrule\.0: must start with RRULE:/,
      ],
      [{ recurrence: { rrule: ['RDATE:20300101T000000Z'] } }, /^recurrence\.rrule\.0: /],
      [
        { recurrence: { rrule: ['EXDATE:20300101T000000Z'] } },
        'recurrence.rrule: must have an RRULE line',
      ],
      [
        { recurrence: { rrule: ['RRULE:FREQ=DAILY'], timezone: 'Mars' } },
        /^recurrence\.timezone: /,
      ],
      [{ recurrence: { timezone: 'UTC' } }, 'recurrence.rrule is required'],
      [
        { conferencing: { details: { url: 'https://x.example.test' } } },
        'conferencing.provider is required',
      ],
      [{ reminder_minutes: 'soon' }, 'reminder_minutes: must be of the form "[20]"'],
      [{ reminder_minutes: '[20' }, 'reminder_minutes: must be of the form "[20]"'],
      [{ reminder_method: 'popup' }, 'reminder_method: needs reminder_minutes'],
      [
        { reminder_method: 'pigeon', reminder_minutes: '[1]' },
        'reminder_method: must be one of: email, popup, display, sound',
      ],
      [{ metadata: { a: 1 } }, /^metadata/],
      [{ metadata: { ['k'.repeat(41)]: '' } }, /^metadata/],
      [{ round_robin_order: ['bo'] }, /^round_robin_order\.0: /],
      [{ customer_event_id: 'x'.repeat(256) }, /^customer_event_id: /],
      [{ notifications: EMAIL }, /^notifications: /],
      [{ notifications: ['email'] }, /^notifications\.0: /],
      [{ notifications: [{}] }, 'notifications.0.type is required'],
      [
        { notifications: [{ ...EMAIL, type: 'pigeon' }] },
        'notifications.0.type: must be one of email, sms, webhook',
      ],
      [
        { notifications: [{ ...EMAIL, minutes_before_event: -1 }] },
        /^notifications\.0\.minutes_before_event: must be between 0/,
      ],
      [
        { notifications: [{ ...EMAIL, minutes_before_event: 525_601 }] },
        /^notifications\.0\.minutes_before_event: must be between 0/,
      ],
      [
        { notifications: [{ ...EMAIL, minutes_before_event: 'soon' }] },
        'notifications.0.minutes_before_event: must be an integer',
      ],
      [
        { notifications: [{ ...EMAIL, minutes_before_event: undefined }] },
        'notifications.0.minutes_before_event is required',
      ],
      [
        { notifications: [{ ...EMAIL, subject: undefined, body: undefined }] },
        'notifications.0.subject is required; notifications.0.body is required',
      ],
      [{ notifications: [{ ...SMS, message: undefined }] }, 'notifications.0.message is required'],
      [
        { notifications: [{ ...HOOK, url: 'ftp://hooks.example.test/' }] },
        'notifications.0.url: must be an http or https address',
      ],
      [
        { notifications: [{ ...HOOK, url: 'http://192.168.1.1/' }] },
        'notifications.0.url: must have a public host',
      ],
      [
        { notifications: [{ ...HOOK, url: 'https://10.0.0.1/' }] },
        'notifications.0.url: must have a public host',
      ],
      [{ notifications: [{ ...HOOK, url: 'javascript:alert(1)' }] }, /^notifications\.0\.url: /],
      [{ notifications: [{ ...HOOK, url: '/relative' }] }, /^notifications\.0\.url: /],
      [{ notifications: [{ ...HOOK, payload: { a: 1 } }] }, /^notifications\.0\.payload: /],
      [
        { notifications: Array.from({ length: 21 }, () => HOOK) },
        'notifications: must not have more than 20 entries',
      ],
      [
        { notifications: [EMAIL] },
        'participants: email notifications need at least one participant',
      ],
      [
        { notifications: [SMS], participants: [{ email: 'c@example.test' }] },
        /missing for: c@example\.test$/,
      ],
      [
        { notifications: [EMAIL, HOOK], participants: [BO, { email: 'c@example.test' }] },
        /missing for: c@example\.test$/,
      ],
      [
        {
          notifications: [HOOK],
          recurrence: { rrule: ['RRULE:FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=1'] },
        },
        /^notifications: they are about the first occurrence/,
      ],
    ])('refuses %j', async (body, message) => {
      const response = await call('post', '/events').send({
        calendar_id: calendar,
        when: WHEN,
        ...body,
      });
      expect([response.status, response.body]).toEqual([
        400,
        expect.objectContaining({ type: 'invalid_request_error' }),
      ]);
      expect(response.body.message).toEqual(
        typeof message === 'string' ? message : expect.stringMatching(message),
      );
      expect((await call('get', '/events?view=count&show_cancelled=true')).body).toEqual({
        count: 0,
      });
      expect(await query('select id from reminder where account_id = $1', ada.id)).toEqual([]);
    });

    it('names every missing field', async () => {
      const response = await call('post', '/events').send({});
      expect(response.body.missing_fields).toEqual(['calendar_id', 'when']);
    });

    it('refuses calendars of other accounts', async () => {
      const bo = await createAccount(server.app, application);
      const foreign = await createCalendar({ name: 'Bo' }, bo);
      const response = await call('post', '/events').send({ calendar_id: foreign, when: WHEN });
      expect(response.status).toBe(400);
      expect((await call('get', '/events?view=count', bo)).body).toEqual({ count: 0 });
    });

    it('refuses a read_only calendar', async () => {
      await query('update calendar set read_only = true where id = $1', calendar);
      const response = await call('post', '/events').send({ calendar_id: calendar, when: WHEN });
      expect(response.status).toBe(400);
      expect(response.body.message).toMatch(
        /^Can't create, change or delete events on a read_only calendar/,
      );
    });

    it('accepts only true and false for notify_participants', async () => {
      const taken = await call('post', '/events?notify_participants=false').send({
        calendar_id: calendar,
        when: WHEN,
      });
      expect(taken.status).toBe(200);
      const nonsense = await call('post', '/events?notify_participants=1').send({
        calendar_id: calendar,
        when: WHEN,
      });
      expect(nonsense.status).toBe(400);
    });
  });

  describe('notifications', () => {
    it('are scheduled with the event, and the response lists them', async () => {
      const start = Math.floor(Date.now() / 1000) + 3600;
      const event = await create({
        when: { time: start },
        participants: [BO, { ...BO, email: 'cy@example.test' }],
        notifications: [
          EMAIL,
          { ...SMS, minutes_before_event: 5 },
          { ...HOOK, minutes_before_event: 600 },
        ],
      });
      expect(event['notifications']).toEqual([
        {
          ...EMAIL,
          minutes_before_event: 60,
          id: expect.any(String),
          status: 'scheduled',
          reason: null,
          due_at: start - 3600,
        },
        {
          ...SMS,
          minutes_before_event: 5,
          id: expect.any(String),
          status: 'scheduled',
          reason: null,
          due_at: start - 300,
        },
        {
          ...HOOK,
          minutes_before_event: 600,
          id: expect.any(String),
          status: 'skipped',
          reason: expect.stringMatching(/^too late/),
          due_at: start - 36_000,
        },
      ]);
      const reminders = await call('get', `/events/${event.id}/notifications`);
      expect(reminders.body).toHaveLength(5);
      expect(
        reminders.body.filter(({ status }: { status: string }) => status === 'scheduled'),
      ).toHaveLength(4);
    });

    it('are shown with their status wherever the event is read, as in the response to the request that set them', async () => {
      const start = Math.floor(Date.now() / 1000) + 3600;
      const cursor = (await call('post', '/delta/latest_cursor')).body.cursor;
      const { id, notifications } = await create({
        when: { time: start },
        participants: [BO, { ...BO, email: 'cy@example.test', status: 'no' }],
        notifications: [
          EMAIL,
          { ...SMS, minutes_before_event: 5 },
          { ...HOOK, minutes_before_event: 600 },
        ],
      });
      const plain = await create({ when: { time: start } });
      expect((await call('get', `/events/${id}`)).body.notifications).toEqual(notifications);
      const list = (await call('get', '/events')).body as EventBody[];
      const shown = new Map(list.map((event) => [event.id, event['notifications']]));
      expect(shown).toEqual(
        new Map([
          [id, notifications],
          [plain.id, []],
        ]),
      );
      const { deltas } = (await call('get', `/delta?cursor=${cursor}&include_types=event`)).body;
      expect(
        deltas.map(({ attributes }: { attributes: EventBody }) => attributes['notifications']),
      ).toEqual([notifications, []]);
      const same = await call('put', `/events/${id}`).send({ title: '' });
      expect(same.body.notifications).toEqual(notifications);
      const renamed = await call('put', `/events/${id}`).send({ title: 'new' });
      expect(renamed.body.notifications).toEqual(notifications);
      await call('delete', `/events/${id}`);
      const cancelled = (await call('get', `/events/${id}`)).body.notifications;
      expect(
        cancelled.map(({ status, reason }: { status: string; reason: string }) => [status, reason]),
      ).toEqual([
        ['cancelled', 'the event was cancelled'],
        ['cancelled', 'the event was cancelled'],
        ['cancelled', 'the event was cancelled'],
      ]);
    });

    it('are an empty list in an event without notifications, also after they were removed and in instances', async () => {
      const created = await create({ recurrence: { rrule: ['RRULE:FREQ=DAILY;COUNT=2'] } });
      expect(created['notifications']).toEqual([]);
      const removed = await create({ participants: [BO], notifications: [EMAIL] });
      const put = await call('put', `/events/${removed.id}`).send({ notifications: [] });
      expect(put.body.notifications).toEqual([]);
      expect((await call('get', `/events/${removed.id}`)).body.notifications).toEqual([]);
      const { body: instances } = await call(
        'get',
        `/events?expand_recurring=true&starts_after=${START - 1}`,
      );
      for (const event of instances as EventBody[]) {
        expect(event['notifications']).toEqual([]);
        // The official client sends back what it has read.
        const saved = await call('put', `/events/${event.id}`).send({
          title: 'x',
          notifications: [],
        });
        expect([saved.status, saved.body.notifications]).toEqual([200, []]);
      }
      expect(instances).toHaveLength(3);
    });

    it('keep their reminders when they are sent back unchanged, and are rescheduled with the event', async () => {
      const event = await create({ participants: [BO], notifications: [EMAIL] });
      const before = (await stateOf(event.id)).reminders;
      const same = await call('put', `/events/${event.id}`).send({
        title: 'renamed',
        notifications: [{ ...EMAIL, minutes_before_event: 60 }],
      });
      expect(same.status).toBe(200);
      expect((await stateOf(event.id)).reminders).toEqual(before);
      await call('put', `/events/${event.id}`).send({ when: { time: START + 7200 } });
      expect((await stateOf(event.id)).reminders).toEqual([
        { ...before[0], due_at: new Date((START + 7200 - 3600) * 1000) },
      ]);
    });

    it('take their minutes under the name that the client of PHP gives them', async () => {
      const { type, subject, body } = EMAIL;
      const { notifications } = await create({
        participants: [BO],
        notifications: [{ type, minutes_before_events: '60', subject, body }],
      });
      expect(notifications).toMatchObject([{ type, minutes_before_event: 60, subject, body }]);
    });

    it('are cancelled by an empty list, and when their event or calendar is deleted', async () => {
      const removed = await create({ participants: [BO], notifications: [EMAIL] });
      const answer = await call('put', `/events/${removed.id}`).send({ notifications: [] });
      expect(answer.body.notifications).toEqual([]);
      const deleted = await create({ notifications: [HOOK] });
      await call('delete', `/events/${deleted.id}`);
      const orphaned = await create({ notifications: [HOOK] });
      await call('delete', `/calendars/${calendar}`);
      for (const { id } of [removed, deleted, orphaned]) {
        expect((await stateOf(id)).reminders).toMatchObject([{ status: 'cancelled' }]);
      }
      expect(await query('select id from reminder_job where account_id = $1', ada.id)).toEqual([]);
    });

    it('of one type need only what that type needs: texts go to participants without an email', async () => {
      const cy = { name: 'Cy', phone_number: '+1 555-0101' };
      const created = await create({ participants: [BO, cy], notifications: [SMS] });
      const shown = {
        email: null,
        name: 'Cy',
        phone_number: '+15550101',
        status: 'noreply',
        comment: null,
      };
      expect(created['participants']).toEqual([
        expect.objectContaining({ email: BO.email }),
        shown,
      ]);
      const { body: reminders } = await call('get', `/events/${created.id}/notifications`);
      expect(reminders).toMatchObject([
        { type: 'sms', participant: '+15550101', recipient: '+15550101', status: 'scheduled' },
        { type: 'sms', participant: BO.email, recipient: BO.phone_number, status: 'scheduled' },
      ]);
      // The official clients send back null texts as "".
      const saved = await call('put', `/events/${created.id}`).send({
        title: 'x',
        participants: [BO, { ...shown, email: '', status: undefined, comment: '' }],
      });
      expect([saved.status, saved.body.participants]).toEqual([200, created['participants']]);
      expect((await call('get', `/events/${created.id}/notifications`)).body).toEqual(reminders);
      expect(await titles('participants=%2B15550101')).toEqual(['x']);
      const file = await call('post', '/events/to-ics').send({ event_id: created.id });
      expect(file.body.ics.match(/ATTENDEE/g)).toHaveLength(1);
      const invited = await call('put', `/events/${created.id}?notify_participants=true`).send({
        title: 'y',
      });
      expect(invited.status).toBe(200);
      const mails = await call('get', `/events/${created.id}/invitations`);
      expect(mails.body.map(({ email }: { email: string }) => email)).toEqual([BO.email]);
      const hooked = await create({
        participants: [{ name: 'Nobody', phone_number: '+15550101' }],
        notifications: [HOOK],
      });
      expect(hooked['notifications']).toMatchObject([{ type: 'webhook', status: 'scheduled' }]);
    });

    it('are cancelled for a participant who is removed from the event', async () => {
      const cy = { email: 'cy@example.test' };
      const { id } = await create({ participants: [BO, cy], notifications: [EMAIL] });
      await call('put', `/events/${id}`).send({ participants: [cy] });
      const reminders = await query(
        'select participant, status from reminder where event_id = $1 order by participant',
        id,
      );
      expect(reminders).toEqual([
        { participant: BO.email, status: 'cancelled' },
        { participant: cy.email, status: 'scheduled' },
      ]);
      const nobody = await call('put', `/events/${id}`).send({ participants: [] });
      expect(nobody.status).toBe(400);
    });

    it('of a new recurring event are about its first occurrence', async () => {
      const { id } = await create({
        recurrence: { rrule: ['RRULE:FREQ=DAILY'] },
        participants: [BO],
        notifications: [HOOK],
      });
      const reminders = await call('get', `/events/${id}/notifications`);
      expect(reminders.body).toMatchObject([{ status: 'scheduled', due_at: START - 1800 }]);
      expect(reminders.body).toHaveLength(1);
      const { body } = await call(
        'get',
        `/events?expand_recurring=true&starts_after=${START - 1}&limit=2`,
      );
      for (const instance of body) expect(instance.notifications).toEqual([]);
      const saved = (await call('get', `/events/${id}`)).body;
      const again = await call('put', `/events/${id}`).send({ ...saved, title: 'new' });
      expect([again.status, again.body.notifications]).toEqual([
        200,
        [expect.objectContaining({ ...HOOK, status: 'scheduled' })],
      ]);
      const other = await call('put', `/events/${id}`).send({
        notifications: [{ ...HOOK, payload: 'x' }],
      });
      expect(other.status).toBe(400);
      expect((await call('put', `/events/${id}`).send({ notifications: [] })).status).toBe(200);
      const ended = await call('get', `/events/${id}/notifications`);
      expect(ended.body).toMatchObject([{ status: 'cancelled' }]);
    });

    it('are refused for a recurring event, which accepts an empty list', async () => {
      const { id } = await create({ recurrence: { rrule: ['RRULE:FREQ=DAILY'] } });
      const before = await stateOf(id);
      const refused = await call('put', `/events/${id}`).send({ notifications: [HOOK] });
      expect([refused.status, refused.body.message]).toEqual([
        400,
        'notifications: a recurring event cannot be updated to use notifications; give them when you create it',
      ]);
      expect(await stateOf(id)).toEqual(before);
      expect(
        (await call('put', `/events/${id}`).send({ title: 'x', notifications: [] })).status,
      ).toBe(200);
      const reminding = await create({ notifications: [HOOK] });
      const recurring = await call('put', `/events/${reminding.id}`).send({
        recurrence: { rrule: ['RRULE:FREQ=DAILY'] },
      });
      expect(recurring.status).toBe(400);
    });

    it('need a scope that allows sending and, for sms, the feature "sms"', async () => {
      const { id: standard } = application;
      const silent = await createAccount(server.app, application, { scope: ['calendar'] });
      const theirs = await createCalendar({ name: 'x' }, silent);
      const body = { calendar_id: theirs, when: WHEN, participants: [BO] };
      const refused = await call('post', '/events', silent).send({
        ...body,
        notifications: [HOOK],
      });
      expect([refused.status, refused.body.type]).toEqual([403, 'invalid_request_error']);
      expect((await call('post', '/events', silent).send(body)).status).toBe(200);
      const sender = await createAccount(server.app, application, {
        scope: ['calendar', 'email.send'],
      });
      const ours = await createCalendar({ name: 'x' }, sender);
      const allowed = await call('post', '/events', sender).send({
        ...body,
        calendar_id: ours,
        notifications: [HOOK],
      });
      expect(allowed.status).toBe(200);
      const other = await createApplication(server.app);
      expect(other.id).not.toBe(standard);
      const cheap = await createAccount(server.app, other);
      const cheapCalendar = await createCalendar({ name: 'x' }, cheap);
      const sms = await call('post', '/events', cheap).send({
        ...body,
        calendar_id: cheapCalendar,
        notifications: [SMS],
      });
      expect([sms.status, sms.body.message]).toEqual([
        403,
        'notifications: SMS notifications are not enabled for this application.',
      ]);
      expect((await call('get', '/events?view=count', cheap)).body).toEqual({ count: 0 });
    });
  });

  describe('GET', () => {
    it('lists events by start, in pages, as ids or as a count', async () => {
      const later = await create({ title: 'later', when: { time: START + 10 } });
      const sooner = await create({ title: 'sooner', when: { time: START } });
      const day = await create({ title: 'day', when: { date: '2000-01-01' } });
      expect(await titles('')).toEqual(['day', 'sooner', 'later']);
      expect(await titles('limit=1&offset=1')).toEqual(['sooner']);
      expect(await titles('limit=0')).toEqual([]);
      expect((await call('get', '/events?view=ids')).body).toEqual([day.id, sooner.id, later.id]);
      expect((await call('get', '/events?view=count&limit=1&busy=true')).body).toEqual({
        count: 3,
      });
    });

    it('filters by each field and by all filters together', async () => {
      const second = await createCalendar({ name: 'second' });
      const a = await create({
        title: 'Alpha 100%',
        description: 'first_thing',
        location: 'Berlin',
        when: WHEN,
        participants: [{ ...BO, status: 'yes' }],
        customer_event_id: 'c-1',
        metadata: { team: 'sales' },
      });
      await create({
        calendar_id: second,
        title: 'Beta 100',
        description: 'firstXthing',
        location: 'Bonn',
        when: { start_time: START + 3600, end_time: START + 7200 },
        busy: false,
        participants: [{ email: 'cy@example.test', name: 'Cy Twombly' }],
      });
      const A = ['Alpha 100%'];
      const B = ['Beta 100'];
      const expectations: [string, string[]][] = [
        [`calendar_id=${second}`, B],
        [`calendar_id=${UNKNOWN}`, []],
        ['calendar_id=nonsense', []],
        [`event_id=${a.id}`, A],
        ['event_id=nonsense', []],
        ['title=ALPHA', A],
        ['title=100%25', A],
        ['title=100', [...A, ...B]],
        ['title=%5C', []],
        ['description=first_t', A],
        ['location=bO', B],
        ['participants=BO@example.test', A],
        ['participants=cy%20twombly', B],
        ['participants=yes', A],
        ['participants=%2B15550100', A],
        ['participants=bo@example', []],
        ['busy=FALSE', B],
        ['busy=true', A],
        [`starts_after=${START}`, B],
        [`starts_after=${START - 1}`, [...A, ...B]],
        [`starts_before=${START + 3600}`, A],
        [`starts_before=${START}`, []],
        [`ends_after=${START + 3600}`, B],
        [`ends_before=${START + 7200}`, A],
        [`starts_after=${START - 1}&ends_before=${START + 3601}`, A],
        ['customer_event_id=c-1', A],
        ['metadata_pair=team:sales', A],
        ['metadata_key=team&metadata_search=none', B],
        ['title=alpha&location=bonn', []],
        [`updated_at_after=${Math.floor(Date.now() / 1000) - 3600}`, [...A, ...B]],
        [`updated_at_before=${Math.floor(Date.now() / 1000) - 3600}`, []],
        ['show_cancelled=true&expand_recurring=false', [...A, ...B]],
        ['includeTypes=x', [...A, ...B]],
      ];
      for (const [filter, expected] of expectations)
        expect([filter, await titles(filter)]).toEqual([filter, expected]);
    });

    it('lists the instances of recurring events among the other events, ordered by start and in pages', async () => {
      const at = (text: string) => Date.parse(text) / 1000;
      const weekly = await create({
        title: 'weekly',
        when: { start_time: at('2030-03-25T08:00:00Z'), end_time: at('2030-03-25T09:00:00Z') },
        recurrence: {
          rrule: ['RRULE:FREQ=WEEKLY', 'EXDATE:20300408T070000Z'],
          timezone: 'Europe/Berlin',
        },
      });
      await create({ title: 'single', when: { time: at('2030-04-02T12:00:00Z') } });
      await create({
        title: 'daily',
        when: { date: '2030-03-30' },
        recurrence: { rrule: ['RRULE:FREQ=DAILY;COUNT=2'] },
      });
      const window = `expand_recurring=true&starts_after=${at('2030-03-26T00:00:00Z')}&starts_before=${at('2030-04-16T00:00:00Z')}`;
      const { body } = await call('get', `/events?${window}`);
      expect(
        body.map(
          ({ title, when }: { title: string; when: { start_time?: number; date?: string } }) =>
            [
              title,
              when.start_time ? new Date(when.start_time * 1000).toISOString() : when.date,
            ].join(' '),
        ),
      ).toEqual([
        'daily 2030-03-30',
        'daily 2030-03-31',
        // Daylight saving time in Berlin began after the first instance.
        'weekly 2030-04-01T07:00:00.000Z',
        'single ',
        'weekly 2030-04-15T07:00:00.000Z',
      ]);
      const ids = body.map(({ id }: { id: string }) => id);
      expect((await call('get', `/events?${window}&view=ids&limit=2&offset=1`)).body).toEqual(
        ids.slice(1, 3),
      );
      expect((await call('get', `/events?${window}&view=count`)).body).toEqual({ count: 5 });
      expect(body[2]).toMatchObject({
        id: `${weekly.id}_20300401T070000Z`,
        master_event_id: weekly.id,
        original_start_time: at('2030-04-01T07:00:00Z'),
      });
      expect((await call('get', `/events/${ids[2]}`)).body).toEqual(body[2]);
      expect((await call('get', `/events/${ids[2]}/notifications`)).body).toEqual([]);
      for (const [stamp, status] of [
        ['20300408T070000Z', 404],
        ['20300401T080000Z', 404],
      ])
        expect((await call('get', `/events/${weekly.id}_${stamp}`)).status).toBe(status);
      expect(
        (await call('get', `/events/${ids[2]}`, await createAccount(server.app, application)))
          .status,
      ).toBe(404);
      // Without bounds, instances are listed for one year from now, which is before these events.
      expect((await call('get', '/events?expand_recurring=true&view=count')).body).toEqual({
        count: 1,
      });
    });

    it('lists a changed instance under its own id', async () => {
      const when = { time: Date.parse('2030-03-25T08:00:00Z') / 1000 };
      const series = await create({
        title: 'series',
        when,
        recurrence: { rrule: ['RRULE:FREQ=DAILY;COUNT=3'] },
      });
      const changed = await create({ title: 'changed', when: { time: when.time + 90_000 } });
      await rowsOf(
        server,
        'update event set master_event_id = $2, original_start = to_timestamp($3) where id = $1',
        [changed.id, series.id, when.time + 86_400],
      );
      const bounds = `expand_recurring=true&starts_before=${when.time + 1_000_000}`;
      expect(await titles(bounds)).toEqual(['series', 'changed', 'series']);
      expect((await call('get', `/events/${series.id}_20300326T080000Z`)).body.id).toBe(changed.id);
    });

    it.each([
      ['RRULE:FREQ=SECONDLY', 'FREQ=SECONDLY needs COUNT or UNTIL'],
      ['RRULE:FREQ=SECONDLY;UNTIL=20990101T000000Z', 'takes too long'],
      ['RRULE:FREQ=MINUTELY;COUNT=100000', 'takes too long'],
      ['RRULE:FREQ=DAILY;X=1\nSUMMARY:x', 'must start with RRULE'],
      ['RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', 'recurrence.rrule: '],
      ['RRULE:FREQ=DAILY;BYHOUR=25', 'recurrence.rrule: '],
      ['RRULE:FREQ=DAILY;UNTIL=tomorrow', 'is not a date'],
    ])('refuses the rule %s', async (rule, words) => {
      const response = await call('post', '/events').send({
        calendar_id: calendar,
        when: { time: START },
        recurrence: { rrule: [rule] },
      });
      expect([response.status, response.body.message]).toEqual([
        400,
        expect.stringContaining(words),
      ]);
    });

    it('compares the time of a change in whole seconds, as the API shows it', async () => {
      const { id } = await create({ title: 'x' });
      const { updated_at: at } = (await call('get', `/events/${id}`)).body;
      expect(await titles(`updated_at_after=${at}`)).toEqual([]);
      expect(await titles(`updated_at_after=${at - 1}`)).toEqual(['x']);
      expect(await titles(`updated_at_before=${at}`)).toEqual([]);
      expect(await titles(`updated_at_before=${at + 1}`)).toEqual(['x']);
    });

    it.each([
      ['busy=yes', 400],
      ['starts_after=tomorrow', 400],
      ['starts_before=-1', 400],
      ['limit=1001', 400],
      ['limit=x', 400],
      ['view=other', 400],
      ['show_cancelled=1', 400],
      [`title=${'x'.repeat(256)}`, 400],
      ['title=%00', 400],
      ['metadata_pair=x', 400],
      ['expand_recurring=maybe', 400],
      ['expand_recurring=true&offset=20000', 400],
    ])('?%s answers %i', async (filter, status) => {
      const response = await call('get', `/events?${filter}`);
      expect(response.status).toBe(status);
      expect(response.body).toEqual({
        message: expect.any(String),
        type: 'invalid_request_error',
      });
    });
  });

  it.each([
    ['get', ''],
    ['get', '/notifications'],
    ['put', ''],
    ['patch', ''],
    ['post', ''],
    ['delete', ''],
  ] as [Method, string][])(
    '%s {id}%s answers 404 for ids that are unknown, malformed or of another account',
    async (method, rest) => {
      const bo = await createAccount(server.app, application);
      const theirs = await createCalendar({ name: 'Bo' }, bo);
      const foreign = await create({ calendar_id: theirs, title: 'Bo' }, bo);
      const before = await stateOf(foreign.id);
      for (const id of [UNKNOWN, 'x', '%00', 'a'.repeat(300), foreign.id]) {
        const body = ['put', 'patch', 'post'].includes(method) ? { title: 'mine now' } : undefined;
        const response = await call(method, `/events/${id}${rest}`).send(body);
        expect([id, response.status]).toEqual([id, 404]);
        expect(response.body.message).toMatch(/^Couldn't find event /);
      }
      expect(await stateOf(foreign.id)).toEqual(before);
    },
  );

  describe.each(['put', 'patch', 'post'] as const)('%s {id}', (method) => {
    it('changes the given fields and keeps the rest', async () => {
      const {
        id,
        job_status_id: first,
        ...before
      } = await create({ title: 'a', description: 'b', participants: [BO] });
      const response = await call(method, `/events/${id}`).send({
        title: 'new',
        when: { time: String(START) },
      });
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        ...before,
        id,
        title: 'new',
        when: { object: 'time', time: START, timezone: 'UTC' },
        updated_at: expect.any(Number),
        job_status_id: expect.any(String),
      });
      expect(response.body.job_status_id).not.toBe(first);
    });

    it.each([
      {},
      { title: null },
      { status: 'cancelled', owner: 'x' },
      { title: 'old' },
      { recurrence: {}, conferencing: {} },
      { reminders: {} },
      { reminders: { reminder_minutes: 20, reminder_method: 'popup' } },
      { metadata: { a: 'b' } },
    ])(
      'has no effect with %j, which changes nothing: its job is successful at once',
      async (body) => {
        const { id } = await create({
          title: 'old',
          reminder_minutes: '[20,10]',
          metadata: { a: 'b' },
          notifications: [HOOK],
        });
        const before = await stateOf(id);
        const shown = await call('get', `/events/${id}`);
        const response = await call(method, `/events/${id}`).send(body);
        const { job_status_id: jobId, ...rest } = response.body;
        expect([response.status, rest]).toEqual([200, shown.body]);
        expect(await stateOf(id)).toEqual(before);
        expect((await call('get', `/job-statuses/${jobId}`)).body).toMatchObject({
          job_status_id: jobId,
          id,
          action: 'update_event',
          object: 'event',
          status: 'successful',
        });
      },
    );

    it.each([
      [{ reminders: { reminder_minutes: 10, reminder_method: 'email' } }, 10, 'email'],
      [{ reminders: { reminder_minutes: '10' } }, 10, 'popup'],
      [{ reminder_minutes: '[10]' }, 10, 'popup'],
      [{ reminder_minutes: 10 }, 10, 'popup'],
      [{ reminder_minutes: '[]' }, null, 'popup'],
      [{ reminder_minutes: -1, reminders: { reminder_minutes: 5 } }, -1, 'popup'],
    ])('sets the popup reminder with %j', async (body, minutes, how) => {
      const { id } = await create({ reminder_minutes: '[20]' });
      const response = await call(method, `/events/${id}`).send(body);
      expect(response.body.reminders).toEqual({ reminder_minutes: minutes, reminder_method: how });
    });

    it.each([
      [{ when: { start_time: 5 } }, /^when: When object had invalid keys/],
      [{ busy: 'x' }, 'busy: must be true or false'],
      [{ calendar_id: UNKNOWN }, 'calendar_id: an event cannot be moved to another calendar'],
      [{ capacity: 0 }, /^capacity: the event has 1 participants/],
      [
        { notifications: [SMS, EMAIL], participants: [{ email: 'c@example.test' }] },
        /missing for: c@example\.test$/,
      ],
    ])('refuses %j and changes nothing', async (body, message) => {
      const { id } = await create({ participants: [BO] });
      const before = await stateOf(id);
      const response = await call(method, `/events/${id}`).send(body);
      expect(response.status).toBe(400);
      expect(response.body.message).toEqual(
        typeof message === 'string' ? message : expect.stringMatching(message),
      );
      expect(await stateOf(id)).toEqual(before);
    });
  });

  it('accepts what the official client sends back after reading an event', async () => {
    const created = await create({
      title: 'a',
      participants: [
        { ...BO, status: 'yes' },
        { email: 'cy@example.test', status: 'no' },
      ],
    });
    // As nylas 6.11 sends the event: null texts as "", participants without a status, text/plain.
    const echo = {
      calendar_id: calendar,
      event_collection_id: '',
      title: 'b',
      description: '',
      participants: [
        { name: 'Bo', email: BO.email, comment: '', phone_number: BO.phone_number },
        { name: 'cy@example.test', email: 'cy@example.test', comment: '', phone_number: '' },
      ],
      read_only: false,
      location: '',
      when: { start_time: START, end_time: START + 3600 },
      busy: true,
      recurrence: null,
      capacity: null,
      conferencing: null,
      round_robin_order: [],
      metadata: {},
      hide_participants: false,
      customer_event_id: '',
    };
    const response = await call('put', `/events/${created.id}`)
      .type('text/plain')
      .send(JSON.stringify(echo));
    expect(response.status).toBe(200);
    const { job_status_id: _job, updated_at: _at, ...expected } = created;
    expect(response.body).toMatchObject({
      ...expected,
      title: 'b',
      participants: [
        { email: BO.email, status: 'yes', phone_number: BO.phone_number, comment: null },
        { email: 'cy@example.test', status: 'no', phone_number: null, comment: null },
      ],
    });
  });

  it('refuses every change in a read_only calendar', async () => {
    const { id } = await create();
    await query('update calendar set read_only = true where id = $1', calendar);
    const before = await stateOf(id);
    for (const response of [
      await call('put', `/events/${id}`).send({ title: 'x' }),
      await call('delete', `/events/${id}`),
    ])
      expect([response.status, response.body.message]).toEqual([
        400,
        "Can't create, change or delete events on a read_only calendar.",
      ]);
    expect(await stateOf(id)).toEqual(before);
  });

  it('lets the account that created a read_only event change it, make it writable and delete it', async () => {
    const { id } = await create({
      read_only: true,
      recurrence: { rrule: ['RRULE:FREQ=DAILY;COUNT=2'] },
    });
    const renamed = await call('put', `/events/${id}`).send({ title: 'x', read_only: true });
    expect([renamed.status, renamed.body]).toEqual([
      200,
      expect.objectContaining({ title: 'x', read_only: true }),
    ]);
    const { body: instances } = await call(
      'get',
      `/events?expand_recurring=true&starts_after=${START}`,
    );
    const moved = await call('put', `/events/${instances[0].id}`).send({ location: 'Room 2' });
    expect([moved.status, moved.body.read_only]).toEqual([200, true]);
    const writable = await call('put', `/events/${id}`).send({ read_only: false });
    expect(writable.body.read_only).toBe(false);
    expect((await call('get', `/events/${id}`)).body.read_only).toBe(false);
    const other = await create({ read_only: true });
    expect((await call('delete', `/events/${other.id}`)).status).toBe(200);
    expect((await call('get', `/events/${other.id}`)).body.status).toBe('cancelled');
    const refused = await call('put', `/events/${id}`).send({ read_only: 'x' });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      'read_only: must be true or false',
    ]);
  });

  it('still returns a cancelled event, lists it on request, and accepts a deletion but no change', async () => {
    const { id } = await create({ title: 'gone' });
    const response = await call('delete', `/events/${id}`).type('text/plain').send('{}');
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ job_status_id: expect.any(String) });
    expect((await call('get', `/events/${id}`)).body.status).toBe('cancelled');
    expect(await titles('')).toEqual([]);
    expect(await titles('show_cancelled=true')).toEqual(['gone']);
    const change = await call('put', `/events/${id}`).send({ title: 'back' });
    expect([change.status, change.body.type]).toEqual([409, 'invalid_request_error']);
    const deleted = await query('select * from event where id = $1', id);
    expect((await call('delete', `/events/${id}`)).status).toBe(200);
    expect(await query('select * from event where id = $1', id)).toEqual(deleted);
    const changes = await query<{ event: string }>(
      'select event from change where object_id = $1 order by seq',
      id,
    );
    expect(changes.map(({ event }) => event)).toEqual(['create', 'delete']);
  });

  it('sends a webhook for every change except one of metadata alone or one that changes nothing', async () => {
    await query(
      `insert into webhook (id, application_id, callback_url, triggers, state, subscribed_at, created_at, updated_at)
       values (gen_random_uuid(), $1, 'http://127.0.0.1:9/', '{event.created,event.updated,event.deleted}', 'active', now(), now(), now())`,
      application.id,
    );
    const { id } = await create({ title: 'a', metadata: { a: '1' } });
    await call('put', `/events/${id}`).send({ metadata: { a: '2' } });
    await call('put', `/events/${id}`).send({ title: 'a' });
    await call('put', `/events/${id}`).send({ title: 'b' });
    await call('delete', `/events/${id}`);
    const other = await create({ title: 'in the calendar' });
    await call('delete', `/calendars/${calendar}`);
    const webhookEvents = await query<{ body: Buffer }>(
      `select body from webhook_event where type like 'event.%' order by id`,
    );
    const attributes = { calendar_id: calendar, created_before_account_connection: false };
    expect(webhookEvents.map(({ body }) => JSON.parse(body.toString()).deltas[0])).toMatchObject([
      {
        type: 'event.created',
        object: 'event',
        object_data: { id, account_id: ada.id, attributes, metadata: { a: '1' } },
      },
      { type: 'event.updated', object_data: { id, attributes, metadata: { a: '2' } } },
      { type: 'event.deleted', object_data: { id, attributes } },
      { type: 'event.created', object_data: { id: other.id } },
      { type: 'event.deleted', object_data: { id: other.id, attributes } },
    ]);
    const changes = await query<{ event: string }>(
      'select event from change where object_id = $1 order by seq',
      id,
    );
    expect(changes.map(({ event }) => event)).toEqual(['create', 'modify', 'modify', 'delete']);
    expect((await call('get', `/events/${other.id}`)).status).toBe(404);
  });

  it('moves all-day events and their reminders when the time zone of the calendar changes', async () => {
    const { id } = await create({ when: { date: '2030-07-15' }, notifications: [HOOK] });
    const timed = await create({ when: WHEN });
    await call('put', `/calendars/${calendar}`).send({ timezone: 'America/New_York' });
    const [event] = await query('select starts_at, ends_at from event where id = $1', id);
    expect(event).toEqual({
      starts_at: new Date('2030-07-15T04:00:00Z'),
      ends_at: new Date('2030-07-16T04:00:00Z'),
    });
    expect((await stateOf(id)).reminders).toMatchObject([
      { status: 'scheduled', due_at: new Date('2030-07-15T03:30:00Z') },
    ]);
    const [other] = await query('select starts_at from event where id = $1', timed.id);
    expect(other).toEqual({ starts_at: new Date(START * 1000) });
  });

  it('keeps every change when many arrive at once', async () => {
    const { id } = await create({ title: 'a' });
    const fields = ['title', 'description', 'location', 'customer_event_id', 'event_collection_id'];
    const responses = await Promise.all(
      fields.map((field) => call('put', `/events/${id}`).send({ [field]: 'changed' })),
    );
    expect(responses.map(({ status }) => status)).toEqual(fields.map(() => 200));
    const event = (await call('get', `/events/${id}`)).body;
    expect(fields.map((field) => event[field])).toEqual(fields.map(() => 'changed'));
  });

  it('leaves no event behind when events are created while their calendar is deleted', async () => {
    const attempts = Array.from({ length: 6 }, () =>
      call('post', '/events').send({ calendar_id: calendar, when: WHEN }),
    );
    const [deletion, ...creations] = await Promise.all([
      call('delete', `/calendars/${calendar}`),
      ...attempts,
    ]);
    expect(deletion?.status).toBe(200);
    for (const { status } of creations) expect([200, 400]).toContain(status);
    expect((await call('get', '/events?view=count&show_cancelled=true')).body).toEqual({
      count: 0,
    });
  });
});
