import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type {
  EventContent,
  ProviderAccount,
  WriteNotes,
} from '../../src/providers/port/connector.ts';
import { allEventChanges } from '../support/calendar-contract.ts';
import { codeOf } from '../support/contract-tools.ts';
import { GraphClient } from '../support/microsoft/graph-client.ts';
import type { Json } from '../support/microsoft/http/types.ts';
import { MicrosoftFixture } from '../support/microsoft-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { until } from '../support/until.ts';

const IMMUTABLE = { prefer: 'IdType="ImmutableId"' };
/** Monday, March 18, 2030, 09:00 in Berlin. */
const MONDAY = 1_900_051_200;
const WEEK = 604_800;
const timespan = (start_time: number) => ({
  object: 'timespan',
  start_time,
  end_time: start_time + 3600,
  start_timezone: 'Europe/Berlin',
  end_timezone: 'Europe/Berlin',
});
const plan: EventContent = { title: 'Plan', when: timespan(MONDAY) };
const weekly: EventContent = {
  ...plan,
  recurrence: { rrule: ['RRULE:FREQ=WEEKLY;COUNT=5'], timezone: 'Europe/Berlin' },
};
const guest = (email: string) => ({
  email,
  name: '',
  status: 'noreply',
  comment: null,
  phone_number: null,
});

const excludingThird = {
  rrule: ['RRULE:FREQ=WEEKLY;COUNT=5', 'EXDATE;TZID=Europe/Berlin:20300401T090000'],
  timezone: 'Europe/Berlin',
};

/** Notes that survive an attempt. */
class KeptNotes implements WriteNotes {
  text: string | null = null;

  store(text: string): Promise<void> {
    this.text = text;
    return Promise.resolve();
  }
}

