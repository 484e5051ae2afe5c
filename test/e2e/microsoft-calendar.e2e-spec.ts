import {
  BO,
  eventCalls,
  START,
  type ShownEvent,
  weekly,
  when,
} from '../support/company-calendar.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { MicrosoftWorldFixture } from '../support/microsoft-world.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const WEEK = 604_800;

type Ada = Awaited<ReturnType<MicrosoftWorldFixture['connect']>>;

describe('calendars of a Microsoft account', () => {
  let server: TestApp;
  let application: TestApplication;
  let microsoft: MicrosoftWorldFixture;
  let ada: Ada;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    microsoft = await MicrosoftWorldFixture.start(server);
  });
  afterAll(async () => {
    await server.close();
    await microsoft.stub.stop();
    expectDocumented(microsoft.stub);
  });
  beforeEach(async () => {
    microsoft.stub.world.meetingMails.length = 0;
    microsoft.stub.faults.clear();
    ada = await microsoft.connect(application);
  });

  const { api, change, create, ownMails, post, titles } = eventCalls(() => ada.account);
  const mails = () =>
    microsoft.stub.world.meetingMails.map(({ kind, to }) => `${kind} ${to.join(' ')}`);

  it('writes events to Microsoft, which mails each participant once', async () => {
    const id = await create({ participants: [BO], description: 'One\ntwo' });
    expect(ada.eventsAtMicrosoft()).toMatchObject([
      { subject: 'Review', attendees: [{ address: BO.email }] },
    ]);
    const before = await api('get', `/events/${id}`);
    await ada.account.sync();
    expect(await api('get', `/events/${id}`)).toEqual(before);
    await change(id, '?notify_participants=true', { title: 'Other', when: { date: '2030-03-01' } });
    expect(ada.eventsAtMicrosoft()).toMatchObject([{ subject: 'Other', isAllDay: true }]);
    const { job_status_id: job } = await api('delete', `/events/${id}`);
    expect(await ada.account.outcome(job)).toMatchObject({ status: 'successful' });
    expect(ada.eventsAtMicrosoft()).toEqual([]);
    expect(mails()).toEqual(
      ['request', 'update', 'cancellation'].map((one) => `${one} ${BO.email}`),
    );
    expect(await ownMails()).toEqual([]);
    await ada.account.sync();
    expect(await titles()).toEqual([]);
  });

  it('refuses to keep participants out of a change that Microsoft would mail them', async () => {
    const { status, body } = await ada.account.call('post', '/events?notify_participants=false', {
      calendar_id: ada.account.calendarId,
      title: 'Review',
      when,
      participants: [BO],
    });
    expect([status, body.message]).toEqual([400, expect.stringContaining('notify_participants')]);
    expect(mails()).toEqual([]);
  });

  it('shows what was changed in Outlook', async () => {
    const start = { dateTime: '2030-03-18T09:00:00', timeZone: 'W. Europe Standard Time' };
    const end = { dateTime: '2030-03-18T10:00:00', timeZone: 'W. Europe Standard Time' };
    const { id } = await ada.outlook('POST', 'events', { subject: 'Theirs', start, end });
    await ada.account.sync();
    const [event] = await api('get', '/events');
    // The last event of a calendar would disappear later (docs/adr/0124).
    await ada.outlook('POST', 'events', { subject: 'Kept', start, end });
    expect(event).toMatchObject({ title: 'Theirs', when: { start_timezone: 'Europe/Berlin' } });
    await ada.outlook('PATCH', `events/${String(id)}`, { subject: 'Changed' });
    await ada.account.sync();
    expect((await titles()).toSorted()).toEqual(['Changed', 'Kept']);
    await ada.outlook('DELETE', `events/${String(id)}`);
    await ada.account.sync();
    expect(await titles()).toEqual(['Kept']);
  });

  it('changes instances one by one, on both sides, and keeps the others', async () => {
    await create({ title: 'Weekly', ...weekly });
    const [series] = ada.eventsAtMicrosoft();
    const expanded = `?expand_recurring=true&starts_after=${START - 1}&ends_before=${START + 6 * WEEK}`;
    const shown = (await api('get', `/events${expanded}`)) as ShownEvent[];
    expect(shown).toHaveLength(5);
    await change(shown[1]!.id, '', { title: 'Ours' });
    const window = 'startDateTime=2030-01-01T00:00:00Z&endDateTime=2031-01-01T00:00:00Z';
    const theirs = await ada.list(`events/${series!.immutableId}/instances?${window}`);
    await ada.outlook('PATCH', `events/${String(theirs[2]?.['id'])}`, { subject: 'Theirs' });
    await ada.outlook('DELETE', `events/${String(theirs[3]?.['id'])}`);
    await ada.account.sync();
    expect(await titles(expanded)).toEqual(['Weekly', 'Ours', 'Theirs', 'Weekly']);
    await ada.account.sync();
    const last = (await api('get', `/events${expanded}`)) as ShownEvent[];
    const { job_status_id: job } = await api('delete', `/events/${last[3]!.id}`);
    expect(await ada.account.outcome(job)).toMatchObject({ status: 'successful' });
    await ada.account.sync();
    expect(await titles(expanded)).toEqual(['Weekly', 'Ours', 'Theirs']);
    expect(await ada.list(`events/${series!.immutableId}/instances?${window}`)).toHaveLength(3);
  });

  it('tells the caller which rule Microsoft cannot repeat', async () => {
    const { job_status_id: job } = await post({
      when,
      recurrence: { rrule: ['RRULE:FREQ=MONTHLY;BYMONTHDAY=1,15'], timezone: 'Europe/Berlin' },
    });
    expect(await ada.account.outcome(job)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('recurrence: '),
    });
  });

  it('answers an invitation at Microsoft, which mails the answer to the organizer', async () => {
    const bert = await microsoft.connect(application);
    const { body } = await bert.account.call('post', '/events', {
      calendar_id: bert.account.calendarId,
      title: 'Plan',
      when,
      participants: [{ email: ada.email, name: 'Ada' }],
    });
    await bert.account.written(body);
    await ada.account.sync();
    const [event] = await api('get', '/events');
    const answer = { event_id: event.id, status: 'yes', comment: 'Gladly' };
    await ada.account.written(await api('post', '/send-rsvp', answer));
    expect(mails()).toEqual([`request ${ada.email}`, `response ${bert.email}`]);
    expect(microsoft.stub.world.meetingMails[1]).toMatchObject({ comment: 'Gladly' });
    expect(await ownMails()).toEqual([]);
    await bert.account.sync();
    const [asked] = (await bert.account.api('get', '/events')) as object[];
    expect(asked).toMatchObject({ participants: [{ email: ada.email, status: 'yes' }] });
  });
});
