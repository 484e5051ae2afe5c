import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import type { HostedCalendars } from '../support/hosted-calendars.ts';
import { HostedAccount, hostCalendars } from '../support/hosted-world.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const MEET = 'Google Meet';
const when = { start_time: 1_900_058_400, end_time: 1_900_062_000 };
const autocreate = { provider: MEET, autocreate: {} };
const url = expect.stringMatching(/^https:\/\/meet\.hosted\.test\//);

describe('meetings that the calendar provider creates with events', () => {
  let server: TestApp;
  let application: TestApplication;
  let calendars: HostedCalendars;
  let ada: HostedAccount;

  beforeAll(async () => {
    server = await startTestApp();
  });
  afterAll(() => server.close());

  async function connect(pendingMeetings = false) {
    calendars = hostCalendars(server, {
      mailsParticipants: 'on-request',
      conferencing: [MEET],
      pendingMeetings,
    });
    application = await createApplication(server.app);
    ada = await HostedAccount.connect(server, application, calendars);
  }
  const post = (conferencing: object, query = '') =>
    ada.call('post', `/events${query}`, {
      calendar_id: ada.calendarId,
      title: 'Review',
      when,
      participants: [{ email: 'bo@elsewhere.test', name: 'Bo' }],
      conferencing,
    });
  const create = async (conferencing: object, query?: string): Promise<string> => {
    const { status, body } = await post(conferencing, query);
    expect([status, body.message]).toEqual([200, undefined]);
    return ada.written(body);
  };
  const shown = async (id: string) => (await ada.api('get', `/events/${id}`)).conferencing;

  it('are shown in the event as soon as it is written, and mailed with it once', async () => {
    await connect();
    const id = await create(autocreate, '?notify_participants=true');
    expect(await shown(id)).toEqual({ provider: MEET, details: { url } });
    expect(calendars.mails.map(({ kind }) => kind)).toEqual(['invite']);
    const { conferencing, updated_at } = await ada.api('get', `/events/${id}`);
    await ada.sync();
    expect(await ada.api('get', `/events/${id}`)).toMatchObject({ conferencing, updated_at });
  });

  it('stay the same when the event changes', async () => {
    await connect();
    const id = await create(autocreate);
    const before = await shown(id);
    await ada.written(await ada.api('put', `/events/${id}`, { title: 'Renamed' }));
    const change = { location: 'Room 1', conferencing: autocreate };
    await ada.written(await ada.api('put', `/events/${id}`, change));
    await ada.sync();
    expect(await shown(id)).toEqual(before);
  });

  it('can be added to an event that has none', async () => {
    await connect();
    const { body } = await post({});
    const id = await ada.written(body);
    await ada.written(await ada.api('put', `/events/${id}`, { conferencing: autocreate }));
    expect(await shown(id)).toMatchObject({ provider: MEET, details: { url } });
  });

  it('arrive with the changes of the calendar if the provider creates them later', async () => {
    await connect(true);
    const id = await create(autocreate);
    expect((await shown(id))?.details).toBeUndefined();
    const meeting = calendars.finishMeeting(calendars.latest()!.providerId, MEET);
    await ada.sync();
    expect(await shown(id)).toMatchObject({ provider: MEET, details: { url: meeting } });
  });

  it('are not used if the application has a service of its own for them', async () => {
    await connect();
    const template = 'https://rooms.example.test/{room}';
    await request(server.url)
      .put(`/a/${application.clientId}/conferencing`)
      .set(application.secretBasic)
      .send({ provider: MEET, kind: 'link', settings: { url_template: template } })
      .expect(200);
    const id = await create(autocreate, '?notify_participants=true');
    await until('the meeting', async () => (await shown(id))?.details !== undefined);
    expect(await shown(id)).toMatchObject({
      details: { url: expect.stringMatching(/^https:\/\/rooms\.example\.test\//) },
    });
    // The participants are notified once, when the event has its address.
    expect(calendars.mails).toHaveLength(1);
  });

  it.each([
    [
      'of another service',
      { provider: 'Microsoft Teams', autocreate: {} },
      "conferencing.provider: no conferencing service is set up for Microsoft Teams in this application, and the account's provider creates no such meetings",
    ],
    [
      'with settings',
      { provider: MEET, autocreate: { settings: { password: 'x' } } },
      "conferencing.autocreate.settings: must be {}, because the account's provider creates the Google Meet meeting and takes no settings",
    ],
  ])('are refused if the request asks for one %s', async (_name, conferencing, message) => {
    await connect();
    const { status, body } = await post(conferencing);
    expect([status, body.message]).toEqual([400, expect.stringContaining(message)]);
    expect(await ada.api('get', '/events')).toEqual([]);
  });
});
