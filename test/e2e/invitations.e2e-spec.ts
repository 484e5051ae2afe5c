import ICAL from 'ical.js';
import nodeIcal, { type VEvent } from 'node-ical';
import PostalMime, { type Email } from 'postal-mime';
import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const BO = { email: 'bo@sandbox.test', name: 'Bö; "the" builder' };
const CY = { email: 'cy@sandbox.test', name: 'Cy' };
const WHEN = {
  start_time: 1_900_000_000,
  end_time: 1_900_003_600,
  start_timezone: 'Europe/Berlin',
};

interface Invitation {
  email: string;
  kind: string;
  method: string;
  sequence: number;
  status: string;
  reason: string | null;
  job_status_id: string;
}

/** A scheduling message, parsed by two independent libraries. */
interface ReadMail {
  subject: string | undefined;
  to: string[];
  mail: Email;
  method: unknown;
  /** The first event, parsed by node-ical and by ical.js. */
  first: VEvent;
  event: ICAL.Component;
  events: ICAL.Component[];
  attendees: Record<string, string | undefined>;
}

async function readMail(mime: Buffer): Promise<ReadMail> {
  const mail = await PostalMime.parse(mime, { forceRfc822Attachments: true });
  const raw = String(mime);
  const ics = mail.attachments.find(({ filename }) => filename === 'invite.ics');
  expect(ics?.mimeType).toBe('application/ics');
  // The mail parser changes line ends, so the file is decoded from the raw message.
  const encoded = /filename=invite\.ics[^]*?\r\n\r\n([A-Za-z0-9+/=\r\n]+)/.exec(raw)?.[1] ?? '';
  const text = Buffer.from(encoded, 'base64').toString();
  const root = new ICAL.Component(ICAL.parse(text) as unknown[]);
  const method = root.getFirstPropertyValue('method');
  expect(raw).toContain(`Content-Type: text/calendar; charset=utf-8; method=${String(method)}`);
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  const events = root.getAllSubcomponents('vevent');
  const [event] = events;
  const parsed = nodeIcal.sync.parseICS(text);
  const first = Object.values(parsed).find((one): one is VEvent => one?.type === 'VEVENT');
  if (!event || !first) throw new Error('no event');
  expect(first.method).toBe(method);
  expect(first.uid).toBe(event.getFirstPropertyValue('uid'));
  const attendees = Object.fromEntries(
    event
      .getAllProperties('attendee')
      .map((one) => [
        String(one.getFirstValue()).replace('mailto:', ''),
        one.getFirstParameter('partstat'),
      ]),
  );
  const to = (mail.to ?? []).map(({ address }) => address ?? '').sort();
  return { subject: mail.subject, to, mail, method, first, event, events, attendees };
}

const HOUR_MS = 3_600_000;

