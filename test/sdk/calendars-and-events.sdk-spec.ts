import { createRequire } from 'node:module';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { deliver } from '../support/deliver.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

// The official client is CommonJS with static state and outdated types. These interfaces describe
// only what the tests use.
interface SdkCalendar {
  id: string;
  name: string;
  description: string;
  timezone: string;
  jobStatusId: string;
  save(): Promise<SdkCalendar>;
}
interface SdkEvent {
  id: string;
  title: string;
  jobStatusId: string;
  iCalUID: string;
  when: { startTime?: number; endTime?: number; time?: number; date?: string; object?: string };
  participants: { name?: string; email: string; status?: string; phoneNumber?: string }[];
  notifications?: { type: string; minutesBeforeEvent: number }[];
  metadata: Record<string, string>;
  messageId?: string;
  save(options?: object): Promise<SdkEvent>;
  rsvp(status: string, comment: string): Promise<SdkEvent>;
  generateICS(options?: { iCalUID?: string; prodId?: string; method?: string }): Promise<string>;
}
interface Collection<T> {
  list(filters?: object): Promise<T[]>;
  count(filters?: object): Promise<number>;
  find(id: string): Promise<T>;
  delete(id: string): Promise<{ job_status_id: string }>;
}
interface Slots {
  timeSlots: { status: string; startTime: number; endTime: number; emails?: string[] }[];
}
interface Meeting {
  startTime: number;
  endTime: number;
  emails?: string[];
  calendars?: { accountId: string; calendarIds: string[] }[];
}
interface Calendars extends Collection<SdkCalendar> {
  freeBusy(options: Meeting): Promise<({ email: string } & Slots)[]>;
  availability(
    options: Meeting & {
      duration: number;
      interval: number;
      roundRobin?: string;
      openHours?: object[];
      freeBusy?: object[];
    },
  ): Promise<{ order?: string[] } & Slots>;
}
interface Room {
  email: string;
  name: string;
  capacity: string;
  floorName: string;
}
interface Sdk {
  config(options: object): void;
  with(token: string): {
    calendars: Calendars;
    events: Collection<SdkEvent>;
    messages: Collection<{ events: SdkEvent[] }>;
    resources: Collection<Room>;
    account: { get(): Promise<{ emailAddress: string }> };
  };
}
const require = createRequire(import.meta.url);
const Nylas = require('nylas') as Sdk;
const Calendar = (
  require('nylas/lib/models/calendar') as {
    default: new (client: object, fields: object) => SdkCalendar;
  }
).default;
const Event = (
  require('nylas/lib/models/event') as { default: new (client: object, fields: object) => SdkEvent }
).default;

const START = 1_900_000_000;

