import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expectDocumented } from '../../remote-stub/remote-stub.ts';
import { GoogleStub } from '../google-stub.ts';
import { type Any, type ClientAnswer, StubClient } from '../stub-client.ts';

const ANNA = 'anna@gmail.test';
const BERT = 'bert@gmail.test';

describe('the stub of Google Calendar', () => {
  let stub: GoogleStub;
  let anna: StubClient;
  let bert: StubClient;

  beforeEach(async () => {
    stub = await GoogleStub.start();
    stub.addUser(ANNA, 'Anna');
    stub.addUser(BERT, 'Bert');
    anna = new StubClient(stub, ANNA);
    bert = new StubClient(stub, BERT);
  });
  afterEach(async () => {
    await stub.stop();
    expectDocumented(stub);
  });

  const at = (time: string, timeZone = 'Europe/Berlin') => ({
    dateTime: `2030-03-${time}:00`,
    timeZone,
  });
  const events = (client: StubClient, method: string, rest = '', body?: object) =>
    client.call(method, `/calendar/v3/calendars/primary/events${rest}`, body);
  const meeting = { summary: 'A', start: at('25T10:00'), end: at('25T11:00') };
  const daily = {
    ...meeting,
    recurrence: ['RRULE:FREQ=DAILY;COUNT=4', 'EXDATE;TZID=Europe/Berlin:20300327T100000'],
  };
  const summaries = ({ body }: ClientAnswer) =>
    body.items.map(({ summary, status }: Any) => summary ?? status);

  it('answers times with the offset of their zone, and needs a zone for series', async () => {
    const { body } = await events(anna, 'POST', '', meeting);
    expect(body).toMatchObject({
      start: { dateTime: '2030-03-25T10:00:00+01:00', timeZone: 'Europe/Berlin' },
      organizer: { email: ANNA, self: true },
    });
    const start = { dateTime: '2030-03-25T10:00:00+01:00' };
    const wrong = await events(anna, 'POST', '', { ...daily, start });
    expect([wrong.status, wrong.body.error.errors[0].reason]).toEqual([400, 'required']);
  });

  it('lists series once, or as single instances across a change of the clock', async () => {
    const { body: series } = await events(anna, 'POST', '', {
      ...daily,
      start: at('29T10:00'),
      end: at('29T11:00'),
    });
    expect((await events(anna, 'GET')).body.items).toHaveLength(1);
    const single = await events(anna, 'GET', '?singleEvents=true&orderBy=startTime');
    expect(single.body.items.map(({ start }: Any) => start.dateTime)).toEqual([
      '2030-03-29T10:00:00+01:00',
      '2030-03-30T10:00:00+01:00',
      '2030-03-31T10:00:00+02:00',
      '2030-04-01T10:00:00+02:00',
    ]);
    expect(single.body.items[2].id).toBe(`${series.id}_20300331T080000Z`);
  });

  it('keeps changed and cancelled instances as events of their own', async () => {
    const { body: series } = await events(anna, 'POST', '', daily);
    const { body: before } = await events(anna, 'GET');
    const { body: instances } = await events(anna, 'GET', `/${series.id}/instances`);
    expect(instances.items).toHaveLength(3);
    const [first, second] = instances.items;
    await events(anna, 'PATCH', `/${first.id}`, { summary: 'Changed' });
    await events(anna, 'DELETE', `/${second.id}`);
    const { body } = await events(anna, 'GET', `?syncToken=${before.nextSyncToken}`);
    expect(body.items).toMatchObject([
      {
        id: first.id,
        summary: 'Changed',
        recurringEventId: series.id,
        originalStartTime: first.start,
      },
      { id: second.id, status: 'cancelled', recurringEventId: series.id },
    ]);
    const single = await events(anna, 'GET', '?singleEvents=true');
    expect(summaries(single).sort()).toEqual(['A', 'Changed']);
    expect((await events(anna, 'GET')).body.items).toHaveLength(3);
  });

  it('answers 410 to an expired sync token and pages under one token', async () => {
    for (let number = 0; number < 3; number += 1) await events(anna, 'POST', '', meeting);
    const first = await events(anna, 'GET', '?maxResults=2');
    const { body: late } = await events(anna, 'POST', '', { ...meeting, summary: 'Late' });
    await events(anna, 'DELETE', `/${late.id}`);
    const second = await events(anna, 'GET', `?maxResults=2&pageToken=${first.body.nextPageToken}`);
    expect(first.body.nextSyncToken).toBeUndefined();
    const token = second.body.nextSyncToken;
    const changes = await events(anna, 'GET', `?syncToken=${token}`);
    expect(changes.body.items).toMatchObject([{ id: late.id, status: 'cancelled' }]);
    expect((await events(anna, 'GET', `?syncToken=${token}&orderBy=updated`)).status).toBe(400);
    stub.calendars.all.get(ANNA)?.expireSyncTokens();
    const gone = await events(anna, 'GET', `?syncToken=${token}`);
    expect([gone.status, gone.body.error.errors[0].reason]).toEqual([410, 'fullSyncRequired']);
  });

  it('copies events to guests, brings their answers back, and mails as it is asked to', async () => {
    const attendees = [{ email: BERT }, { email: 'far@elsewhere.test' }];
    const { body } = await events(anna, 'POST', '?sendUpdates=all', { ...meeting, attendees });
    expect(stub.calendars.mails.map(({ kind, to }) => `${kind} ${to}`)).toEqual([
      `invitation ${BERT}`,
      'invitation far@elsewhere.test',
    ]);
    const answer = { attendees: [{ email: BERT, responseStatus: 'accepted' }] };
    const copy = await events(bert, 'PATCH', `/${body.id}?sendUpdates=none`, answer);
    expect(copy.body.attendees).toHaveLength(2);
    const { body: original } = await events(anna, 'GET', `/${body.id}`);
    expect(original.attendees[0]).toMatchObject({ email: BERT, responseStatus: 'accepted' });
    expect(stub.calendars.mails).toHaveLength(2);
    await events(anna, 'DELETE', `/${body.id}?sendUpdates=externalOnly`);
    expect((await events(bert, 'GET', `/${body.id}`)).body.status).toBe('cancelled');
    expect(stub.calendars.mails.at(-1)).toMatchObject({
      kind: 'cancellation',
      to: 'far@elsewhere.test',
    });
    expect((await events(anna, 'DELETE', `/${body.id}`)).status).toBe(410);
  });

  it('refuses a change of another version', async () => {
    const { body } = await events(anna, 'POST', '', meeting);
    const patch = (etag: string) =>
      anna.call(
        'PATCH',
        `/calendar/v3/calendars/primary/events/${body.id}`,
        { summary: 'B' },
        { 'if-match': etag },
      );
    expect([(await patch(body.etag)).status, (await patch(body.etag)).status]).toEqual([200, 412]);
  });

  it('makes a conference only if the client knows about conferences', async () => {
    const conferenceSolutionKey = { type: 'hangoutsMeet' };
    const conferenceData = { createRequest: { requestId: 'r', conferenceSolutionKey } };
    const without = await events(anna, 'POST', '', { ...meeting, conferenceData });
    expect(without.body.hangoutLink).toBeUndefined();
    const { body } = await events(anna, 'POST', '?conferenceDataVersion=1', {
      ...meeting,
      conferenceData,
    });
    expect(body.conferenceData).toMatchObject({
      createRequest: { status: { statusCode: 'success' } },
      entryPoints: [{ uri: body.hangoutLink }],
    });
    await events(anna, 'PATCH', `/${body.id}`, { conferenceData: null });
    expect((await events(anna, 'GET', `/${body.id}`)).body.hangoutLink).toBe(body.hangoutLink);
  });

  it('answers free and busy times, and rooms answer invitations', async () => {
    stub.calendars.addRoom('room@rooms.test', 'Room');
    const invite = { ...meeting, attendees: [{ email: 'room@rooms.test' }] };
    const first = await events(anna, 'POST', '', invite);
    const second = await events(bert, 'POST', '', invite);
    const [a, b] = [first, second].map(({ body }) => body.attendees[0].responseStatus);
    expect([a, b]).toEqual(['accepted', 'declined']);
    const { body } = await anna.call('POST', '/calendar/v3/freeBusy', {
      timeMin: '2030-03-25T00:00:00Z',
      timeMax: '2030-03-26T00:00:00Z',
      items: [{ id: 'room@rooms.test' }, { id: 'far@elsewhere.test' }],
    });
    expect(body.calendars).toEqual({
      'room@rooms.test': {
        busy: [{ start: '2030-03-25T09:00:00.000Z', end: '2030-03-25T10:00:00.000Z' }],
      },
      'far@elsewhere.test': { errors: [{ domain: 'global', reason: 'notFound' }], busy: [] },
    });
  });

  it('lists calendars with a token, and hides those of others', async () => {
    const list = (query = '') => anna.call('GET', `/calendar/v3/users/me/calendarList${query}`);
    const { nextSyncToken } = (await list()).body;
    const { body } = await anna.call('POST', '/calendar/v3/calendars', { summary: 'Team' });
    await anna.call('PATCH', `/calendar/v3/users/me/calendarList/${body.id}`, { colorId: '2' });
    expect((await list(`?syncToken=${nextSyncToken}`)).body.items).toMatchObject([
      { id: body.id, summary: 'Team', accessRole: 'owner', colorId: '2' },
    ]);
    expect((await bert.call('GET', `/calendar/v3/calendars/${body.id}/events`)).status).toBe(404);
    await anna.call('DELETE', `/calendar/v3/calendars/${body.id}`);
    expect((await list(`?syncToken=${nextSyncToken}`)).body.items).toMatchObject([
      { deleted: true },
    ]);
  });

  it('notifies a channel until it is stopped', async () => {
    const received: IncomingHttpHeaders[] = [];
    const server = createServer((request, response) => {
      received.push(request.headers);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/push`;
    const channel = { id: 'c-1', type: 'web_hook', address, token: 'secret' };
    const { body } = await events(anna, 'POST', '/watch', channel);
    await events(anna, 'POST', '', meeting);
    await stub.calendars.channels.settled();
    const { id, resourceId } = body;
    const stop = () => anna.call('POST', '/calendar/v3/channels/stop', { id, resourceId });
    expect([(await stop()).status, (await stop()).status]).toEqual([204, 404]);
    await events(anna, 'POST', '', meeting);
    await stub.calendars.channels.settled();
    const states = received.map((headers) => String(headers['x-goog-resource-state']));
    expect([states.toSorted(), received[0]?.['x-goog-channel-token']]).toEqual([
      ['exists', 'sync'],
      'secret',
    ]);
    server.close();
  });
});
