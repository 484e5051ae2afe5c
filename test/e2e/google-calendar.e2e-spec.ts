import { subscribe } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { deliver } from '../support/deliver.ts';
import { GoogleWorldFixture } from '../support/google-world.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const START = 1_900_058_400;
const zone = { start_timezone: 'Europe/Berlin', end_timezone: 'Europe/Berlin' };
const when = { start_time: START, end_time: START + 3600, ...zone };
const BO = { email: 'bo@elsewhere.test', name: 'Bo', status: 'noreply' };
const weekly = {
  when,
  recurrence: { rrule: ['RRULE:FREQ=WEEKLY;COUNT=5'], timezone: 'Europe/Berlin' },
};

type Ada = Awaited<ReturnType<GoogleWorldFixture['connect']>>;
type Shown = { id: string; title: string; status: string };

describe('calendars and contacts of a Google account', () => {
  let server: TestApp;
  let application: TestApplication;
  let google: GoogleWorldFixture;
  let ada: Ada;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    const triggers = ['created', 'updated', 'deleted'].map((verb) => `event.${verb}`);
    await subscribe(server, application, triggers);
    google = await GoogleWorldFixture.start(server);
  });
  afterAll(async () => {
    await server.close();
    await google.stub.stop();
    expectDocumented(google.stub);
  });
  beforeEach(async () => {
    google.stub.calendars.mails.length = 0;
    google.stub.faults.clear();
    ada = await google.connect(application);
  });

  const api = (...given: Parameters<Ada['account']['api']>) => ada.account.api(...given);
  const post = (fields: object, query = '') =>
    api('post', `/events${query}`, {
      calendar_id: ada.account.calendarId,
      title: 'Review',
      when,
      ...fields,
    });
  const create = async (fields: object, query = ''): Promise<string> =>
    ada.account.written(await post(fields, query));
  const change = async (id: string, query: string, fields: object) =>
    ada.account.written(await api('put', `/events/${id}${query}`, fields));
  const cancel = async (id: string, query: string) => {
    const { job_status_id: job } = await api('delete', `/events/${id}${query}`);
    expect(await ada.account.outcome(job)).toMatchObject({ status: 'successful' });
  };
  const titles = async (query = ''): Promise<string[]> =>
    ((await api('get', `/events${query}`)) as Shown[]).map(({ title }) => title);
  const mails = () => google.stub.calendars.mails.map(({ kind, to }) => `${kind} ${to}`);
  const ownMails = async () =>
    ((await api('get', '/job-statuses?limit=100')) as { action: string }[]).filter(({ action }) =>
      ['notify_participants', 'send_invitation', 'send_rsvp'].includes(action),
    );

  it('writes events to Google, which mails each participant once', async () => {
    const id = await create({ participants: [BO] }, '?notify_participants=true');
    expect(ada.eventsAtGoogle()).toMatchObject([
      { summary: 'Review', attendees: [{ email: BO.email }] },
    ]);
    const before = await api('get', `/events/${id}`);
    await ada.account.sync();
    expect(await api('get', `/events/${id}`)).toEqual(before);
    await change(id, '?notify_participants=true', { title: 'Other', when: { date: '2030-03-01' } });
    expect(ada.eventsAtGoogle()).toMatchObject([
      { summary: 'Other', start: { date: '2030-03-01' }, end: { date: '2030-03-02' } },
    ]);
    await change(id, '', { location: 'Room 1' });
    await cancel(id, '?notify_participants=true');
    expect(ada.eventsAtGoogle()).toEqual([]);
    expect(mails()).toEqual(
      ['invitation', 'update', 'cancellation'].map((one) => `${one} ${BO.email}`),
    );
    expect(await ownMails()).toEqual([]);
    await ada.account.sync();
    expect(await titles()).toEqual([]);
  });

  it('makes no second event if a sync pass sees a new event before its write has ended', async () => {
    const gate = google.holdCreations();
    const event = await post({});
    await gate.reached;
    expect(ada.eventsAtGoogle()).toHaveLength(1);
    await ada.account.sync();
    expect(await titles()).toEqual(['Review']);
    gate.open();
    await ada.account.written(event);
    await ada.account.sync();
    expect(await titles()).toEqual(['Review']);
    expect(ada.eventsAtGoogle()).toHaveLength(1);
  });

  it('shows what was changed at Google, with webhooks', async () => {
    const start = { dateTime: '2030-03-18T09:00:00', timeZone: 'Europe/Berlin' };
    const end = { dateTime: '2030-03-18T10:00:00', timeZone: 'Europe/Berlin' };
    const { id } = await ada.webEvent('POST', '', { summary: 'Theirs', start, end });
    await ada.account.sync();
    expect(await titles()).toEqual(['Theirs']);
    await ada.webEvent('PATCH', `/${id}`, { summary: 'Changed' });
    await ada.account.sync();
    expect(await titles()).toEqual(['Changed']);
    await ada.webEvent('DELETE', `/${id}`);
    await ada.account.sync();
    expect(await titles()).toEqual([]);
    expect(await ada.account.notified()).toEqual(
      ['created', 'updated', 'deleted'].map((verb) => `event.${verb}`),
    );
  });

  it('changes instances one by one, on both sides, and keeps the others', async () => {
    await create({ title: 'Weekly', ...weekly });
    const [series] = ada.eventsAtGoogle();
    const expanded = `?expand_recurring=true&starts_after=${START - 1}&ends_before=${START + 6 * 604_800}`;
    const instances = (await api('get', `/events${expanded}`)) as Shown[];
    expect(instances).toHaveLength(5);
    await change(instances[1]!.id, '', { title: 'Ours' });
    const at = (n: number) =>
      new Date((START + n * 604_800 - (n > 1 ? 3600 : 0)) * 1000)
        .toISOString()
        .replaceAll(/[-:]|\.000/g, '');
    await ada.webEvent('PATCH', `/${series.id}_${at(2)}`, { summary: 'Theirs' });
    await ada.webEvent('DELETE', `/${series.id}_${at(3)}`);
    await ada.account.sync();
    expect(await titles(expanded)).toEqual(['Weekly', 'Ours', 'Theirs', 'Weekly']);
    await ada.webEvent('PATCH', `/${series.id}_${at(3)}`, { status: 'confirmed' });
    await ada.account.sync();
    expect(await titles(expanded)).toEqual(['Weekly', 'Ours', 'Theirs', 'Weekly', 'Weekly']);
    ada.calendarAtGoogle.expireSyncTokens();
    await ada.account.sync();
    expect(await titles(expanded)).toEqual(['Weekly', 'Ours', 'Theirs', 'Weekly', 'Weekly']);
  });

  it('answers an invitation at Google, and makes no second event from its mail', async () => {
    const bert = await google.connect(application);
    const { body } = await bert.account.call('post', '/events?notify_participants=true', {
      calendar_id: bert.account.calendarId,
      title: 'Plan',
      when,
      participants: [{ email: ada.email, name: 'Ada' }],
    });
    await bert.account.written(body);
    const [{ iCalUID }] = bert.eventsAtGoogle();
    await ada.account.sync();
    await deliver(
      server,
      ada.account.account,
      [
        'Subject: Plan',
        'MIME-Version: 1.0',
        'Content-Type: text/calendar; method=REQUEST; charset=utf-8',
        '',
        'BEGIN:VCALENDAR',
        'VERSION:2.0',
        'PRODID:-//Google Inc//EN',
        'METHOD:REQUEST',
        'BEGIN:VEVENT',
        `UID:${iCalUID}`,
        'DTSTAMP:20260101T000000Z',
        'DTSTART:20300318T100000Z',
        'DTEND:20300318T110000Z',
        'SUMMARY:Plan',
        `ORGANIZER:mailto:${bert.email}`,
        `ATTENDEE:mailto:${ada.email}`,
        'END:VEVENT',
        'END:VCALENDAR',
        '',
      ],
      bert.email,
    );
    await until('the mail', async () => (await api('get', '/messages')).length === 1);
    const [event] = await api('get', '/events');
    expect(await titles()).toEqual(['Plan']);
    const answer = { event_id: event.id, status: 'yes', comment: 'Gladly' };
    await ada.account.written(await api('post', '/send-rsvp', answer));
    expect(bert.eventsAtGoogle()).toMatchObject([
      { attendees: [{ email: ada.email, responseStatus: 'accepted', comment: 'Gladly' }] },
    ]);
    expect(mails()).toEqual([`invitation ${ada.email}`, `reply ${bert.email}`]);
    expect(await ownMails()).toEqual([]);
    await bert.account.sync();
    const [asked] = (await bert.account.api('get', '/events')) as object[];
    expect(asked).toMatchObject({ participants: [{ email: ada.email, status: 'yes' }] });
  });

  it('creates a meeting with an event', async () => {
    const conferencing = { provider: 'Google Meet', autocreate: {} };
    const id = await create({ conferencing });
    const [{ hangoutLink }] = ada.eventsAtGoogle();
    const shown = await api('get', `/events/${id}`);
    expect(shown.conferencing).toMatchObject({
      provider: 'Google Meet',
      details: { url: hangoutLink },
    });
    await change(id, '', { title: 'Renamed' });
    await ada.account.sync();
    expect((await api('get', `/events/${id}`)).conferencing).toEqual(shown.conferencing);
  });

  it('knows when people are busy who have no account', async () => {
    const email = `colleague-${ada.email}`;
    google.stub.addUser(email);
    const busy = { start: { date: '2030-03-18' }, end: { date: '2030-03-19' } };
    await ada.web('GET', '/calendar/v3/users/me/calendarList');
    const calendar = google.stub.calendars.all.get(email)!;
    const { event } = ada.calendarAtGoogle.put(
      (await ada.webEvent('POST', '', { ...busy, transparency: 'transparent' })) as never,
    );
    calendar.put({ ...event, transparency: 'opaque' });
    const free = await api('post', '/calendars/free-busy', {
      start_time: START - 86_400,
      end_time: START + 86_400,
      emails: [email],
    });
    expect(free).toMatchObject([{ email, time_slots: [{ status: 'busy' }] }]);
  });

  it('creates, changes and deletes contacts at Google, and shows what was changed there', async () => {
    const { contacts } = google.stub.world.users.get(ada.email)!;
    const alive = () => [...contacts.people.values()].filter(({ isDeleted }) => !isDeleted);
    const sent = {
      given_name: 'Grace',
      surname: 'Hopper',
      emails: [{ type: 'work', email: 'grace@example.test' }],
    };
    const created = await api('post', '/contacts', sent);
    await ada.account.written(created);
    expect(alive()).toMatchObject([{ fields: { names: [{ familyName: 'Hopper' }] } }]);
    const path = `/contacts/${created.id}`;
    await ada.account.written(await api('put', path, { surname: 'Murray' }));
    await ada.account.syncContacts();
    expect(await api('get', path)).toMatchObject({ ...sent, surname: 'Murray' });
    const resourceName = alive()[0]?.resourceName;
    const { etag } = await ada.web('GET', `/v1/${resourceName}?personFields=names`);
    const nicknames = [{ value: 'Amazing' }];
    await ada.web('PATCH', `/v1/${resourceName}:updateContact?updatePersonFields=nicknames`, {
      etag,
      nicknames,
    });
    await ada.account.syncContacts();
    expect(await api('get', path)).toMatchObject({ surname: 'Murray', nickname: 'Amazing' });
    const { job_status_id: job } = await api('delete', path);
    expect(await ada.account.outcome(job)).toMatchObject({ status: 'successful' });
    expect(alive()).toEqual([]);
  });
});