describe('nylas 6: calendars and events', () => {
  let server: TestApp;
  let application: TestApplication;
  let client: ReturnType<Sdk['with']>;
  let calendar: SdkCalendar;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    application = await createApplication(server.app);
    Nylas.config({
      clientId: application.clientId,
      clientSecret: application.clientSecret,
      apiServer: server.url,
    });
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    client = Nylas.with((await createAccount(server.app, application)).token);
    calendar = await new Calendar(client, { name: 'Team', timezone: 'Europe/Berlin' }).save();
  });

  const newEvent = (fields: object = {}) =>
    new Event(client, {
      calendarId: calendar.id,
      title: 'Review',
      when: { startTime: START, endTime: START + 3600 },
      participants: [{ name: 'Bo', email: 'bo@example.test', phoneNumber: '+15550100' }],
      ...fields,
    }).save();

  it('creates, reads, changes and deletes a calendar', async () => {
    expect(calendar).toMatchObject({
      id: expect.any(String),
      jobStatusId: expect.any(String),
      timezone: 'Europe/Berlin',
    });
    const read = await client.calendars.find(calendar.id);
    read.description = 'Ours';
    expect(await read.save()).toMatchObject({
      name: 'Team',
      description: 'Ours',
      timezone: 'Europe/Berlin',
    });
    expect((await client.calendars.list()).map(({ name }) => name)).toEqual(['Team']);
    expect(await client.calendars.count()).toBe(1);
    expect(await client.calendars.delete(calendar.id)).toMatchObject({
      job_status_id: expect.any(String),
    });
    expect(await client.calendars.count()).toBe(0);
  });

  it('saves an event that it has read, without losing a field', async () => {
    const { id } = await newEvent({
      metadata: { team: 'sales' },
      notifications: [
        {
          type: 'webhook',
          minutesBeforeEvent: 10,
          url: 'https://hooks.example.test/',
          payload: 'p',
        },
      ],
    });
    const before = await client.events.find(id);
    before.title = 'Moved';
    before.when.startTime = START + 60;
    await before.save();
    expect(await client.events.find(id)).toMatchObject({
      title: 'Moved',
      when: { startTime: START + 60, endTime: START + 3600 },
      participants: [
        { name: 'Bo', email: 'bo@example.test', phoneNumber: '+15550100', status: 'noreply' },
      ],
      notifications: [{ type: 'webhook', minutesBeforeEvent: 10 }],
      metadata: { team: 'sales' },
    });
  });

  it('saves a recurring event that it has read', async () => {
    const { id } = await newEvent({
      recurrence: { rrule: ['RRULE:FREQ=WEEKLY'], timezone: 'UTC' },
    });
    const read = await client.events.find(id);
    read.title = 'Weekly';
    expect(await read.save()).toMatchObject({
      title: 'Weekly',
      recurrence: { rrule: ['RRULE:FREQ=WEEKLY'], timezone: 'UTC' },
    });
  });

  it('lists events in pages and with filters, counts and deletes them', async () => {
    for (let index = 0; index < 3; index += 1)
      await newEvent({ title: `Review ${index}`, when: { time: START + index } });
    expect((await client.events.list({ starts_after: START })).map(({ title }) => title)).toEqual([
      'Review 1',
      'Review 2',
    ]);
    expect(await client.events.count({ title: 'review' })).toBe(3);
    const [first] = await client.events.list({ limit: 1 });
    expect(await client.events.delete(first?.id ?? '')).toMatchObject({
      job_status_id: expect.any(String),
    });
    expect(await client.events.count()).toBe(2);
  });

  it('saves an event with and without notifying the participants', async () => {
    const account = await createAccount(server.app, application);
    const own = Nylas.with(account.token);
    const { id: calendarId } = await new Calendar(own, { name: 'Team' }).save();
    const participants = [{ name: 'Bo', email: 'bo@sandbox.test' }];
    const saved = await new Event(own, {
      calendarId,
      title: 'Review',
      when: { time: START },
      participants,
    }).save({ notify_participants: true });
    const invitations = async () => {
      const answer = await fetch(`${server.url}/events/${saved.id}/invitations`, {
        headers: account.bearer,
      });
      return ((await answer.json()) as { email: string; kind: string; sequence: number }[]).map(
        ({ email, kind, sequence }) => `${kind} ${email} ${sequence}`,
      );
    };
    expect(await invitations()).toEqual(['invite bo@sandbox.test 0']);
    saved.title = 'Retro';
    await saved.save();
    expect(await invitations()).toEqual(['invite bo@sandbox.test 0']);
    saved.title = 'Planning';
    await saved.save({ notify_participants: true });
    expect(await invitations()).toEqual(['update bo@sandbox.test 1', 'invite bo@sandbox.test 0']);
  });

  it('generates calendar files for saved and unsaved events', async () => {
    const saved = await newEvent();
    expect(await saved.generateICS()).toMatch(/^BEGIN:VCALENDAR\r\n[^]*\r\nSUMMARY:Review\r\n/);
    const unsaved = new Event(client, {
      calendarId: calendar.id,
      title: 'Soon',
      when: { date: '2030-01-01' },
    });
    const ics = await unsaved.generateICS({
      iCalUID: 'own@example.test',
      prodId: '-//Own//EN',
      method: 'add',
    });
    for (const line of [
      'METHOD:ADD',
      'UID:own@example.test',
      'PRODID:-//Own//EN',
      'SUMMARY:Soon',
      'DTSTART;VALUE=DATE:20300101',
    ])
      expect(ics.split('\r\n')).toContain(line);
  });

  it('finds invitations in messages, and responds to them', async () => {
    const account = await createAccount(server.app, application);
    const lines = [
      'UID:sdk',
      'DTSTART:20300601T100000Z',
      'DTSTAMP:20260101T000000Z',
      'ORGANIZER:mailto:zoe@elsewhere.test',
    ];
    const ics = [
      'BEGIN:VCALENDAR',
      'METHOD:REQUEST',
      'BEGIN:VEVENT',
      ...lines,
      `ATTENDEE:mailto:${account.email}`,
      'END:VEVENT',
      'END:VCALENDAR',
      '',
    ];
    await deliver(server, account, ['Content-Type: text/calendar; method=REQUEST', '', ...ics]);
    await syncAccount(server.app, server.app.get(MailboxSyncDispatcher), account.id);
    const [event] = await Nylas.with(account.token).events.list();
    expect(event).toMatchObject({ messageId: expect.any(String), iCalUID: 'sdk' });
    const message = await Nylas.with(account.token).messages.find(event?.messageId ?? '');
    expect(message.events).toEqual([event]);
    const answered = await message.events[0]?.rsvp('maybe', 'Perhaps');
    expect(answered).toMatchObject({
      id: event?.id,
      participants: [{ email: account.email, status: 'maybe' }],
    });
  });

  it('asks for free and busy times and availability, and lists rooms', async () => {
    const account = await createAccount(server.app, application);
    const { calendars, resources } = Nylas.with(account.token);
    await newEvent({ participants: [] });
    const owner = (await client.account.get()).emailAddress;
    const hours = { startTime: START - 3600, endTime: START + 7200 };
    const [found, ...more] = await calendars.freeBusy({ ...hours, emails: [owner] });
    expect([found, more]).toMatchObject([
      { email: owner, timeSlots: [{ status: 'busy', startTime: START, endTime: START + 3600 }] },
      [],
    ]);
    const question = { ...hours, emails: [owner, account.email], duration: 60, interval: 60 };
    const openHours = {
      emails: [owner],
      days: [0, 1, 2, 3, 4, 5, 6],
      timezone: 'UTC',
      start: '0:00',
      end: '24:00',
    };
    const outsider = {
      email: 'x@example.test',
      timeSlots: [{ status: 'busy', startTime: START - 60, endTime: START }],
    };
    const times = async (options: object = {}) => {
      const { timeSlots, order } = await calendars.availability({ ...question, ...options });
      return { starts: timeSlots.map(({ startTime }) => (startTime - START) / 3600), order };
    };
    expect(await times({ openHours: [openHours] })).toMatchObject({ starts: [-1, 1] });
    expect(await times({ freeBusy: [outsider] })).toMatchObject({ starts: [1] });
    expect(await times({ roundRobin: 'max-availability' })).toEqual({
      starts: [-1, 0, 1],
      order: [owner, account.email],
    });
    await server.app.get(Database).query('update "grant" set metadata = $2 where id = $1', [
      account.id,
      JSON.stringify({
        room: true,
        room_name: 'Aquarium',
        room_capacity: 8,
        room_floor_name: 'Ground floor',
      }),
    ]);
    expect(await resources.list()).toMatchObject([
      { email: account.email, name: 'Aquarium', capacity: '8', floorName: 'Ground floor' },
    ]);
  });

  it("reads the server's errors", async () => {
    await expect(
      newEvent({ when: { startTime: START + 1, endTime: START } }),
    ).rejects.toMatchObject({
      statusCode: 400,
      type: 'invalid_request_error',
      message: expect.stringContaining("'start_time' must be < 'end_time'."),
    });
    await expect(client.events.find('nonsense')).rejects.toMatchObject({ statusCode: 404 });
  });
});
