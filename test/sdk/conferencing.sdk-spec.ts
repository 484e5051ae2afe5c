import { createRequire } from 'node:module';
import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

// The official client is CommonJS with static state and outdated types. These interfaces describe
// only what the tests use.
interface SdkEvent {
  id: string;
  title: string;
  description: string;
  conferencing?: { provider: string; details?: { url: string }; autocreate?: object };
  save(): Promise<SdkEvent>;
}
interface SdkCalendar {
  id: string;
  name: string;
  isPrimary: boolean;
  description: string;
  save(): Promise<SdkCalendar>;
}
interface Sdk {
  config(options: object): void;
  connect: {
    authorize(options: object): Promise<{ code: string }>;
    token(code: string): Promise<{ accessToken: string; provider: string; emailAddress: string }>;
  };
  with(token: string): {
    calendars: { list(): Promise<SdkCalendar[]>; find(id: string): Promise<SdkCalendar> };
    events: { find(id: string): Promise<SdkEvent> };
  };
}
type Model<T> = { default: new (client: object, fields: object) => T };
const require = createRequire(import.meta.url);
const Nylas = require('nylas') as Sdk;
const { VirtualCalendar } = require('nylas/lib/models/connect') as {
  VirtualCalendar: new (fields: object) => object;
};
const Event = (require('nylas/lib/models/event') as Model<SdkEvent>).default;
const Calendar = (require('nylas/lib/models/calendar') as Model<SdkCalendar>).default;

describe('nylas 6: virtual calendars and conferencing', () => {
  let server: TestApp;
  let application: TestApplication;
  let client: ReturnType<Sdk['with']>;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    const { clientId, clientSecret } = application;
    Nylas.config({ clientId, clientSecret, apiServer: server.url });
    const calendar = new VirtualCalendar({
      clientId,
      name: 'Room 1',
      emailAddress: 'room@example.test',
    });
    const { code } = await Nylas.connect.authorize(calendar);
    const account = await Nylas.connect.token(code);
    expect(account).toMatchObject({ provider: 'nylas', emailAddress: 'room@example.test' });
    client = Nylas.with(account.accessToken);
    await request(server.url)
      .put(`/a/${application.clientId}/conferencing`)
      .set(application.secretBasic)
      .send({
        provider: 'Google Meet',
        kind: 'link',
        settings: { url_template: 'https://meet.example.test/{room}' },
      })
      .expect(200);
  });
  afterAll(() => server.close());

  it('lists the primary calendar of a virtual account, creates another calendar and saves it as it was read', async () => {
    expect(await client.calendars.list()).toMatchObject([
      { name: 'room@example.test', isPrimary: true },
    ]);
    const { id } = await new Calendar(client, { name: 'Bookings' }).save();
    const read = await client.calendars.find(id);
    read.description = 'By the window';
    await read.save();
    expect(await client.calendars.find(id)).toMatchObject({
      name: 'Bookings',
      description: 'By the window',
    });
  });

  it('receives the details of a requested meeting, and keeps them when it saves the event as it was read', async () => {
    const [calendar] = await client.calendars.list();
    const event = new Event(client, {
      calendarId: calendar?.id,
      title: 'Standup',
      when: { startTime: 1_900_000_000, endTime: 1_900_000_900 },
      conferencing: { provider: 'Google Meet', autocreate: { settings: {} } },
    });
    const { id } = await event.save();
    const made = await until('the meeting', async () => {
      const read = await client.events.find(id);
      return read.conferencing?.details?.url ? read : undefined;
    });
    const url = made.conferencing?.details?.url;
    expect(url).toMatch(/^https:\/\/meet\.example\.test\/[0-9a-z]{25}$/);
    made.title = 'Standup, moved';
    await made.save();
    const again = await client.events.find(id);
    expect(again).toMatchObject({ title: 'Standup, moved', conferencing: { details: { url } } });
  });
});