describe('notify_participants', () => {
  const clock = new PassingClock();
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let calendarId: string;
  beforeAll(async () => {
    server = await startTestApp({}, { clock });
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { email: 'ada@sandbox.test', name: 'Ada' });
    calendarId = await createCalendar(ada);
  });
  afterAll(() => server.close());

  const send = (
    method: 'get' | 'post' | 'put' | 'delete',
    path: string,
    body?: object,
    account = ada,
  ) => request(server.url)[method](path).set(account.bearer).send(body);

  async function createCalendar(account: TestAccount): Promise<string> {
    const { body } = await send('post', '/calendars', { name: 'Work' }, account).expect(200);
    return body.id;
  }

  async function create(fields: object, query = '?notify_participants=true') {
    const event = {
      calendar_id: calendarId,
      title: 'Review',
      when: WHEN,
      participants: [BO],
      ...fields,
    };
    const { body } = await send('post', `/events${query}`, event).expect(200);
    return body as { id: string; job_status_id: string };
  }

  const change = (id: string, fields: object, query = '?notify_participants=true') =>
    send('put', `/events/${id}${query}`, fields).expect(200);

  const remove = (id: string) =>
    send('delete', `/events/${id}?notify_participants=true`).expect(200);

  /** The invitations of an event, as soon as none of them is pending or delayed. */
  async function invitations(id: string, count: number): Promise<Invitation[]> {
    return until(`${count} invitations`, async () => {
      const { body } = await send('get', `/events/${id}/invitations`).expect(200);
      const open = (body as Invitation[]).some(({ status }) =>
        ['pending', 'delayed'].includes(status),
      );
      return body.length === count && !open ? (body as Invitation[]) : undefined;
    });
  }

  /** The messages that an address has received about an event, oldest first. */
  async function inbox(address: string, id: string): Promise<ReadMail[]> {
    const rows = await server.app.get(Database).query<{ mime: Buffer }>(
      `select s.mime from sandbox_message s
       where s.application_id = $1 and s.address = $2
         and exists (
           select 1 from invitation i, jsonb_array_elements(i.recipients) r, outbox_message o
           where i.event_id = $3 and o.id = (r ->> 'mailId')::uuid and position(o.mime in s.mime) > 0)
       order by s.added_modseq`,
      [application.id, address, id],
    );
    return Promise.all(rows.map(({ mime }) => readMail(mime)));
  }

  it("invites each participant once, from the account's address", async () => {
    const { id } = await create({
      participants: [BO, CY, { email: 'ADA@sandbox.test', status: 'yes' }],
      location: 'Room 1',
      description: '<b>Bring</b> it',
      conferencing: {
        provider: 'Zoom Meeting',
        details: { url: 'https://zoom.test/1', password: 'pw' },
      },
    });
    const notices = await invitations(id, 2);
    expect(notices).toMatchObject([
      {
        email: BO.email,
        kind: 'invite',
        method: 'REQUEST',
        sequence: 0,
        status: 'successful',
        reason: null,
      },
      {
        email: CY.email,
        kind: 'invite',
        method: 'REQUEST',
        sequence: 0,
        status: 'successful',
        reason: null,
      },
    ]);
    const { body: event } = await send('get', `/events/${id}`);
    const received = [await inbox(BO.email, id), await inbox(CY.email, id)];
    expect(received.map(({ length }) => length)).toEqual([1, 1]);
    const mail = received[0]?.[0];
    expect(mail).toMatchObject({
      method: 'REQUEST',
      subject: 'Invitation: Review',
      to: [BO.email, CY.email],
      first: { uid: event.ical_uid, sequence: 0, summary: 'Review', location: 'Room 1' },
      attendees: {
        [BO.email]: 'NEEDS-ACTION',
        [CY.email]: 'NEEDS-ACTION',
        'ada@sandbox.test': 'ACCEPTED',
      },
    });
    expect(mail?.mail.from).toEqual({ address: 'ada@sandbox.test', name: 'Ada' });
    expect(mail?.mail.text).toContain('Password: pw');
    expect(mail?.mail.text).toContain('17 March 2030, 18:46 – 19:46 (Europe/Berlin)');
    expect(mail?.mail.html).toContain('&lt;b&gt;Bring&lt;/b&gt; it');
    expect(mail?.first.start.toISOString()).toBe(new Date(WHEN.start_time * 1000).toISOString());
    expect(mail?.event.getFirstPropertyValue('organizer')).toBe('mailto:ada@sandbox.test');
    const attendee = mail?.event.getAllProperties('attendee')[0];
    expect(attendee?.getFirstParameter('rsvp')).toBe('TRUE');
    expect(attendee?.getFirstParameter('role')).toBe('REQ-PARTICIPANT');
    // The invitation has a job like any other message, but it is not listed in the outbox.
    const { body: job } = await send(
      'get',
      `/job-statuses/${notices[0]?.job_status_id}?view=expanded`,
    );
    expect(job).toMatchObject({
      action: 'send_invitation',
      object: 'message',
      status: 'successful',
    });
    expect(job.attempts).toHaveLength(1);
    await send('get', `/v2/outbox/${notices[0]?.job_status_id}`).expect(404);
  });

  it('notifies remaining, new and removed participants of a change, with a higher SEQUENCE', async () => {
    const { id } = await create({ participants: [BO, CY] });
    await invitations(id, 2);
    const di = { email: 'di@sandbox.test', name: 'Di' };
    await change(id, { title: 'Review 2', when: { time: 1_900_100_000 }, participants: [BO, di] });
    const notices = await invitations(id, 5);
    expect(notices.slice(0, 3).map(({ email, kind, sequence }) => [email, kind, sequence])).toEqual(
      expect.arrayContaining([
        [BO.email, 'update', 1],
        ['di@sandbox.test', 'invite', 1],
        [CY.email, 'cancel', 1],
      ]),
    );
    const [, bo] = await inbox(BO.email, id);
    expect(bo).toMatchObject({
      subject: 'Updated invitation: Review 2',
      method: 'REQUEST',
      first: { sequence: 1 },
    });
    expect(bo?.attendees).toEqual({
      [BO.email]: 'NEEDS-ACTION',
      'di@sandbox.test': 'NEEDS-ACTION',
    });
    const [, cy] = await inbox(CY.email, id);
    expect(cy).toMatchObject({
      subject: 'Cancelled: Review 2',
      method: 'CANCEL',
      first: { sequence: 1, status: 'CANCELLED' },
    });
    expect(Object.keys(cy?.attendees ?? {})).toEqual([CY.email]);
    expect(await inbox('di@sandbox.test', id)).toMatchObject([{ subject: 'Invitation: Review 2' }]);
    expect(bo?.first.uid).toBe(cy?.first.uid);
  });

  it('sends one cancellation when the event is deleted', async () => {
    const { id } = await create({});
    await invitations(id, 1);
    await remove(id);
    await invitations(id, 2);
    await remove(id);
    const [, cancelled, ...others] = await inbox(BO.email, id);
    expect(cancelled).toMatchObject({
      method: 'CANCEL',
      first: { sequence: 1, status: 'CANCELLED' },
    });
    expect(others).toEqual([]);
    expect(await invitations(id, 2)).toHaveLength(2);
  });

  it('sends nothing for changes that participants do not see, but counts them in SEQUENCE', async () => {
    const { id } = await create({});
    await invitations(id, 1);
    await change(id, { metadata: { team: 'sales' }, busy: false });
    await change(id, { when: { time: 1_900_200_000 } }, '');
    await change(id, { location: 'Room 2' });
    expect(await invitations(id, 2)).toMatchObject([
      { kind: 'update', sequence: 2 },
      { kind: 'invite' },
    ]);
  });

  it('shows each hidden participant only their own address', async () => {
    const { id } = await create({ participants: [BO, CY], hide_participants: true });
    const notices = await invitations(id, 2);
    expect(new Set(notices.map(({ job_status_id }) => job_status_id)).size).toBe(2);
    for (const { email } of [BO, CY]) {
      const [mail] = await inbox(email, id);
      expect(mail?.to).toEqual([email]);
      expect(Object.keys(mail?.attendees ?? {})).toEqual([email]);
    }
  });

  it('sends a whole series with its rules, exceptions and time zone', async () => {
    const recurrence = {
      rrule: ['RRULE:FREQ=WEEKLY;COUNT=6', 'EXDATE:20300324T184640'],
      timezone: 'Europe/Berlin',
    };
    const { id } = await create({ recurrence });
    await invitations(id, 1);
    const [mail] = await inbox(BO.email, id);
    const dates = mail?.first.rrule?.all().map((date) => date.toISOString()) ?? [];
    expect(dates).toHaveLength(6);
    expect(Object.keys(mail?.first.exdate ?? {})).toContain('2030-03-24T17:46:40.000Z');
    const zones = mail?.event.parent?.getAllSubcomponents('vtimezone') ?? [];
    expect(zones.map((zone) => zone.getFirstPropertyValue('tzid'))).toEqual(['Europe/Berlin']);
    expect(mail?.mail.text).toContain('Repeats: every week');
  });

  it('sends a single instance of a series with its RECURRENCE-ID', async () => {
    const recurrence = { rrule: ['RRULE:FREQ=WEEKLY;COUNT=4'], timezone: 'Europe/Berlin' };
    const { id } = await create({ recurrence });
    await invitations(id, 1);
    const { body: moved } = await change(`${id}_20300324T174640Z`, {
      when: { time: 1_900_700_000 },
    });
    expect(await invitations(moved.id, 1)).toMatchObject([{ kind: 'update', sequence: 1 }]);
    const [mail] = await inbox(BO.email, moved.id);
    expect(mail).toMatchObject({
      method: 'REQUEST',
      first: { uid: (await inbox(BO.email, id))[0]?.first.uid },
    });
    const recurrenceId = mail?.event.getFirstProperty('recurrence-id')?.toICALString();
    expect(recurrenceId).toBe('RECURRENCE-ID;TZID=Europe/Berlin:20300324T184640');
    await remove(moved.id);
    await invitations(moved.id, 2);
    const [, cancelled] = await inbox(BO.email, moved.id);
    expect(cancelled).toMatchObject({
      method: 'CANCEL',
      first: { sequence: 2, status: 'CANCELLED' },
    });
    expect(cancelled?.event.getFirstProperty('recurrence-id')?.toICALString()).toBe(recurrenceId);
  });

  it('sends nothing when the change cannot be written to the calendar, and reports the reason', async () => {
    const { id } = await create({ title: '[sandbox:rejected] Review' });
    expect(await invitations(id, 1)).toMatchObject([
      {
        status: 'failed',
        reason: expect.stringContaining(
          'No participant was notified, because the change of the event failed',
        ),
      },
    ]);
    expect(await inbox(BO.email, id)).toEqual([]);
  });

  it('notifies a removed participant even if the event is deleted before the change reaches the calendar', async () => {
    const { id } = await create({ participants: [BO, CY] });
    await invitations(id, 2);
    const { body } = await change(id, {
      title: '[sandbox:temporary+1] Review',
      participants: [CY],
    });
    await until('a failed attempt', async () => {
      const { body: job } = await send('get', `/job-statuses/${body.job_status_id}`);
      return job.status === 'delayed';
    });
    await remove(id);
    await clock.pass(HOUR_MS);
    const notices = await invitations(id, 5);
    expect(notices.map(({ email, kind, status }) => [email, kind, status])).toEqual(
      expect.arrayContaining([
        [BO.email, 'cancel', 'successful'],
        [CY.email, 'update', 'cancelled'],
        [CY.email, 'cancel', 'successful'],
      ]),
    );
    expect(await inbox(BO.email, id)).toMatchObject([{ method: 'REQUEST' }, { method: 'CANCEL' }]);
  });

  it('sends nothing for an event with another organizer', async () => {
    const { id } = await create({}, '');
    await server.app
      .get(Database)
      .query(`update event set organizer_email = 'zoe@elsewhere.test' where id = $1`, [id]);
    await change(id, { title: 'Mine now' });
    await remove(id);
    expect((await send('get', `/events/${id}/invitations`)).body).toEqual([]);
  });

  it('refuses accounts without a sending scope or without mail, and stores nothing', async () => {
    const cannot = await createAccount(server.app, application, { scope: ['calendar'] });
    const calendar = await createCalendar(cannot);
    const body = { calendar_id: calendar, when: WHEN, participants: [BO] };
    const { body: refused } = await send(
      'post',
      '/events?notify_participants=true',
      body,
      cannot,
    ).expect(403);
    expect(refused.message).toContain('notify_participants: this needs one of the scopes');
    await send('post', '/events?notify_participants=false', body, cannot).expect(200);
    expect((await send('get', '/events?view=count', undefined, cannot)).body).toEqual({ count: 1 });
    const virtual = await createAccount(server.app, application, {
      provider: 'nylas',
      scope: ['calendar'],
    });
    const own = { ...body, calendar_id: await createCalendar(virtual) };
    const { body: mailless } = await send(
      'post',
      '/events?notify_participants=true',
      own,
      virtual,
    ).expect(400);
    expect(mailless.message).toContain('notify_participants: this account has calendars only');
    expect((await send('get', '/events?view=count', undefined, virtual)).body).toEqual({
      count: 0,
    });
    expect((await send('get', '/events/nonsense/invitations').expect(404)).body.type).toBe(
      'invalid_request_error',
    );
  });
});
