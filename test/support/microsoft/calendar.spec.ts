import { expectDocumented } from '../remote-stub/remote-stub.ts';
import { GraphClient } from './graph-client.ts';
import type { Json } from './http/types.ts';
import { MicrosoftStub } from './microsoft-stub.ts';

const SCOPES = ['Calendars.ReadWrite', 'Place.Read.All'];
const at = (day: string, time = '10:00', timeZone = 'Pacific Standard Time') => ({
  dateTime: `2026-11-${day}T${time}:00`,
  timeZone,
});
const WINDOW = 'startDateTime=2026-11-01T00:00:00Z&endDateTime=2026-12-01T00:00:00Z';
const person = (address: string, type = 'required') => ({ type, emailAddress: { address } });
const weekly = {
  pattern: { type: 'weekly', interval: 1, daysOfWeek: ['monday'], firstDayOfWeek: 'sunday' },
  range: { type: 'numbered', startDate: '2026-11-02', numberOfOccurrences: 3 },
};

describe('calendars of the stub of Microsoft', () => {
  let stub: MicrosoftStub;
  let ann: GraphClient;
  let bea: GraphClient;
  const client = (email: string) =>
    new GraphClient(stub, stub.tokensFor(email, SCOPES).accessToken);
  const create = async (more: Json = {}) => {
    const body = { subject: 'Plan', start: at('02'), end: at('02', '11:00'), ...more };
    const { status, body: event } = await ann.send('POST', 'me/events', body);
    if (status !== 201) throw new Error(JSON.stringify(event));
    return event;
  };

  beforeEach(async () => {
    stub = await MicrosoftStub.start();
    stub.addUser('ann@contoso.test', { displayName: 'Ann' });
    stub.addUser('bea@contoso.test', { displayName: 'Bea' });
    ann = client('ann@contoso.test');
    bea = client('bea@contoso.test');
  });
  afterEach(async () => {
    await stub.stop();
    expectDocumented(stub);
  });

  it('shows times in the zone that the request prefers', async () => {
    const { id, start } = await create();
    expect(start).toEqual({ dateTime: '2026-11-02T18:00:00.0000000', timeZone: 'UTC' });
    const prefer = 'IdType="ImmutableId", outlook.timezone="W. Europe Standard Time"';
    expect(await ann.get(`me/events/${String(id)}`, { prefer })).toMatchObject({
      start: { dateTime: '2026-11-02T19:00:00.0000000', timeZone: 'W. Europe Standard Time' },
      originalStartTimeZone: 'Pacific Standard Time',
    });
    const wrong = { subject: 'x', start: at('02', '10:00', 'Nowhere'), end: at('02') };
    const refused = await ann.send('POST', 'me/events', wrong);
    expect(refused.body['error']).toMatchObject({ code: 'TimeZoneNotSupportedException' });
  });

  it('expands a series with its exceptions and removed occurrences', async () => {
    const { id } = await create({ recurrence: weekly });
    const path = `me/events/${String(id)}/instances?${WINDOW}`;
    const [first, second] = await ann.list(path);
    await ann.send('PATCH', `me/events/${String(first?.['id'])}`, {
      start: at('03'),
      end: at('03', '11:00'),
    });
    await ann.send('DELETE', `me/events/${String(second?.['id'])}`);
    expect(await ann.list(`me/calendarView?${WINDOW}`)).toMatchObject([
      { id: first?.['id'], type: 'exception', originalStart: '2026-11-02T18:00:00Z' },
      {
        type: 'occurrence',
        seriesMasterId: id,
        start: { dateTime: '2026-11-16T18:00:00.0000000' },
      },
    ]);
  });

  it.each([
    ['absoluteMonthly', { dayOfMonth: 31 }, ['2026-01-31', '2026-02-28', '2026-03-31']],
    [
      'relativeMonthly',
      { daysOfWeek: ['friday'], index: 'last' },
      ['2026-01-30', '2026-02-27', '2026-03-27'],
    ],
    [
      'relativeYearly',
      { daysOfWeek: ['sunday'], index: 'second', month: 5 },
      ['2026-05-10', '2027-05-09', '2028-05-14'],
    ],
    ['daily', {}, ['2026-01-01', '2026-01-02', '2026-01-03']],
  ])('expands the pattern %s', async (type, more, dates) => {
    const day = `${dates[0]}T09:00:00`;
    const { id } = await create({
      start: { dateTime: day, timeZone: 'UTC' },
      end: { dateTime: day, timeZone: 'UTC' },
      recurrence: {
        pattern: { type, interval: 1, ...more },
        range: { type: 'numbered', startDate: dates[0], numberOfOccurrences: 3 },
      },
    });
    const window = 'startDateTime=2026-01-01T00:00:00Z&endDateTime=2029-01-01T00:00:00Z';
    const items = await ann.list(`me/events/${String(id)}/instances?${window}`);
    expect(items.map(({ start }) => String((start as Json)['dateTime']).slice(0, 10))).toEqual(
      dates,
    );
  });

  it('reports changes of a window: occurrences in short, a series whole on one page', async () => {
    const [calendar] = await ann.list('me/calendars');
    const path = `me/calendars/${String(calendar?.['id'])}/calendarView/delta?${WINDOW}`;
    const prefer = { prefer: 'IdType="ImmutableId", odata.maxpagesize=1' };
    const series = await create({ recurrence: weekly });
    const single = await create({ subject: 'One' });
    const first = await ann.delta(path, prefer);
    expect(first.pages).toBe(2);
    expect(first.items.map(({ type }) => type)).toEqual([
      'seriesMaster',
      'occurrence',
      'occurrence',
      'occurrence',
      'singleInstance',
    ]);
    expect(Object.keys(first.items[1] ?? {}).sort((a, b) => a.localeCompare(b))).toEqual([
      '@odata.etag',
      '@odata.type',
      'end',
      'id',
      'seriesMasterId',
      'start',
      'type',
    ]);
    await ann.send('DELETE', `me/events/${String(first.items[2]?.['id'])}`);
    await ann.send('DELETE', `me/events/${String(single['id'])}`);
    const second = await ann.delta(first.link, prefer);
    expect(second.items.filter((item) => '@removed' in item)).toMatchObject([{ id: single['id'] }]);
    expect(second.items.filter(({ type }) => type === 'occurrence')).toHaveLength(2);
    await ann.send('DELETE', `me/events/${String(series['id'])}`);
    const third = await ann.delta(second.link, prefer);
    expect(third.items.map((item) => item['@removed'])).toHaveLength(3);
    expect((await ann.delta(third.link, prefer)).items).toEqual([]);
  });

  it('puts meetings into the calendars of attendees, and answers into that of the organizer', async () => {
    const meeting = await create({
      attendees: [person('bea@contoso.test'), person('out@elsewhere.test', 'optional')],
      isOnlineMeeting: true,
      onlineMeetingProvider: 'teamsForBusiness',
      transactionId: 't1',
    });
    expect(meeting['onlineMeeting']).toMatchObject({
      joinUrl: expect.stringMatching(/^https/) as string,
    });
    expect((await create({ transactionId: 't1' }))['id']).toBe(meeting['id']);
    const [copy] = await bea.list('me/events');
    expect(copy).toMatchObject({
      isOrganizer: false,
      iCalUId: meeting['iCalUId'],
      responseStatus: { response: 'notResponded' },
    });
    const quiet = { sendResponse: false };
    await bea.send('POST', `me/events/${String(copy?.['id'])}/accept`, quiet);
    await bea.send('POST', `me/events/${String(copy?.['id'])}/tentativelyAccept`, {
      comment: 'hm',
    });
    const path = `me/events/${String(meeting['id'])}`;
    expect(await ann.get(path)).toMatchObject({
      attendees: [
        { status: { response: 'tentativelyAccepted' } },
        { status: { response: 'none' } },
      ],
    });
    await ann.send('PATCH', path, { subject: 'New plan' });
    await ann.send('PATCH', path, { categories: ['x'] });
    expect((await bea.list('me/events'))[0]).toMatchObject({ subject: 'New plan' });
    expect((await ann.send('POST', `${path}/cancel`, { comment: 'sorry' })).status).toBe(202);
    expect((await bea.list('me/events'))[0]).toMatchObject({ isCancelled: true });
    expect(stub.world.meetingMails.map(({ kind, to }) => [kind, to.length])).toEqual([
      ['request', 2],
      ['response', 1],
      ['update', 2],
      ['cancellation', 2],
    ]);
  });

  it('lets rooms accept while they are free, and shows free and busy times', async () => {
    stub.addUser('room@contoso.test', { kind: 'room', displayName: 'Room' });
    expect(await ann.list('places/microsoft.graph.room')).toMatchObject([
      { emailAddress: 'room@contoso.test' },
    ]);
    const attendees = [person('room@contoso.test', 'resource')];
    const first = await create({ attendees });
    const second = await create({ attendees });
    const responses = async ({ id }: Json) =>
      (await ann.get(`me/events/${String(id)}`))['attendees'];
    expect(await responses(first)).toMatchObject([{ status: { response: 'accepted' } }]);
    expect(await responses(second)).toMatchObject([{ status: { response: 'declined' } }]);
    const { body } = await ann.send('POST', 'me/calendar/getSchedule', {
      schedules: ['room@contoso.test', 'nobody@contoso.test'],
      startTime: at('02', '09:00'),
      endTime: at('02', '12:00'),
      availabilityViewInterval: 60,
    });
    expect(body['value']).toMatchObject([
      { availabilityView: '020', scheduleItems: [{ status: 'busy' }] },
      { error: { responseCode: 'ErrorMailRecipientNotFound' } },
    ]);
  });
});
