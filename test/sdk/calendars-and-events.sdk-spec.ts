import { createRequire } from 'node:module';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

// The official client is CommonJS with static state and types of its own era: what is used of it is described here.
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
  save(options?: object): Promise<SdkEvent>;
}
interface Collection<T> {
  list(filters?: object): Promise<T[]>;
  count(filters?: object): Promise<number>;
  find(id: string): Promise<T>;
  delete(id: string): Promise<{ job_status_id: string }>;
}
interface Sdk {
  config(options: object): void;
  with(token: string): { calendars: Collection<SdkCalendar>; events: Collection<SdkEvent> };
}
const require = createRequire(import.meta.url);
const Nylas = require('nylas') as Sdk;
const Calendar = (
  require('nylas/lib/models/calendar') as { default: new (client: object, fields: object) => SdkCalendar }
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
    expect(await read.save()).toMatchObject({ name: 'Team', description: 'Ours', timezone: 'Europe/Berlin' });
    expect((await client.calendars.list()).map(({ name }) => name)).toEqual(['Team']);
    expect(await client.calendars.count()).toBe(1);
    expect(await client.calendars.delete(calendar.id)).toMatchObject({ job_status_id: expect.any(String) });
    expect(await client.calendars.count()).toBe(0);
  });

  it('saves an event again after reading it, and nothing is lost', async () => {
    const { id } = await newEvent({
      metadata: { team: 'sales' },
      notifications: [
        { type: 'webhook', minutesBeforeEvent: 10, url: 'https://hooks.example.test/', payload: 'p' },
      ],
    });
    const before = await client.events.find(id);
    before.title = 'Moved';
    before.when.startTime = START + 60;
    await before.save();
    expect(await client.events.find(id)).toMatchObject({
      title: 'Moved',
      when: { startTime: START + 60, endTime: START + 3600 },
      participants: [{ name: 'Bo', email: 'bo@example.test', phoneNumber: '+15550100', status: 'noreply' }],
      notifications: [{ type: 'webhook', minutesBeforeEvent: 10 }],
      metadata: { team: 'sales' },
    });
  });

  it('saves a recurring event again after reading it', async () => {
    const { id } = await newEvent({ recurrence: { rrule: ['RRULE:FREQ=WEEKLY'], timezone: 'UTC' } });
    const read = await client.events.find(id);
    read.title = 'Weekly';
    expect(await read.save()).toMatchObject({
      title: 'Weekly',
      recurrence: { rrule: ['RRULE:FREQ=WEEKLY'], timezone: 'UTC' },
    });
  });

  it('lists by pages and filters, counts and deletes', async () => {
    for (let index = 0; index < 3; index += 1)
      await newEvent({ title: `Review ${index}`, when: { time: START + index } });
    expect((await client.events.list({ starts_after: START })).map(({ title }) => title)).toEqual([
      'Review 1',
      'Review 2',
    ]);
    expect(await client.events.count({ title: 'review' })).toBe(3);
    const [first] = await client.events.list({ limit: 1 });
    expect(await client.events.delete(first?.id ?? '')).toMatchObject({ job_status_id: expect.any(String) });
    expect(await client.events.count()).toBe(2);
  });

  it('reads our errors', async () => {
    await expect(newEvent({ when: { startTime: START + 1, endTime: START } })).rejects.toMatchObject({
      statusCode: 400,
      type: 'invalid_request_error',
      message: expect.stringContaining("'start_time' must be < 'end_time'."),
    });
    await expect(client.events.find('nonsense')).rejects.toMatchObject({ statusCode: 404 });
  });
});
