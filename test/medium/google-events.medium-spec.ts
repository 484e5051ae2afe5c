import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { EventContent, EventWriteOptions } from '../../src/providers/port/connector.ts';
import { allEventChanges } from '../support/calendar-contract.ts';
import { codeOf } from '../support/contract-tools.ts';
import { GoogleFixture } from '../support/google-account.ts';
import { scope } from '../support/google/scopes.ts';
import { type Any, StubClient } from '../support/google/stub-client.ts';
import type { FaultAnswer } from '../support/remote-stub/faults.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

const HOUR = 3600;
/** Monday 11 March 2030, 09:00 in Berlin. */
const START = 1_899_446_400;

const timespan = (start_time: number, zone = 'Europe/Berlin') => ({
  object: 'timespan',
  start_time,
  end_time: start_time + HOUR,
  start_timezone: zone,
  end_timezone: zone,
});
const meeting: EventContent = { title: 'Meeting', when: timespan(START) };
const weekly: EventContent = {
  title: 'Weekly',
  when: timespan(START),
  recurrence: { rrule: ['RRULE:FREQ=WEEKLY;COUNT=6'], timezone: 'Europe/Berlin' },
};
const guest = (email: string, status = 'noreply') => ({
  email,
  name: '',
  status,
  comment: null,
  phone_number: null,
});