describe('events of an account at the stub of Microsoft', () => {
  let fixture: MicrosoftFixture;
  let account: ProviderAccount;
  let calendarId: string;
  /** Another program of the same person. */
  let outlook: GraphClient;

  beforeAll(async () => {
    fixture = await MicrosoftFixture.start();
  });
  beforeEach(async () => {
    account = fixture.account();
    outlook = new GraphClient(fixture.stub, account.accessToken ?? '');
    const [primary] = await calendar().listCalendars(account);
    calendarId = primary?.providerId ?? '';
    fixture.stub.world.meetingMails.length = 0;
    fixture.stub.requests.length = 0;
  });
  afterEach(() => {
    fixture.stub.faults.clear();
    expectDocumented(fixture.stub);
  });
  afterAll(() => fixture.stop());

  const calendar = () => fixture.connector.calendar;
  /** A weekly series with two changed instances and a deleted one. */
  async function changedSeries() {
    const { providerId: series } = await create(weekly);
    const at = (start: string) => ({ series, start });
    const second = { ...plan, when: timespan(MONDAY + WEEK) };
    const fourth = { ...plan, when: timespan(MONDAY + 3 * WEEK) };
    await calendar().writeInstance(
      account,
      at('20300325T080000Z'),
      { ...second, title: 'Kept' },
      { base: second },
    );
    await calendar().deleteInstance(account, at('20300401T070000Z'));
    await calendar().writeInstance(
      account,
      at('20300408T070000Z'),
      { ...fourth, location: 'Moved' },
      { base: fourth },
    );
    return { series };
  }
  const create = (content: EventContent, key = randomUUID()) =>
    calendar().createEvent(account, calendarId, key, content);
  const since = (cursor: string | null = null) =>
    allEventChanges(calendar(), account, calendarId, cursor);
  const asked = (method: string) =>
    fixture.stub.requests.filter((request) => request.method === method).length;
  const fault = (method: string, answer: Parameters<typeof fixture.stub.faults.add>[0]['answer']) =>
    fixture.stub.faults.add({ match: (request) => request.method === method, answer });
  const refusal = (status: number, code: string, headers: Record<string, string> = {}) => ({
    status,
    headers,
    body: { error: { code, message: code } },
  });
  const inOutlook = async (method: string, path: string, body?: Json) => {
    const answer = await outlook.send(method, `me/${path}`, body, IMMUTABLE);
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const instances = async (id: string) => {
    const window = 'startDateTime=2030-01-01T00:00:00Z&endDateTime=2031-01-01T00:00:00Z';
    return outlook.list(`me/events/${id}/instances?${window}&$top=100`, IMMUTABLE);
  };
  /** Starts of the instances that take place, in weeks after the first. */
  const weeks = async (id: string) =>
    (await instances(id)).map(({ originalStart }) =>
      Math.round((Date.parse(String(originalStart)) / 1000 - MONDAY) / WEEK),
    );
  const mails = () => fixture.stub.world.meetingMails.map(({ kind, to }) => [kind, ...to]);

  it('reads each field as it was written', async () => {
    const written: EventContent = {
      title: 'Räte & <Tage>',
      description: 'One\n\n<two> & three',
      location: 'Room 1',
      when: timespan(MONDAY),
      busy: false,
      visibility: 'private',
      participants: [guest('bea@elsewhere.test')],
      recurrence: null,
      reminders: { reminder_minutes: '[30]', reminder_method: 'popup' },
    };
    const { providerId } = await create(written);
    const [event] = (await since()).events;
    expect(event).toMatchObject({ providerId, content: written });
    expect(event?.organizer?.email).toBe(account.email);
    expect(calendar().asStored(account, written)).toEqual(written);
  });

  it.each([
    { object: 'date', date: '2030-03-18' },
    { object: 'datespan', start_date: '2030-03-18', end_date: '2030-03-20' },
    { object: 'time', time: MONDAY, timezone: 'America/New_York' },
    { ...timespan(MONDAY), end_timezone: 'Asia/Tokyo' },
  ])('keeps the time $object', async (when) => {
    await create({ ...plan, when });
    expect((await since()).events[0]?.content['when']).toEqual(when);
  });

  it('reads an all-day event that was made in another zone as the same day', async () => {
    await inOutlook('POST', 'events', {
      subject: 'Holiday',
      isAllDay: true,
      start: { dateTime: '2030-03-18T00:00:00', timeZone: 'Pacific Standard Time' },
      end: { dateTime: '2030-03-20T00:00:00', timeZone: 'Pacific Standard Time' },
    });
    const when = { object: 'datespan', start_date: '2030-03-18', end_date: '2030-03-19' };
    expect((await since()).events[0]?.content).toMatchObject({ title: 'Holiday', when });
  });

  it('creates one event and mails once when the response to the creation is lost', async () => {
    const [key, event] = [randomUUID(), { ...plan, participants: [guest('bea@elsewhere.test')] }];
    fault('POST', '504-after-done');
    expect(await codeOf(create(event, key))).toBe('temporary');
    const { providerId } = await create(event, key);
    expect((await since()).events.map((one) => one.providerId)).toEqual([providerId]);
    expect(mails()).toEqual([['request', 'bea@elsewhere.test']]);
  });

  it('mails nobody when a repeated write changes nothing', async () => {
    const event = { ...plan, participants: [guest('bea@elsewhere.test')] };
    const { providerId } = await create(event);
    const changed = { ...event, title: 'New' };
    fault('PATCH', '504-after-done');
    expect(
      await codeOf(calendar().updateEvent(account, providerId, changed, { base: event })),
    ).toBe('temporary');
    await calendar().updateEvent(account, providerId, changed, { base: event });
    await calendar().updateEvent(account, providerId, changed);
    expect(mails()).toEqual([
      ['request', 'bea@elsewhere.test'],
      ['update', 'bea@elsewhere.test'],
    ]);
  });

  it('merges with a change that another program makes at the same time', async () => {
    const { providerId } = await create(plan);
    let raced = false;
    fixture.stub.faults.add({
      match: ({ method, headers }) => {
        const isOurs = method === 'PATCH' && headers['if-match'] !== undefined && !raced;
        if (isOurs) {
          raced = true;
          const event = fixture.stub.user(account.email).calendars.event(providerId);
          const { calendars } = fixture.stub.user(account.email);
          calendars.update(event!, { location: { displayName: 'Theirs' } });
        }
        return isOurs;
      },
      answer: 'none',
    });
    await calendar().updateEvent(account, providerId, { ...plan, title: 'Ours' }, { base: plan });
    expect(raced).toBe(true);
    expect(asked('PATCH')).toBe(2);
    expect((await since()).events[0]?.content).toMatchObject({ title: 'Ours', location: 'Theirs' });
  });

  it.each([
    [429, 'ApplicationThrottled', 'rate-limited'],
    [503, 'ErrorServerBusy', 'temporary'],
    [500, 'ErrorInternalServerError', 'temporary'],
    [400, 'ErrorInvalidRequest', 'rejected'],
  ])(
    'reports the status %s with %s as %s, and the repeated write succeeds',
    async (status, code, expected) => {
      const other = fixture.account();
      const [primary] = await calendar().listCalendars(other);
      fault('POST', refusal(status, code, status === 429 ? { 'retry-after': '1' } : {}));
      const [id, key] = [primary?.providerId ?? '', randomUUID()];
      const write = () => calendar().createEvent(other, id, key, plan);
      expect(await codeOf(write())).toBe(expected);
      // After 429 the budget lets nothing pass for a while.
      await until('the write succeeds', async () => (await codeOf(write())) === 'succeeded');
      expect((await allEventChanges(calendar(), other, id)).events).toHaveLength(1);
    },
  );

  it('notices a deleted event although another one was created in the meantime', async () => {
    const first = await create(plan);
    const { cursor } = await since();
    await inOutlook('DELETE', `events/${first.providerId}`);
    const second = await create({ ...plan, title: 'Second' });
    const changes = await since(cursor);
    expect(changes.removed).toEqual([first.providerId]);
    expect(changes.events.map(({ providerId }) => providerId)).toEqual([second.providerId]);
  });

  /** Graph lists the event or instance, and does not find it. */
  const hide = (id: string) =>
    fixture.stub.faults.add({
      match: ({ method, path }) =>
        method === 'GET' && path.endsWith(`/events/${encodeURIComponent(id)}`),
      answer: refusal(404, 'ErrorItemNotFound'),
      times: 100,
    });

  it('skips an event that is listed and not found, and asks for it again', async () => {
    const kept = await create({ ...plan, title: 'Kept' });
    const { cursor } = await since();
    const hidden = await create({ ...plan, title: 'Hidden' });
    await calendar().updateEvent(account, kept.providerId, { ...plan, title: 'New' });
    hide(hidden.providerId);
    const list = (at: string) => calendar().listEventChanges(account, calendarId, at, 100);
    const first = await list(cursor);
    expect(first).toMatchObject({
      events: [{ content: { title: 'New' } }],
      removed: [],
      unread: [{ providerId: hidden.providerId }],
      more: false,
    });
    const second = await list(first.cursor);
    expect(second).toMatchObject({ events: [], removed: [], more: false });
    fixture.stub.faults.clear();
    expect(await list(second.cursor)).toMatchObject({
      events: [{ content: { title: 'Hidden' } }],
      read: [hidden.providerId],
      unread: [],
    });
  });

  it('skips a series with an instance that is listed and not found', async () => {
    const { series } = await changedSeries();
    const whole = await since();
    const instance = whole.events.find(({ masterProviderId }) => masterProviderId !== null);
    hide(instance!.providerId);
    const other = await create({ ...plan, title: 'Other' });
    const list = (at: string | null) => calendar().listEventChanges(account, calendarId, at, 100);
    const first = await list(null);
    expect(first.events).toMatchObject([{ providerId: other.providerId }]);
    expect(first.present).toContain(series);
    expect(first.unread?.[0]).toMatchObject({ providerId: series });
    fixture.stub.faults.clear();
    expect((await list(first.cursor)).events).toHaveLength(whole.events.length);
  });

  it('polls with two requests when nothing has changed', async () => {
    for (let n = 0; n < 3; n++) await create({ ...plan, title: `Event ${n}` });
    const { cursor } = await since();
    fixture.stub.requests.length = 0;
    expect((await since(cursor)).events).toEqual([]);
    expect(fixture.stub.requests).toHaveLength(2);
  });

  it('keeps its cursor when a request of the poll fails', async () => {
    const { cursor } = await since();
    const { providerId } = await create(plan);
    fault('GET', refusal(503, 'ErrorServerBusy'));
    expect(await codeOf(since(cursor))).toBe('temporary');
    expect((await since(cursor)).events.map((one) => one.providerId)).toEqual([providerId]);
  });

  it('reports a series whole when an instance is moved, deleted or put back in Outlook', async () => {
    const { providerId: series } = await create(weekly);
    const { cursor } = await since();
    const [, second, third] = await instances(series);
    const moved = '2030-05-20T10:00:00';
    await inOutlook('PATCH', `events/${String(second?.['id'])}`, {
      subject: 'Moved',
      start: { dateTime: moved, timeZone: 'UTC' },
      end: { dateTime: '2030-05-20T11:00:00', timeZone: 'UTC' },
    });
    await inOutlook('DELETE', `events/${String(third?.['id'])}`);
    const changes = await since(cursor);
    expect(changes.events).toMatchObject([
      {
        providerId: series,
        content: {
          recurrence: {
            rrule: ['RRULE:FREQ=WEEKLY;COUNT=5', 'EXDATE;TZID=Europe/Berlin:20300401T090000'],
          },
        },
      },
      {
        masterProviderId: series,
        originalStartTime: MONDAY + WEEK,
        content: { title: 'Moved', when: { start_time: Date.parse(`${moved}Z`) / 1000 } },
      },
    ]);
    const [, instance] = changes.events;
    await calendar().resetInstance(account, instance?.providerId ?? '');
    const later = await since(changes.cursor);
    expect(later.events.map(({ providerId }) => providerId)).toEqual([series]);
    expect((await since(later.cursor)).events).toEqual([]);
  });

  it('writes an instance that was moved far away, by its original start', async () => {
    const { providerId: series } = await create(weekly);
    const at = { series, start: '20300325T080000Z' };
    const base = { ...plan, when: timespan(MONDAY + WEEK) };
    const far = { ...base, when: timespan(MONDAY + 20 * WEEK) };
    const first = await calendar().writeInstance(account, at, far, { base });
    const second = await calendar().writeInstance(
      account,
      at,
      { ...far, title: 'Far' },
      { base: far },
    );
    expect(second).toEqual(first);
    await calendar().deleteInstance(account, at);
    expect(await weeks(series)).toEqual([0, 2, 3, 4]);
  });

  it('creates a series without its excluded starts', async () => {
    const rrule = ['RRULE:FREQ=WEEKLY;COUNT=5', 'EXDATE;TZID=Europe/Berlin:20300325T090000'];
    const key = randomUUID();
    const event = { ...weekly, recurrence: { rrule, timezone: 'Europe/Berlin' } };
    const { providerId } = await create(event, key);
    await create(event, key);
    expect(await weeks(providerId)).toEqual([0, 2, 3, 4]);
    expect((await since()).events[0]?.content['recurrence']).toEqual(event.recurrence);
  });

  it('deletes one more occurrence without writing the rule, so that other changes stay', async () => {
    const { providerId: series } = await create(weekly);
    const at = { series, start: '20300325T080000Z' };
    const instance = { ...plan, when: timespan(MONDAY + WEEK) };
    await calendar().writeInstance(account, at, { ...instance, title: 'Kept' }, { base: instance });
    fixture.stub.requests.length = 0;
    const rrule = ['RRULE:FREQ=WEEKLY;COUNT=5', 'EXDATE;TZID=Europe/Berlin:20300401T090000'];
    const next = { ...weekly, recurrence: { rrule, timezone: 'Europe/Berlin' } };
    await calendar().updateEvent(account, series, next, { base: weekly });
    expect(asked('PATCH')).toBe(0);
    expect(await weeks(series)).toEqual([0, 1, 3, 4]);
    expect((await instances(series))[1]).toMatchObject({ subject: 'Kept' });
  });

  it('keeps changed and deleted instances when the rule changes, and takes deleted ones back', async () => {
    const { providerId: series } = await create(weekly);
    const at = (start: string) => ({ series, start });
    const instance = { ...plan, when: timespan(MONDAY + WEEK) };
    await calendar().writeInstance(
      account,
      at('20300325T080000Z'),
      { ...instance, title: 'Kept' },
      { base: instance },
    );
    await calendar().deleteInstance(account, at('20300401T070000Z'));
    const longer = {
      ...weekly,
      recurrence: { rrule: ['RRULE:FREQ=WEEKLY;COUNT=6'], timezone: 'Europe/Berlin' },
    };
    await calendar().updateEvent(account, series, longer, { base: weekly });
    expect(await weeks(series)).toEqual([0, 1, 3, 4, 5]);
    const [master, kept] = (await since()).events;
    expect(kept?.content).toMatchObject({ title: 'Kept' });
    await calendar().updateEvent(account, series, longer, { base: { ...master!.content } });
    expect(await weeks(series)).toEqual([0, 1, 2, 3, 4, 5]);
    expect((await instances(series))[1]).toMatchObject({ subject: 'Kept' });
  });

  it('keeps changed and deleted instances when only the end of the series changes', async () => {
    const { series } = await changedSeries();
    const when = { ...timespan(MONDAY), end_time: MONDAY + 7200 };
    const base = { ...weekly, recurrence: excludingThird };
    await calendar().updateEvent(account, series, { ...base, when }, { base });
    expect(await weeks(series)).toEqual([0, 1, 3, 4]);
    expect((await instances(series))[1]).toMatchObject({ subject: 'Kept' });
  });

  it('keeps changed instances when the process dies after any request of a change of the rule', async () => {
    const rrule = ['RRULE:FREQ=WEEKLY;COUNT=6', ...excludingThird.rrule.slice(1)];
    const longer = { ...weekly, recurrence: { ...excludingThird, rrule } };
    const base = { ...weekly, recurrence: excludingThird };
    let isWhole = false;
    for (let done = 0; !isWhole; done++) {
      const { series } = await changedSeries();
      const notes = new KeptNotes();
      const update = () => calendar().updateEvent(account, series, longer, { base, notes });
      fixture.stub.requests.length = 0;
      const isLater = () => fixture.stub.requests.length >= done;
      fixture.stub.faults.add({ match: isLater, answer: 'drop-after-done' });
      fixture.stub.faults.add({ match: isLater, times: Infinity, answer: 'drop' });
      isWhole = (await codeOf(update())) === 'succeeded';
      fixture.stub.faults.clear();
      await update();
      expect([done, await weeks(series)]).toEqual([done, [0, 1, 3, 4, 5]]);
      const [, kept, moved] = await instances(series);
      expect([done, kept]).toMatchObject([done, { subject: 'Kept' }]);
      expect([done, moved]).toMatchObject([done, { location: { displayName: 'Moved' } }]);
      await calendar().deleteEvent(account, series);
    }
  });

  it('refuses a rule that Microsoft cannot repeat, without a request', async () => {
    const rrule = ['RRULE:FREQ=HOURLY;COUNT=3'];
    const work = create({ ...plan, recurrence: { rrule, timezone: 'UTC' } });
    expect(await codeOf(work)).toBe('rejected');
    await expect(work).rejects.toThrow('FREQ=HOURLY');
    expect(asked('POST')).toBe(0);
  });

  it('puts the address of a meeting of another service into the location', async () => {
    const conferencing = { provider: 'Zoom Meeting', details: { url: 'https://zoom.test/1' } };
    const event = { ...plan, location: '', conferencing };
    await create(event);
    const [stored] = (await since()).events;
    expect(stored?.content).toMatchObject({ location: 'https://zoom.test/1' });
    expect(stored?.content).not.toHaveProperty('conferencing');
    expect(calendar().asStored(account, event)).toMatchObject({
      location: 'https://zoom.test/1',
      conferencing,
    });
  });

  it('creates a Teams meeting with the event, reports it, and keeps it when the text changes', async () => {
    const meeting = { provider: 'Microsoft Teams', key: randomUUID() } as const;
    const created = await calendar().createEvent(account, calendarId, randomUUID(), plan, {
      meeting,
    });
    expect(created.meeting).toMatchObject({ url: expect.stringContaining('teams.microsoft.com') });
    const event = fixture.stub.user(account.email).calendars.event(created.providerId)!;
    const how = '<div class="me-email-text">Join the meeting</div>';
    event.body = {
      contentType: 'html',
      content: `<html><body>Old<br>${'_'.repeat(80)}<br>${how}</body></html>`,
    };
    const [read] = (await since()).events;
    expect(read?.content).toMatchObject({
      description: 'Old',
      conferencing: { provider: 'Microsoft Teams', details: created.meeting },
    });
    await calendar().updateEvent(
      account,
      created.providerId,
      { ...plan, description: 'New & <old>' },
      { base: { ...plan, description: 'Old' } },
    );
    expect(event.body.content).toContain('Join the meeting');
    expect(event.body.content).not.toContain('>Old');
    expect((await since()).events[0]?.content['description']).toBe('New & <old>');
  });

  it('refuses a meeting of Teams at once if the calendar does not allow any', async () => {
    const meeting = { provider: 'Microsoft Teams', key: randomUUID() } as const;
    const { providerId } = await create(plan);
    fixture.stub.settings.meetingProviders = ['skypeForConsumer'];
    try {
      const refusal = {
        code: 'rejected',
        message: expect.stringContaining('allows only skypeForConsumer'),
      };
      const creation = calendar().createEvent(account, calendarId, randomUUID(), plan, { meeting });
      await expect(creation).rejects.toMatchObject(refusal);
      const change = calendar().updateEvent(account, providerId, plan, { meeting });
      await expect(change).rejects.toMatchObject(refusal);
      expect(asked('PATCH')).toBe(0);
    } finally {
      fixture.stub.settings.meetingProviders = ['teamsForBusiness'];
    }
    expect((await since()).events).toHaveLength(1);
  });

  it('answers an invitation once, with a comment, and reports the answers of others', async () => {
    const other = fixture.account();
    const [primary] = await calendar().listCalendars(other);
    const participants = [guest(account.email)];
    await calendar().createEvent(other, primary?.providerId ?? '', randomUUID(), {
      ...plan,
      participants,
      hide_participants: true,
    });
    const [invitation] = (await since()).events;
    expect(invitation).toMatchObject({
      organizer: { email: other.email },
      content: { participants: [{ email: account.email, status: 'noreply' }] },
    });
    const answer = { status: 'maybe', comment: 'Late', notify: true } as const;
    fault('POST', '504-after-done');
    const respond = () => calendar().respond(account, invitation?.providerId ?? '', answer);
    expect(await codeOf(respond())).toBe('temporary');
    await respond();
    const sent = fixture.stub.world.meetingMails.filter(({ kind }) => kind === 'response');
    expect(sent).toMatchObject([{ to: [other.email], comment: 'Late' }]);
    const theirs = await allEventChanges(calendar(), other, primary?.providerId ?? '');
    expect(theirs.events[0]?.content).toMatchObject({ participants: [{ status: 'maybe' }] });
  });

  it('reports a meeting that its organizer cancelled as cancelled', async () => {
    const other = fixture.account();
    const [primary] = await calendar().listCalendars(other);
    const participants = [guest(account.email)];
    const made = await calendar().createEvent(other, primary?.providerId ?? '', randomUUID(), {
      ...plan,
      participants,
    });
    const { cursor } = await since();
    await calendar().deleteEvent(other, made.providerId);
    expect((await since(cursor)).events[0]?.content).toMatchObject({ status: 'cancelled' });
    expect(mails()).toEqual([
      ['request', account.email],
      ['cancellation', account.email],
    ]);
  });

  it('looks up more people and a longer time than one request takes', async () => {
    const people = Array.from({ length: 21 }, () => fixture.account());
    const busy = people[20]!;
    const [primary] = await calendar().listCalendars(busy);
    const day = 86_400;
    for (const start of [MONDAY, MONDAY + 80 * day])
      await calendar().createEvent(busy, primary?.providerId ?? '', randomUUID(), {
        ...plan,
        when: timespan(start),
      });
    const found = await calendar().freeBusy(account, {
      emails: people.map(({ email }) => email),
      start: MONDAY - day,
      end: MONDAY + 90 * day,
      signal: AbortSignal.timeout(30_000),
    });
    expect(found).toHaveLength(21);
    expect(found.find(({ email }) => email === busy.email)).toEqual({
      email: busy.email,
      busy: [MONDAY, MONDAY + 80 * day].map((start) => ({ start, end: start + 3600 })),
    });
  });

  it('lists the rooms of the organization', async () => {
    fixture.stub.addUser('room@contoso.test', { kind: 'room', displayName: 'Room' });
    const rooms = await calendar().rooms(account, AbortSignal.timeout(30_000));
    expect(rooms).toEqual([
      {
        email: 'room@contoso.test',
        name: 'Room',
        capacity: '8',
        building: 'Main',
        floorName: '',
        floorNumber: '1',
      },
    ]);
  });
});
