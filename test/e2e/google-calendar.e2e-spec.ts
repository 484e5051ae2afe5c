import {
  BO,
  eventCalls,
  START,
  type ShownEvent,
  weekly,
  when,
} from '../support/company-calendar.ts';
import { subscribe } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { deliver } from '../support/deliver.ts';
import { GoogleWorldFixture } from '../support/google-world.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

type Ada = Awaited<ReturnType<GoogleWorldFixture['connect']>>;

describe('calendars of a Google account', () => {
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

  const { api, change, create, ownMails, post, titles } = eventCalls(() => ada.account);
  const cancel = async (id: string, query: string) => {
    const { job_status_id: job } = await api('delete', `/events/${id}${query}`);
    expect(await ada.account.outcome(job)).toMatchObject({ status: 'successful' });
  };
  const mails = () => google.stub.calendars.mails.map(({ kind, to }) => `${kind} ${to}`);

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
    const instances = (await api('get', `/events${expanded}`)) as ShownEvent[];
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
});