describe('events at the stub of Google', () => {
  let fixture: GoogleFixture;
  beforeAll(async () => {
    fixture = await GoogleFixture.start();
  });
  beforeEach(() => fixture.stub.habits.worst());
  afterAll(async () => {
    await fixture.stop();
    expectDocumented(fixture.stub);
  });

  function begin() {
    const { stub, connector } = fixture;
    const { calendar } = connector;
    const account = fixture.account();
    const id = account.email;
    const web = new StubClient(stub, id);
    const path = `/calendar/v3/calendars/${encodeURIComponent(id)}/events`;
    return {
      calendar,
      account,
      id,
      stored: stub.calendars.all.get(id)!,
      since: (cursor: string | null, limit?: number) =>
        allEventChanges(calendar, account, id, cursor, limit),
      create: (event: EventContent, options?: EventWriteOptions, key: string = randomUUID()) =>
        calendar.createEvent(account, id, key, event, options),
      /** The event at Google. */
      read: (providerId: string): Any => stub.calendars.all.get(id)?.find(own(providerId))?.event,
      /** A change by Google's own pages. */
      web: async (method: string, providerId: string, body?: object) => {
        const answer = await web.call(method, `${path}/${own(providerId)}`, body);
        expect(answer.status).toBeLessThan(300);
        return answer.body as Any;
      },
      mails: () =>
        stub.calendars.mails
          .filter(({ eventId }) => stub.calendars.all.get(id)?.find(eventId))
          .map(({ kind, to }) => `${kind} ${to}`),
      fault: (method: string, answer: FaultAnswer, times = 1) =>
        stub.faults.add({
          match: (request) => request.method === method && request.path.startsWith(path),
          answer,
          times,
        }),
    };
  }
  const own = (providerId: string) => providerId.slice(providerId.lastIndexOf('/') + 1);

  describe('changes', () => {
    it('lists everything again with all ids when the sync token has expired, page by page', async () => {
      // Events of single pages are counted.
      fixture.stub.habits.pages = 'full';
      const { create, since, stored, calendar, account } = begin();
      const { providerId: series } = await create(weekly);
      for (let n = 0; n < 4; n++) await create({ ...meeting, title: `Event ${n}` });
      const instance = { series, start: '20300318T080000Z' };
      const changed = await calendar.writeInstance(account, instance, {
        ...meeting,
        when: timespan(START + 7 * 24 * HOUR),
      });
      await calendar.deleteInstance(account, { series, start: '20300325T080000Z' });
      const { cursor } = await since(null);
      stored.expireSyncTokens();
      const first = await calendar.listEventChanges(account, account.email, cursor, 2);
      expect(first.more).toBe(true);
      expect(first.events.length + (first.excluded?.length ?? 0)).toBe(2);
      const anew = await since(cursor, 2);
      expect(anew.pages).toBe(4);
      expect(anew.events).toHaveLength(6);
      expect(anew.excluded).toHaveLength(1);
      const ids = [...anew.events, ...anew.excluded].map(({ providerId }) => providerId);
      expect(anew.present?.toSorted()).toEqual(ids.toSorted());
      expect(ids).toContain(changed.providerId);
      expect((await since(anew.cursor)).present).toBeNull();
    });

    it('reads events with absent and null values, and names those that it cannot read', async () => {
      const { calendar, account, fault } = begin();
      const start = { dateTime: '2030-03-18T09:00:00Z' };
      const items = [
        { id: 'null', summary: 'Nulls', start, end: null, organizer: null, attendees: null },
        { id: 'empty', summary: 'Empty', start, organizer: {}, attendees: [{}, null] },
        { id: 'odd', summary: 'Odd', start: { date: '18 March' }, end: start },
        { id: 'odder', summary: ['a list'], start },
        null,
      ];
      fault('GET', { status: 200, body: { items, nextPageToken: 'more' } });
      const page = await calendar.listEventChanges(account, account.email, null, 100);
      expect(page.events).toMatchObject([
        { content: { title: 'Nulls', when: { object: 'time' } }, organizer: null },
        { content: { title: 'Empty', when: { object: 'time' } }, organizer: null },
      ]);
      expect(page.unread?.map(({ providerId }) => providerId)).toEqual([
        `${account.email}/odd`,
        `${account.email}/odder`,
      ]);
    });

    it('begins again when the token expires between two pages of changes', async () => {
      const { create, since, stored, calendar, account } = begin();
      const { cursor } = await since(null);
      for (let n = 0; n < 3; n++) await create({ ...meeting, title: `Event ${n}` });
      const page = await calendar.listEventChanges(account, account.email, cursor, 1);
      expect(page.more).toBe(true);
      stored.expireSyncTokens();
      const rest = await since(page.cursor);
      expect(rest.events).toHaveLength(3);
      expect(rest.present).toHaveLength(3);
    });

    it('reports one changed instance alone, an instance that was cancelled, and one that takes place again', async () => {
      const { create, since, web } = begin();
      const { providerId: series } = await create(weekly);
      const [second, third] = [`${series}_20300318T080000Z`, `${series}_20300325T080000Z`];
      const first = await since(null);
      await web('PATCH', second, { summary: 'Changed' });
      const one = await since(first.cursor);
      expect(one).toMatchObject({ excluded: [], removed: [], present: null });
      expect(one.events).toMatchObject([
        {
          providerId: second,
          masterProviderId: series,
          originalStartTime: START + 7 * 24 * HOUR,
          content: { title: 'Changed', recurrence: null },
        },
      ]);
      await web('DELETE', third);
      const two = await since(one.cursor);
      expect(two).toMatchObject({ events: [], removed: [] });
      expect(two.excluded).toEqual([
        {
          providerId: third,
          masterProviderId: series,
          originalStartTime: START + 14 * 24 * HOUR,
        },
      ]);
      await web('PATCH', third, { status: 'confirmed' });
      const three = await since(two.cursor);
      expect(three).toMatchObject({ excluded: [], removed: [] });
      expect(three.events).toMatchObject([{ providerId: third, content: { title: 'Weekly' } }]);
    });

    it('reports a deleted series without its instances', async () => {
      const { create, since, web } = begin();
      const { providerId: series } = await create(weekly);
      await web('PATCH', `${series}_20300318T080000Z`, { summary: 'Changed' });
      const { cursor } = await since(null);
      await web('DELETE', series);
      expect(await since(cursor)).toMatchObject({ events: [], excluded: [], removed: [series] });
    });

    it('reports the key of an event that Carillon created, and none for others and for instances', async () => {
      const { create, since, web, stored } = begin();
      const key = randomUUID();
      const { providerId: series } = await create(weekly, {}, key);
      await web('PATCH', `${series}_20300318T080000Z`, { summary: 'Changed' });
      const made = stored.find(own(series))!.event;
      stored.put({ ...made, id: 'abcdefghijklmnopq', iCalUID: 'other@google.com' });
      const { events } = await since(null);
      expect(events.map((one) => [one.icalUid, one.key])).toEqual([
        [`${key.replaceAll('-', '')}@google.com`, key],
        [`${key.replaceAll('-', '')}@google.com`, null],
        ['other@google.com', null],
      ]);
    });

    it('reports a series that was split as two series, and writes instances of the second', async () => {
      const { create, since, stored, calendar, account } = begin();
      const { providerId: series } = await create(weekly);
      const { cursor } = await since(null);
      const at = (START + 14 * 24 * HOUR) * 1000;
      const recurrence = ['RRULE:FREQ=WEEKLY;COUNT=4'];
      const { id } = stored.split(stored.find(own(series))!, at, { recurrence }).event;
      expect(id).toBe(`${own(series)}_R20300325T080000`);
      const { events } = await since(cursor);
      const second = `${account.email}/${id}`;
      expect(events.map(({ providerId, content }) => [providerId, content['recurrence']])).toEqual([
        [
          series,
          { rrule: ['RRULE:FREQ=WEEKLY;UNTIL=20300325T075959Z'], timezone: 'Europe/Berlin' },
        ],
        [second, { rrule: ['RRULE:FREQ=WEEKLY;COUNT=4'], timezone: 'Europe/Berlin' }],
      ]);
      const when = timespan(START + 21 * 24 * HOUR - HOUR);
      const written = await calendar.writeInstance(
        account,
        { series: second, start: '20300401T070000Z' },
        { ...meeting, title: 'Later', when },
      );
      expect(written.providerId).toBe(`${series}_20300401T070000Z`);
      await calendar.resetInstance(account, written.providerId);
      const after = await since(null);
      expect(after.events).toHaveLength(2);
      expect(after.present).toHaveLength(2);
      for (let times = 0; times < 2; times++)
        await calendar.deleteInstance(account, { series: second, start: '20300408T070000Z' });
      expect(await since(null)).toMatchObject({
        excluded: [{ masterProviderId: second, originalStartTime: START + 28 * 24 * HOUR - HOUR }],
      });
      const outside = { series: second, start: '20310101T080000Z' };
      await calendar.deleteInstance(account, outside);
      expect(await codeOf(calendar.writeInstance(account, outside, meeting))).toBe('not-found');
    });

    it.each(['birthday', 'fromGmail', 'workingLocation'])(
      'reports an event of the type %s as one that cannot be changed, and says so to whom tries',
      async (eventType) => {
        const { create, since, stored, calendar, account } = begin();
        const { providerId } = await create(weekly);
        const { event } = stored.find(own(providerId))!;
        stored.put({ ...event, eventType });
        const { events } = await since(null);
        expect(events).toMatchObject([{ providerId, readOnly: true }]);
        const position = { series: providerId, start: '20300318T080000Z' };
        const works = [
          () => calendar.updateEvent(account, providerId, { ...weekly, title: 'Other' }),
          () => calendar.deleteEvent(account, providerId),
          () => calendar.writeInstance(account, position, { ...meeting, title: 'Other' }),
          () => calendar.deleteInstance(account, position),
        ];
        for (const work of works)
          await expect(work()).rejects.toMatchObject({
            code: 'rejected',
            message: expect.stringContaining('in Google Calendar'),
          });
        expect(stored.find(own(providerId))!.event.status).toBe('confirmed');
      },
    );

    it.each(['focusTime', 'outOfOffice'])(
      'changes an event of the type %s, but never writes a property of its own there',
      async (eventType) => {
        const { create, since, stored, calendar, account } = begin();
        const { providerId } = await create(weekly);
        const { event } = stored.find(own(providerId))!;
        stored.put({ ...event, eventType });
        expect((await since(null)).events).toMatchObject([{ providerId, readOnly: false }]);
        const position = { series: providerId, start: '20300318T080000Z' };
        const changed = { ...meeting, title: 'Other', when: timespan(START + 7 * 24 * HOUR) };
        const instance = await calendar.writeInstance(account, position, changed);
        await calendar.resetInstance(account, instance.providerId);
        await calendar.updateEvent(account, providerId, { ...weekly, title: 'New' });
        expect(stored.find(own(providerId))!.event.summary).toBe('New');
        expect(JSON.stringify([...stored.events.values()])).not.toContain('private');
      },
    );

    it('lets writes wait for minutes, then longer, and reads at once, if Google limits the use of calendars', async () => {
      const { create, since, calendar, account } = begin();
      const { providerId } = await create(meeting);
      fixture.stub.habits.calendarWrites = 1;
      const write = () => calendar.updateEvent(account, providerId, { ...meeting, title: 'Other' });
      await expect(write()).rejects.toMatchObject({ code: 'rate-limited', retryAfterSeconds: 600 });
      const asked = fixture.stub.requestsOf('PATCH').length;
      await expect(write()).rejects.toMatchObject({ name: 'BudgetExhaustedError' });
      expect(fixture.stub.requestsOf('PATCH')).toHaveLength(asked);
      expect((await since(null)).events).toHaveLength(1);
      fixture.stub.habits.calendarWrites = Infinity;
    });

    it('reports an instance that was reset again when somebody changes it', async () => {
      const { create, since, web, calendar, account, read } = begin();
      const { providerId: series } = await create({ ...weekly, location: 'Room 1' });
      const instance = `${series}_20300318T080000Z`;
      await web('PATCH', instance, { summary: 'Changed', location: '' });
      await calendar.resetInstance(account, instance);
      expect(read(instance)).toMatchObject({ summary: 'Weekly', location: 'Room 1' });
      const { cursor, events } = await since(null);
      expect(events).toHaveLength(1);
      await web('PATCH', instance, { location: 'Room 2' });
      expect((await since(cursor)).events).toMatchObject([
        { providerId: instance, content: { title: 'Weekly', location: 'Room 2' } },
      ]);
    });

    it('lets an instance that was deleted take place again when it is reset', async () => {
      const { create, since, web, calendar, account } = begin();
      const { providerId: series } = await create(weekly);
      const instance = `${series}_20300318T080000Z`;
      await web('DELETE', instance);
      const { cursor } = await since(null);
      await calendar.resetInstance(account, instance);
      expect(await since(cursor)).toMatchObject({ events: [], excluded: [], removed: [instance] });
    });
  });

  describe('content', () => {
    const contents: [string, EventContent][] = [
      [
        'a time span in two zones',
        { ...meeting, when: { ...timespan(START), end_timezone: 'Asia/Tokyo' } },
      ],
      [
        'a time span without a zone',
        { ...meeting, when: { object: 'timespan', start_time: START, end_time: START + 60 } },
      ],
      [
        'a point in time',
        { ...meeting, when: { object: 'time', time: START, timezone: 'America/New_York' } },
      ],
      ['a day', { ...meeting, when: { object: 'date', date: '2030-02-28' } }],
      [
        'several days',
        {
          ...meeting,
          when: { object: 'datespan', start_date: '2030-02-27', end_date: '2030-03-01' },
        },
      ],
      [
        'a series with exclusions',
        {
          ...weekly,
          recurrence: {
            rrule: ['RRULE:FREQ=WEEKLY;COUNT=6', 'EXDATE;TZID=Europe/Berlin:20300318T090000'],
            timezone: 'Europe/Berlin',
          },
        },
      ],
      [
        'a series of days',
        {
          ...meeting,
          when: { object: 'date', date: '2030-03-01' },
          recurrence: { rrule: ['RRULE:FREQ=DAILY;COUNT=3'], timezone: 'Europe/Berlin' },
        },
      ],
      [
        'text in many scripts',
        { ...meeting, title: 'Übung 会議 👩‍🚀', description: 'A\nB', location: '«ici»' },
      ],
      [
        'a free, tentative, private event',
        { ...meeting, busy: false, status: 'tentative', visibility: 'private' },
      ],
      [
        'participants with answers',
        {
          ...meeting,
          participants: [
            { ...guest('a@elsewhere.test', 'yes'), name: 'A' },
            guest('b@elsewhere.test'),
          ],
        },
      ],
      [
        'reminders',
        { ...meeting, reminders: { reminder_minutes: '[10,60]', reminder_method: 'email' } },
      ],
      [
        'a meeting of another service',
        {
          ...meeting,
          conferencing: {
            provider: 'Zoom Meeting',
            details: {
              url: 'https://zoom.test/j/1',
              meeting_code: '1',
              password: 'secret',
              pin: '99',
              phone: ['+1 555 0100'],
            },
          },
        },
      ],
      [
        'a meeting at Google that exists already',
        {
          ...meeting,
          conferencing: {
            provider: 'Google Meet',
            details: { url: 'https://meet.google.com/abc-defg-hij' },
          },
        },
      ],
    ];
    it.each(contents)('reads %s as it was written', async (_what, content) => {
      const { create, since, calendar, account } = begin();
      const { providerId } = await create(content);
      const [event] = (await since(null)).events;
      const stored = calendar.asStored(account, content);
      expect(event?.content).toEqual(stored);
      const {
        participants: _people,
        recurrence: _rules,
        conferencing: _meeting,
        ...same
      } = content;
      expect(stored).toMatchObject(same);
      // Writing it again changes nothing.
      const count = fixture.stub.requestsOf('PATCH').length;
      await calendar.updateEvent(account, providerId, content);
      expect(fixture.stub.requestsOf('PATCH')).toHaveLength(count);
    });

    it.each(contents)('changes an event to %s, and back', async (_what, content) => {
      const { create, since, calendar, account } = begin();
      const { providerId } = await create(meeting);
      await calendar.updateEvent(account, providerId, content, { base: meeting });
      const there = (await since(null)).events[0];
      expect(there?.content).toEqual(calendar.asStored(account, content));
      await calendar.updateEvent(account, providerId, meeting, { base: content });
      const back = (await since(null)).events[0];
      expect(back?.content).toEqual(calendar.asStored(account, meeting));
    });

    it('reads times without a zone, and writes other fields of such an event without a conflict', async () => {
      const { create, since, calendar, account, stored, read } = begin();
      const { providerId } = await create(meeting);
      const event = stored.find(own(providerId))!.event;
      const start = { dateTime: '2030-03-11T09:00:00+01:00' };
      stored.put({ ...event, start, end: { dateTime: '2030-03-11T10:00:00+01:00' } });
      const [listed] = (await since(null)).events;
      const when = { object: 'timespan', start_time: START, end_time: START + HOUR };
      expect(listed?.content['when']).toEqual(when);
      const base = listed!.content;
      await calendar.updateEvent(account, providerId, { ...base, title: 'New' }, { base });
      expect(read(providerId)).toMatchObject({ summary: 'New', start });
    });

    it('keeps what the API does not have: dates of a series, colours, properties of guests', async () => {
      const { create, calendar, account, web, read } = begin();
      const participants = [guest('a@elsewhere.test')];
      const content = { ...weekly, participants };
      const { providerId } = await create(content);
      await web('PATCH', providerId, {
        colorId: '3',
        recurrence: ['RRULE:FREQ=WEEKLY;COUNT=6', 'RDATE;TZID=Europe/Berlin:20301224T090000'],
        attendees: [{ email: 'a@elsewhere.test', optional: true, additionalGuests: 2 }],
      });
      const recurrence = { rrule: ['RRULE:FREQ=WEEKLY;COUNT=3'], timezone: 'Europe/Berlin' };
      const more = [...participants, guest('b@elsewhere.test')];
      await calendar.updateEvent(
        account,
        providerId,
        { ...content, recurrence, participants: more },
        { base: content },
      );
      expect(read(providerId)).toMatchObject({
        colorId: '3',
        recurrence: ['RRULE:FREQ=WEEKLY;COUNT=3', 'RDATE;TZID=Europe/Berlin:20301224T090000'],
        attendees: [{ optional: true, additionalGuests: 2 }, { email: 'b@elsewhere.test' }],
      });
    });

    it('hides the participants from each other, and shows them again', async () => {
      const { create, calendar, account, read } = begin();
      const content = { ...meeting, participants: [guest('a@elsewhere.test')] };
      const hidden = { ...content, hide_participants: true };
      const shown = { ...content, hide_participants: false };
      const { providerId } = await create(shown);
      expect(read(providerId).guestsCanSeeOtherGuests).toBeUndefined();
      await calendar.updateEvent(account, providerId, hidden, { base: shown });
      expect(read(providerId).guestsCanSeeOtherGuests).toBe(false);
      await calendar.updateEvent(account, providerId, shown, { base: hidden });
      expect(read(providerId).guestsCanSeeOtherGuests).toBe(true);
    });
  });

  describe('writes', () => {
    const invited = { ...meeting, participants: [guest('a@elsewhere.test')] };

    it('creates an event and mails its participants once, although the response is lost', async () => {
      const { create, fault, mails, since } = begin();
      const key = randomUUID();
      fault('POST', 'drop-after-done');
      expect(await codeOf(create(invited, { notify: true }, key))).toBe('temporary');
      const { providerId } = await create(invited, { notify: true }, key);
      expect(mails()).toEqual(['invitation a@elsewhere.test']);
      expect((await since(null)).present).toEqual([providerId]);
    });

    it('mails participants once about a change and a deletion, although responses are lost', async () => {
      const { create, calendar, account, fault, mails } = begin();
      const { providerId } = await create(invited);
      expect(mails()).toEqual([]);
      const changed = { ...invited, title: 'Other' };
      const options = { base: invited, notify: true };
      fault('PATCH', '504-after-done');
      expect(await codeOf(calendar.updateEvent(account, providerId, changed, options))).toBe(
        'temporary',
      );
      await calendar.updateEvent(account, providerId, changed, options);
      expect(mails()).toEqual(['update a@elsewhere.test']);
      fault('DELETE', 'drop-after-done');
      expect(await codeOf(calendar.deleteEvent(account, providerId, { notify: true }))).toBe(
        'temporary',
      );
      await calendar.deleteEvent(account, providerId, { notify: true });
      expect(mails()).toEqual(['update a@elsewhere.test', 'cancellation a@elsewhere.test']);
    });

    it('mails nobody if it is not asked to', async () => {
      const { create, calendar, account, mails } = begin();
      const { providerId } = await create(invited);
      await calendar.updateEvent(
        account,
        providerId,
        { ...invited, title: 'B' },
        { base: invited },
      );
      await calendar.deleteEvent(account, providerId);
      expect(mails()).toEqual([]);
    });

    it('merges with a change that another program makes between its read and its write', async () => {
      const { create, calendar, account, fault, read } = begin();
      const { providerId } = await create(meeting);
      fault('PATCH', {
        status: 412,
        body: { error: { code: 412, message: 'Precondition Failed' } },
      });
      await calendar.updateEvent(
        account,
        providerId,
        { ...meeting, title: 'A' },
        { base: meeting },
      );
      expect(read(providerId).summary).toBe('A');
    });

    it('reports a temporary failure after five attempts if other programs keep changing the event', async () => {
      const { create, calendar, account, fault } = begin();
      const { providerId } = await create(meeting);
      const answer = {
        status: 412,
        body: { error: { code: 412, message: 'Precondition Failed' } },
      };
      fault('PATCH', answer, 5);
      expect(
        await codeOf(calendar.updateEvent(account, providerId, { ...meeting, title: 'A' })),
      ).toBe('temporary');
    });

    it('raises the sequence to the one that is asked for', async () => {
      const { create, calendar, account, read } = begin();
      const { providerId, sequence } = await create(meeting, { sequence: 3 });
      expect(sequence).toBe(3);
      const later = { ...meeting, when: timespan(START + HOUR) };
      const result = await calendar.updateEvent(account, providerId, later, {
        base: meeting,
        sequence: 7,
      });
      expect([result.sequence, read(providerId).sequence]).toEqual([7, 7]);
    });

    it.each([
      [401, 'authError', 'auth-invalid'],
      [403, 'userRateLimitExceeded', 'rate-limited'],
      [403, 'requiredAccessLevel', 'rejected'],
      [404, 'notFound', 'not-found'],
      [500, 'backendError', 'temporary'],
      [503, 'backendError', 'temporary'],
    ])('reports %s %s as %s', async (status, reason, code) => {
      const { create, fault } = begin();
      const error = {
        code: status,
        message: 'No',
        errors: [{ reason, domain: 'x', message: 'No' }],
      };
      fault('POST', { status, body: { error } });
      expect(await codeOf(create(meeting))).toBe(code);
    });

    it('waits as long as a 429 says', async () => {
      const { create, fault } = begin();
      const headers = { 'retry-after': '7' };
      fault('POST', { status: 429, headers, body: { error: { code: 429, message: 'Slow down' } } });
      await expect(create(meeting)).rejects.toMatchObject({
        code: 'rate-limited',
        retryAfterSeconds: 7,
      });
    });
  });

  describe('answers', () => {
    async function invite() {
      const host = begin();
      const one = begin();
      const participants = [guest(one.id), guest('b@elsewhere.test')];
      const { providerId } = await host.create({ ...meeting, participants });
      const [event] = (await one.since(null)).events;
      return { host, one, hostId: providerId, guestId: event!.providerId };
    }

    it('answers an invitation once, with one mail to the organizer', async () => {
      const { host, one, hostId, guestId } = await invite();
      const yes = { status: 'yes', comment: 'Gladly', notify: true } as const;
      one.fault('PATCH', 'drop-after-done');
      expect(await codeOf(one.calendar.respond(one.account, guestId, yes))).toBe('temporary');
      await one.calendar.respond(one.account, guestId, yes);
      expect(host.read(hostId).attendees).toEqual([
        { email: one.id, responseStatus: 'accepted', comment: 'Gladly' },
        { email: 'b@elsewhere.test', responseStatus: 'needsAction' },
      ]);
      expect(host.mails()).toEqual([`reply ${host.id}`]);
      await one.calendar.respond(one.account, guestId, { ...yes, status: 'no', notify: false });
      expect(host.read(hostId).attendees[0].responseStatus).toBe('declined');
      expect(host.mails()).toEqual([`reply ${host.id}`]);
    });

    it('answers for itself only if Google does not show the other guests', async () => {
      const { one, guestId } = await invite();
      const event = one.stored.find(own(guestId))!.event;
      const attendees = event.attendees!.filter(({ email }) => email === one.id);
      one.stored.put({ ...event, attendees, attendeesOmitted: true });
      const maybe = { status: 'maybe', comment: null, notify: false } as const;
      await one.calendar.respond(one.account, guestId, maybe);
      const [patch] = fixture.stub.requestsOf('PATCH').slice(-1);
      expect(patch?.json).toMatchObject({
        attendeesOmitted: true,
        attendees: [{ email: one.id, responseStatus: 'tentative' }],
      });
    });

    it('refuses to answer for an account that is not invited', async () => {
      const { create, calendar, account } = begin();
      const { providerId } = await create(meeting);
      const no = { status: 'no', comment: null, notify: true } as const;
      expect(await codeOf(calendar.respond(account, providerId, no))).toBe('rejected');
    });
  });

  describe('meetings', () => {
    it('creates a meeting with an event once, although the response is lost', async () => {
      const { create, fault, since, read } = begin();
      const key = randomUUID();
      const options = { meeting: { provider: 'Google Meet', key: randomUUID() } } as const;
      fault('POST', 'drop-after-done');
      expect(await codeOf(create(meeting, options, key))).toBe('temporary');
      const made = await create(meeting, options, key);
      const url = read(made.providerId).hangoutLink as string;
      expect(made.meeting).toEqual({
        url,
        meeting_code: url.replace('https://meet.google.com/', ''),
      });
      expect((await since(null)).events[0]?.content['conferencing']).toEqual({
        provider: 'Google Meet',
        details: made.meeting,
      });
    });

    it('adds a meeting to an event, keeps it when other fields change, and removes it', async () => {
      const { create, calendar, account, read } = begin();
      const { providerId } = await create(meeting);
      const native = { provider: 'Google Meet', key: randomUUID() } as const;
      const added = await calendar.updateEvent(account, providerId, meeting, { meeting: native });
      const details = added.meeting as { url: string };
      const base = { ...meeting, conferencing: { provider: 'Google Meet', details } };
      await calendar.updateEvent(account, providerId, { ...base, title: 'New' });
      expect(read(providerId)).toMatchObject({ summary: 'New', hangoutLink: details.url });
      await calendar.updateEvent(account, providerId, { ...meeting, conferencing: null }, { base });
      expect(read(providerId).hangoutLink).toBeUndefined();
    });

    it('reports a meeting as pending until Google has created it', async () => {
      const { create, stored, since } = begin();
      const { providerId } = await create(meeting);
      const event = stored.find(own(providerId))!.event;
      const requestId = randomUUID();
      const createRequest = { requestId, status: { statusCode: 'pending' } };
      stored.put({ ...event, conferenceData: { createRequest } });
      const pending = await since(null);
      expect(pending.events[0]?.content).not.toHaveProperty('conferencing');
      const key = own(providerId).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
      const again = await create(
        meeting,
        { meeting: { provider: 'Google Meet', key: requestId } },
        key,
      );
      expect(again).toMatchObject({ providerId, meeting: 'pending' });
    });

    it('writes an event without a meeting that Google refuses, with its address as the location', async () => {
      const { create, calendar, account, fault, since, read } = begin();
      const url = 'https://zoom.test/j/1';
      const content = { ...meeting, conferencing: { provider: 'Zoom Meeting', details: { url } } };
      const error = { code: 400, message: 'Invalid conference data.' };
      fault('POST', { status: 400, body: { error } });
      const { providerId } = await create(content);
      expect(read(providerId)).toMatchObject({ summary: 'Meeting', location: url });
      expect((await since(null)).events[0]?.content).not.toHaveProperty('conferencing');
      // Later the meeting is removed.
      const after = { ...content, location: url, conferencing: null };
      await calendar.updateEvent(account, providerId, after, { base: content });
      expect((await since(null)).events[0]?.content).toMatchObject({ conferencing: null });
    });
  });

  describe('calendars', () => {
    it('leaves a mark in the description of a new calendar for Google only, until it is changed', async () => {
      const { calendar, account } = begin();
      const team = { name: 'Team', description: 'Ours', location: null, timezone: 'Asia/Tokyo' };
      const key = randomUUID();
      const { providerId } = await calendar.createCalendar(account, key, team);
      const there = fixture.stub.calendars.all.get(providerId)!;
      expect(there.settings.description).toBe(`Ours\n\ncarillon:${key}`);
      expect(await calendar.listCalendars(account)).toMatchObject([{}, team]);
      await calendar.updateCalendar(account, providerId, { ...team, name: 'Crew' });
      expect(there.settings).toMatchObject({ summary: 'Crew', description: 'Ours' });
    });

    it('lists calendars of others as read-only unless it may write, and leaves out those with busy times only', async () => {
      const { calendar, account, id } = begin();
      const other = begin();
      const names = ['owner', 'writer', 'reader', 'freeBusyReader'] as const;
      for (const role of names) {
        const shared = fixture.stub.calendars.addSecondary(other.id, {
          summary: role,
          timeZone: 'UTC',
        });
        shared.access.set(id, role);
        fixture.stub.calendars.list(id, shared.id, {});
      }
      const listed = await calendar.listCalendars(account);
      expect(listed.map(({ name, readOnly }) => [name, readOnly])).toEqual([
        [id, false],
        ['owner', false],
        ['writer', false],
        ['reader', true],
      ]);
    });

    it('has no calendars if the user has not agreed to them', async () => {
      const { calendar, account } = begin();
      const accessToken = fixture.stub.oauth.accessTokenFor(account.email, ['openid']);
      expect(await calendar.listCalendars({ ...account, accessToken })).toEqual([]);
    });

    it('reads busy times of colleagues, and says for whom there are none', async () => {
      const { create, calendar, account, id } = begin();
      const other = begin();
      await create({ ...meeting, busy: false, when: timespan(START + 5 * HOUR) });
      await other.create(meeting);
      const emails = [id, other.id, 'nobody@elsewhere.test'];
      const { signal } = new AbortController();
      const range = { start: START - HOUR, end: START + 1800 };
      const found = await calendar.freeBusy(account, { emails, ...range, signal });
      expect(found).toEqual([
        { email: id, busy: [] },
        { email: other.id, busy: [{ start: START, end: START + 1800 }] },
        { email: 'nobody@elsewhere.test', unknown: expect.stringContaining('does not know') },
      ]);
    });

    it('lists the rooms that the account has in its list of calendars', async () => {
      const { calendar, account, id } = begin();
      const room = `c_${randomUUID()}@resource.calendar.google.com`;
      fixture.stub.calendars.addRoom(room, 'Attic');
      fixture.stub.calendars.all.get(room)!.access.set(id, 'freeBusyReader');
      fixture.stub.calendars.list(id, room, {});
      const empty = { capacity: '', building: '', floorName: '', floorNumber: '' };
      const { signal } = new AbortController();
      expect(await calendar.rooms(account, signal)).toEqual([
        { email: room, name: 'Attic', ...empty },
      ]);
    });

    it('lists the rooms of the directory for an administrator', async () => {
      const { calendar, account } = begin();
      const room = `c_${randomUUID()}@resource.calendar.google.com`;
      fixture.stub.calendars.addRoom(room, 'Cellar', 12, 'West');
      const { signal } = new AbortController();
      const providerScopes = ['admin.directory.resource.calendar.readonly'].map(scope);
      const accessToken = fixture.stub.oauth.accessTokenFor(account.email, providerScopes);
      const rooms = await calendar.rooms({ ...account, accessToken, providerScopes }, signal);
      expect(rooms).toContainEqual({
        email: room,
        name: 'Cellar',
        capacity: '12',
        building: 'West',
        floorName: '',
        floorNumber: '',
      });
    });
  });
});
