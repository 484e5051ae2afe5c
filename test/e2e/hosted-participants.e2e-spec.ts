import type { EventContent } from '../../src/providers/port/connector.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import type { HostedCalendars } from '../support/hosted-calendars.ts';
import { HostedAccount, hostCalendars } from '../support/hosted-world.ts';
import { deliver } from '../support/deliver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const START = 1_900_058_400;
const when = { start_time: START, end_time: START + 3600 };
const BO = { email: 'bo@elsewhere.test', name: 'Bo', status: 'noreply' };
const CY = { email: 'cy@elsewhere.test', name: 'Cy', status: 'noreply' };

describe('participants of accounts whose calendar provider mails them', () => {
  let server: TestApp;
  let application: TestApplication;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());

  const connect = (calendars: HostedCalendars) =>
    HostedAccount.connect(server, application, calendars);
  const post = (ada: HostedAccount, query: string, fields: object = {}) =>
    ada.call('post', `/events${query}`, {
      calendar_id: ada.calendarId,
      title: 'Review',
      when,
      participants: [BO],
      ...fields,
    });
  const create = async (ada: HostedAccount, query: string, fields: object = {}) => {
    const { status, body } = await post(ada, query, fields);
    expect([status, body.message]).toEqual([200, undefined]);
    return ada.written(body);
  };
  const change = async (ada: HostedAccount, id: string, query: string, fields: object) =>
    ada.written(await ada.api('put', `/events/${id}${query}`, fields));
  const cancel = async (ada: HostedAccount, id: string, query: string) => {
    const { job_status_id: job } = await ada.api('delete', `/events/${id}${query}`);
    expect(await ada.outcome(job)).toMatchObject({ status: 'successful' });
  };
  /** Jobs of mails that Carillon itself made. */
  const ownMails = async (ada: HostedAccount) => {
    const jobs = (await ada.api('get', '/job-statuses?limit=100')) as { action: string }[];
    return jobs.filter(({ action }) =>
      ['notify_participants', 'send_invitation', 'send_rsvp'].includes(action),
    );
  };
  /** An event of another organizer to which the account is invited. */
  const invite = (calendars: HostedCalendars, ada: HostedAccount, content: EventContent = {}) =>
    calendars.put({
      calendar: ada.remoteCalendar,
      organizer: BO.email,
      content: {
        title: 'Their meeting',
        when: { object: 'timespan', ...when, start_timezone: 'UTC', end_timezone: 'UTC' },
        participants: [
          { email: ada.email, name: '', status: 'noreply', phone_number: null, comment: null },
        ],
        ...content,
      },
    });

  describe('on request', () => {
    let calendars: HostedCalendars;
    let ada: HostedAccount;
    beforeAll(() => {
      calendars = hostCalendars(server, { mailsParticipants: 'on-request' });
    });
    beforeEach(async () => {
      calendars.mails.length = 0;
      calendars.answers.length = 0;
      ada = await connect(calendars);
    });

    it('asks the provider to mail participants, and sends no mail of its own', async () => {
      const id = await create(ada, '?notify_participants=true');
      await change(ada, id, '?notify_participants=true', { title: 'New title' });
      await cancel(ada, id, '?notify_participants=true');
      expect(calendars.mails).toEqual([
        { kind: 'invite', title: 'Review', to: [BO.email] },
        { kind: 'update', title: 'New title', to: [BO.email] },
        { kind: 'cancel', title: 'New title', to: [BO.email] },
      ]);
      expect(await ownMails(ada)).toEqual([]);
      expect(await ada.api('get', `/events/${id}/invitations`)).toEqual([]);
    });

    it('notifies no participant unless the request says so', async () => {
      const id = await create(ada, '');
      await change(ada, id, '?notify_participants=false', { title: 'New title' });
      await cancel(ada, id, '');
      expect(calendars.mails).toEqual([]);
    });

    it('mails participants once when a change is written together with one that notifies them', async () => {
      const id = await create(ada, '');
      const gate = calendars.holdWrites();
      const first = await ada.api('put', `/events/${id}`, { location: 'Room 1' });
      await gate.reached;
      const second = await ada.api('put', `/events/${id}`, { title: 'Second' });
      const third = await ada.api('put', `/events/${id}?notify_participants=true`, {
        title: 'Third',
      });
      gate.open();
      for (const change of [first, second, third]) await ada.written(change);
      expect(calendars.mails).toEqual([{ kind: 'update', title: 'Third', to: [BO.email] }]);
    });

    it('notifies participants of changed and deleted instances', async () => {
      const id = await create(ada, '', {
        when: { ...when, start_timezone: 'UTC', end_timezone: 'UTC' },
        recurrence: { rrule: ['RRULE:FREQ=WEEKLY;COUNT=5'], timezone: 'UTC' },
      });
      const second = `${id}_20300325T100000Z`;
      await change(ada, second, '?notify_participants=true', { title: 'Second' });
      await cancel(ada, `${id}_20300401T100000Z`, '?notify_participants=true');
      expect(calendars.mails.map(({ kind, title }) => `${kind} ${title}`)).toEqual([
        'update Second',
        'cancel Review',
      ]);
      expect(await ownMails(ada)).toEqual([]);
    });

    it('gives the answer to an invitation to the provider, which mails the organizer', async () => {
      const { providerId } = invite(calendars, ada);
      await ada.sync();
      const [event] = await ada.api('get', '/events');
      const answered = await ada.api('post', '/send-rsvp', {
        event_id: event.id,
        status: 'yes',
        comment: 'See you',
      });
      expect(answered.participants).toMatchObject([{ email: ada.email, status: 'yes' }]);
      await ada.written(answered);
      expect(calendars.answers).toEqual([
        { providerId, status: 'yes', comment: 'See you', notify: true },
      ]);
      expect(calendars.mails).toEqual([{ kind: 'answer', title: 'Their meeting', to: [BO.email] }]);
      expect(await ownMails(ada)).toEqual([]);
      await ada.sync();
      const [after] = await ada.api('get', '/events');
      expect(after.participants).toMatchObject([{ status: 'yes' }]);
    });

    it('stores an answer at the provider without notifying the organizer if asked to', async () => {
      invite(calendars, ada);
      await ada.sync();
      const [event] = await ada.api('get', '/events');
      const answer = { event_id: event.id, status: 'no' };
      await ada.written(await ada.api('post', '/send-rsvp?notify_participants=false', answer));
      expect(calendars.answers).toMatchObject([{ status: 'no', notify: false }]);
      expect(calendars.mails).toEqual([]);
    });

    it('makes no second event from an invitation mail, and takes no answers from mail', async () => {
      const own = await create(ada, '');
      const { ical_uid: ownUid } = await ada.api('get', `/events/${own}`);
      const theirs = invite(calendars, ada);
      await ada.sync();
      const mail = (method: string, uid: string, lines: readonly string[]) =>
        deliver(
          server,
          ada.account,
          [
            'Subject: Meeting',
            'MIME-Version: 1.0',
            `Content-Type: text/calendar; method=${method}; charset=utf-8`,
            '',
            'BEGIN:VCALENDAR',
            'VERSION:2.0',
            'PRODID:-//Test//EN',
            `METHOD:${method}`,
            'BEGIN:VEVENT',
            `UID:${uid}`,
            'DTSTAMP:20260101T000000Z',
            'DTSTART:20300318T100000Z',
            'DTEND:20300318T110000Z',
            'SUMMARY:From mail',
            ...lines,
            'END:VEVENT',
            'END:VCALENDAR',
            '',
          ],
          BO.email,
        );
      const invited = [`ORGANIZER:mailto:${BO.email}`, `ATTENDEE:mailto:${ada.email}`];
      await mail('REQUEST', theirs.icalUid, invited);
      await mail('REQUEST', 'uid-that-the-calendar-does-not-have', invited);
      await mail('REPLY', ownUid, [
        `ORGANIZER:mailto:${ada.email}`,
        `ATTENDEE;PARTSTAT=ACCEPTED:mailto:${BO.email}`,
      ]);
      await until('the mails', async () => {
        const messages = await ada.api('get', '/messages');
        return messages.length === 3;
      });
      const events = await ada.api('get', '/events');
      expect(events).toHaveLength(2);
      expect(await ada.api('get', '/calendars')).toHaveLength(1);
      const [linked] = events.filter(({ id }: { id: string }) => id !== own);
      expect(linked).toMatchObject({ title: 'Their meeting', message_id: expect.any(String) });
      const { participants } = await ada.api('get', `/events/${own}`);
      expect(participants).toMatchObject([{ email: BO.email, status: 'noreply' }]);
    });

    it('refuses to answer an event that the account organizes', async () => {
      const id = await create(ada, '');
      const { status, body } = await ada.call('post', '/send-rsvp', {
        event_id: id,
        status: 'yes',
      });
      expect([status, body.message]).toEqual([
        400,
        'event_id: the event did not come from an invitation, so there is no organizer to answer',
      ]);
    });
  });

  describe('always', () => {
    let calendars: HostedCalendars;
    let ada: HostedAccount;
    beforeAll(() => {
      calendars = hostCalendars(server, { mailsParticipants: 'always' });
    });
    beforeEach(async () => {
      calendars.mails.length = 0;
      ada = await connect(calendars);
    });

    it('leaves every mail to the provider, whether or not the request asks for it', async () => {
      const id = await create(ada, '?notify_participants=true');
      await change(ada, id, '', { title: 'New title' });
      await cancel(ada, id, '');
      expect(calendars.mails.map(({ kind }) => kind)).toEqual(['invite', 'update', 'cancel']);
      expect(await ownMails(ada)).toEqual([]);
    });

    it('refuses notify_participants=false for a change that the provider would mail, and stores nothing', async () => {
      const refusal = expect.stringContaining(
        'notify_participants: the provider of this account mails the participants',
      );
      const refused = await post(ada, '?notify_participants=false');
      expect([refused.status, refused.body.message]).toEqual([400, refusal]);
      expect(await ada.api('get', '/events')).toEqual([]);
      const id = await create(ada, '');
      for (const { status, body } of [
        await ada.call('put', `/events/${id}?notify_participants=false`, { title: 'Quiet' }),
        await ada.call('put', `/events/${id}?notify_participants=false`, { participants: [CY] }),
        await ada.call('delete', `/events/${id}?notify_participants=false`),
      ])
        expect([status, body.message]).toEqual([400, refusal]);
      expect(await ada.api('get', `/events/${id}`)).toMatchObject({
        title: 'Review',
        status: 'confirmed',
      });
    });

    it('accepts notify_participants=false if no other person takes part, or only private notes change', async () => {
      const id = await create(ada, '?notify_participants=false', { participants: [] });
      await change(ada, id, '?notify_participants=false', { title: 'Mine' });
      const shared = await create(ada, '');
      await change(ada, shared, '?notify_participants=false', { metadata: { note: 'mine' } });
      expect(calendars.mails.map(({ kind }) => kind)).toEqual(['invite']);
    });

    it('asks the participants again when the event moves to another time', async () => {
      const id = await create(ada, '', { participants: [{ ...BO, status: 'yes' }] });
      await change(ada, id, '', { when: { start_time: START + 7200, end_time: START + 9000 } });
      const { participants } = await ada.api('get', `/events/${id}`);
      expect(participants).toMatchObject([{ email: BO.email, status: 'noreply' }]);
    });
  });
});
