import ICAL from 'ical.js';
import nodeIcal, { type VEvent } from 'node-ical';
import PostalMime from 'postal-mime';
import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import { deliver } from '../support/deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

interface Event {
  id: string;
  calendar_id: string;
  message_id: string | null;
  ical_uid: string;
  title: string;
  status: string;
  read_only: boolean;
  organizer_email: string;
  master_event_id: string | null;
  original_start_time: number | null;
  when: { start_time?: number; end_time?: number };
  participants: { email: string; status: string; comment: string | null }[];
  job_status_id?: string;
}

const ORGANIZER = 'zoe@elsewhere.test';
const STRANGER = 'mallory@elsewhere.test';
let count = 0;
const newUid = () => `meeting-${++count}-${Math.random().toString(36).slice(2)}@elsewhere.test`;

/** Builds a VEVENT. Each given line replaces the default lines with the same name. */
function vevent(uid: string, to: string, lines: readonly string[] = []): string[] {
  const base = [
    'DTSTAMP:20260101T000000Z',
    'DTSTART:20300601T100000Z',
    'DTEND:20300601T110000Z',
    'SEQUENCE:0',
    'SUMMARY:Planning',
    `ORGANIZER;CN=Zoe:mailto:${ORGANIZER}`,
    `ATTENDEE;PARTSTAT=ACCEPTED:mailto:${ORGANIZER}`,
    `ATTENDEE;RSVP=TRUE;PARTSTAT=NEEDS-ACTION:mailto:${to}`,
  ];
  const nameOf = (line: string) => line.split(/[;:]/)[0];
  const given = new Set(lines.map(nameOf));
  const kept = base.filter((line) => !given.has(nameOf(line)));
  return [
    'BEGIN:VEVENT',
    `UID:${uid}`,
    ...kept,
    ...lines.filter((line) => !line.endsWith(':-')),
    'END:VEVENT',
  ];
}

const calendarOf = (method: string, ...events: readonly (readonly string[])[]) =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//T//T//EN',
    `METHOD:${method}`,
    ...events.flat(),
    'END:VCALENDAR',
    '',
  ].join('\r\n');

describe('meetings by email', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let bo: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    await createWebhook(server.app, application, 'http://127.0.0.1:1/', {
      triggers: ['calendar.created', 'event.created', 'event.updated', 'event.deleted'],
    });
    ada = await createAccount(server.app, application, { mirrored: true, name: 'Ada' });
    bo = await createAccount(server.app, application, { mirrored: true, name: 'Bo' });
    await Promise.all([mirrored(ada), mirrored(bo)]);
  });
  afterAll(() => server.close());

  const query = <R extends object>(text: string, ...values: unknown[]) =>
    server.app.get(Database).query<R>(text, values);
  const call = (method: 'get' | 'post' | 'put' | 'delete', path: string, by: TestAccount) =>
    request(server.url)[method](path).set(by.bearer);
  const ok = async (
    method: 'get' | 'post' | 'put' | 'delete',
    path: string,
    by: TestAccount,
    body?: object,
  ) => {
    const response = await call(method, path, by).send(body);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body;
  };
  const mirrored = (by: TestAccount) =>
    until('the first sync pass', async () => {
      const text = `select 1 from sync_job where account_id = $1 and calendars_at is not null and state = 0`;
      return (await query(text, by.id)).length > 0;
    });
  const events = (by: TestAccount, uid: string, more = ''): Promise<Event[]> =>
    ok('get', `/events?limit=100&show_cancelled=true${more}`, by).then((all: Event[]) =>
      all.filter((one) => one.ical_uid === uid),
    );
  /** Sends a calendar file by email, and waits until the mirror contains the message. */
  const mail = async (to: TestAccount, ics: string, from = ORGANIZER, header: string[] = []) => {
    const encoded =
      Buffer.from(ics)
        .toString('base64')
        .match(/.{1,76}/g) ?? [];
    const lines = [
      'Subject: Invitation',
      ...header,
      'MIME-Version: 1.0',
      'Content-Type: text/calendar; charset=utf-8; method=REQUEST',
      'Content-Transfer-Encoding: base64',
      '',
      ...encoded,
    ];
    return arrived(to, await deliver(server, to, lines, from));
  };
  const arrived = (to: TestAccount, header: string) => {
    server.app.get(Signals).wake('sync');
    return until('the message', async () => {
      const text = `select id from message where account_id = $1 and message_id_header = $2`;
      const [row] = await query<{ id: string }>(text, to.id, header);
      return row?.id ?? false;
    });
  };
  const only = async (by: TestAccount, uid: string): Promise<Event> => {
    const found = await events(by, uid);
    expect(found).toHaveLength(1);
    return found[0] as Event;
  };
  const webhookTypes = async (id: string) => {
    const text = `select type from webhook_event where convert_from(body, 'utf8') like '%' || $1 || '%' order by id`;
    return (await query<{ type: string }>(text, id)).map(({ type }) => type);
  };

  describe('an invitation', () => {
    it('becomes one event in the read-only calendar "Emailed events"', async () => {
      const uid = newUid();
      const ics = calendarOf('REQUEST', vevent(uid, bo.email));
      const messageId = await mail(bo, ics);
      await mail(bo, ics);
      const event = await only(bo, uid);
      expect(event).toMatchObject({
        message_id: messageId,
        title: 'Planning',
        status: 'confirmed',
        read_only: true,
        organizer_email: ORGANIZER,
        when: { start_time: Date.UTC(2030, 5, 1, 10) / 1000 },
      });
      expect(event.participants.map(({ email, status }) => [email, status])).toEqual([
        [ORGANIZER, 'yes'],
        [bo.email, 'noreply'],
      ]);
      const calendar = await ok('get', `/calendars/${event.calendar_id}`, bo);
      expect(calendar).toMatchObject({
        name: 'Emailed events',
        read_only: true,
        is_primary: false,
      });
      expect(await webhookTypes(event.id)).toEqual(['event.created']);
      expect((await call('put', `/events/${event.id}`, bo).send({ title: 'x' })).status).toBe(400);
      expect((await call('delete', `/events/${event.id}`, bo).send({})).status).toBe(400);
      expect((await call('delete', `/calendars/${calendar.id}`, bo).send({})).status).toBe(400);
    });

    it("follows the organizer's latest message, regardless of the order of arrival", async () => {
      const uid = newUid();
      const later = [
        'SEQUENCE:2',
        'DTSTAMP:20260103T000000Z',
        'DTSTART:20300602T100000Z',
        'DTEND:20300602T110000Z',
      ];
      await mail(bo, calendarOf('REQUEST', vevent(uid, bo.email, later)));
      await mail(
        bo,
        calendarOf('REQUEST', vevent(uid, bo.email, ['SEQUENCE:1', 'DTSTAMP:20260102T000000Z'])),
      );
      expect((await only(bo, uid)).when.start_time).toBe(Date.UTC(2030, 5, 2, 10) / 1000);
      await mail(
        bo,
        calendarOf('CANCEL', vevent(uid, bo.email, ['SEQUENCE:3', 'DTSTAMP:20260104T000000Z'])),
      );
      const event = await only(bo, uid);
      expect(event.status).toBe('cancelled');
      expect(await webhookTypes(event.id)).toEqual(['event.created', 'event.deleted']);
    });

    it('is cancelled even if the cancellation arrived first', async () => {
      const uid = newUid();
      await mail(
        bo,
        calendarOf('CANCEL', vevent(uid, bo.email, ['SEQUENCE:1', 'DTSTART:-', 'DTEND:-'])),
      );
      expect(await events(bo, uid)).toEqual([]);
      await mail(bo, calendarOf('REQUEST', vevent(uid, bo.email)));
      expect((await only(bo, uid)).status).toBe('cancelled');
    });

    it('is not changed or cancelled by other senders', async () => {
      const uid = newUid();
      await mail(bo, calendarOf('REQUEST', vevent(uid, bo.email)));
      const worse = ['SEQUENCE:9', 'DTSTAMP:20290101T000000Z', 'SUMMARY:Moved'];
      await mail(bo, calendarOf('CANCEL', vevent(uid, bo.email, worse)), STRANGER);
      await mail(bo, calendarOf('REQUEST', vevent(uid, bo.email, worse)), STRANGER);
      const forged = [
        'Authentication-Results: mx.test; spf=pass;',
        ' dmarc=fail header.from=elsewhere.test',
      ];
      await mail(bo, calendarOf('CANCEL', vevent(uid, bo.email, worse)), ORGANIZER, forged);
      expect(await only(bo, uid)).toMatchObject({ title: 'Planning', status: 'confirmed' });
      await mail(bo, calendarOf('CANCEL', vevent(uid, bo.email, ['SEQUENCE:1'])));
      expect((await only(bo, uid)).status).toBe('cancelled');
    });

    it("becomes the organizer's as soon as the organizer sends it, even if another sender sent it first", async () => {
      const uid = newUid();
      await mail(
        bo,
        calendarOf('REQUEST', vevent(uid, bo.email, ['SEQUENCE:99', 'SUMMARY:Poison'])),
        STRANGER,
      );
      await mail(bo, calendarOf('REQUEST', vevent(uid, bo.email)));
      await mail(bo, calendarOf('CANCEL', vevent(uid, bo.email, ['SEQUENCE:100'])), STRANGER);
      expect(await only(bo, uid)).toMatchObject({ title: 'Planning', status: 'confirmed' });
    });

    it('to a series includes its changed instances, and single instances can be cancelled', async () => {
      const uid = newUid();
      const series = vevent(uid, bo.email, ['RRULE:FREQ=DAILY;COUNT=4']);
      const moved = vevent(uid, bo.email, [
        'RECURRENCE-ID:20300602T100000Z',
        'DTSTART:20300602T150000Z',
        'DTEND:20300602T160000Z',
        'SUMMARY:Later',
      ]);
      await mail(bo, calendarOf('REQUEST', moved, series));
      const stamped = ['RECURRENCE-ID:20300603T100000Z', 'SEQUENCE:1', 'DTSTART:-', 'DTEND:-'];
      await mail(bo, calendarOf('CANCEL', vevent(uid, bo.email, stamped)));
      const all: Event[] = await ok(
        'get',
        '/events?expand_recurring=true&starts_after=1906500000&starts_before=1908000000',
        bo,
      );
      const mine = all.filter(({ ical_uid }) => ical_uid === uid);
      expect(
        mine.map(({ title, when }) => [
          title,
          new Date((when.start_time ?? 0) * 1000).toISOString(),
        ]),
      ).toEqual([
        ['Planning', '2030-06-01T10:00:00.000Z'],
        ['Later', '2030-06-02T15:00:00.000Z'],
        ['Planning', '2030-06-04T10:00:00.000Z'],
      ]);
      await mail(bo, calendarOf('CANCEL', vevent(uid, bo.email, ['SEQUENCE:2'])));
      expect(new Set((await events(bo, uid)).map(({ status }) => status))).toEqual(
        new Set(['cancelled']),
      );
    });

    it('keeps the changed instances that the organizer sends again, or has not changed since, when its times change', async () => {
      const uid = newUid();
      const at = (day: number, lines: readonly string[] = [], title = `Day ${day}`) =>
        vevent(uid, bo.email, [
          `RECURRENCE-ID:2030060${day}T100000Z`,
          `DTSTART:2030060${day}T150000Z`,
          `DTEND:2030060${day}T160000Z`,
          `SUMMARY:${title}`,
          ...lines,
        ]);
      const series = ['RRULE:FREQ=DAILY;COUNT=9'];
      const later = 'DTSTAMP:20260103T000000Z';
      await mail(bo, calendarOf('REQUEST', vevent(uid, bo.email, series), at(2), at(3)));
      await mail(bo, calendarOf('REQUEST', at(4, [later])));
      const moved = ['SEQUENCE:1', later, 'DTSTART:20300601T110000Z', 'DTEND:20300601T120000Z'];
      await mail(bo, calendarOf('REQUEST', vevent(uid, bo.email, [...series, ...moved]), at(2)));
      const titles = async () => (await events(bo, uid)).map(({ title }) => title).toSorted();
      expect(await titles()).toEqual(['Day 2', 'Day 4', 'Planning']);
      const newest = ['SEQUENCE:2', 'DTSTAMP:20260104T000000Z'];
      await mail(bo, calendarOf('REQUEST', at(4, newest, 'Renamed')));
      expect(await titles()).toEqual(['Day 2', 'Planning', 'Renamed']);
    });

    it('to a series keeps an instance that was cancelled after the change of the series was sent', async () => {
      const uid = newUid();
      const weekly = 'RRULE:FREQ=WEEKLY;COUNT=3';
      const second = [
        'RECURRENCE-ID:20300608T100000Z',
        'DTSTART:20300608T100000Z',
        'DTEND:20300608T110000Z',
      ];
      await mail(bo, calendarOf('REQUEST', vevent(uid, bo.email, [weekly])));
      await mail(
        bo,
        calendarOf(
          'CANCEL',
          vevent(uid, bo.email, [...second, 'SEQUENCE:2', 'DTSTAMP:20260105T000000Z']),
        ),
      );
      const longer = [
        weekly,
        'SUMMARY:Longer',
        'DTEND:20300601T120000Z',
        'SEQUENCE:1',
        'DTSTAMP:20260103T000000Z',
      ];
      await mail(bo, calendarOf('REQUEST', vevent(uid, bo.email, longer)));
      const all = await events(bo, uid);
      expect(all.map(({ title, status }) => [title, status])).toEqual([
        ['Longer', 'confirmed'],
        ['Planning', 'cancelled'],
      ]);
      const shown = await events(bo, uid, '&expand_recurring=true&starts_after=1890000000');
      expect(shown.filter(({ status }) => status === 'confirmed')).toHaveLength(2);
    });

    it('is ignored in sent messages, in published calendars and in unreadable files', async () => {
      const uid = newUid();
      await mail(bo, calendarOf('REQUEST', vevent(uid, bo.email)), bo.email);
      await mail(bo, calendarOf('PUBLISH', vevent(uid, bo.email)));
      await mail(
        bo,
        calendarOf('REQUEST', vevent(uid, bo.email)).replace('METHOD:REQUEST\r\n', ''),
      );
      await mail(bo, 'BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\n\u0000\u0001garbage');
      await mail(
        bo,
        calendarOf('REQUEST', vevent(uid, bo.email, [`ORGANIZER:mailto:${bo.email}`])),
      );
      expect(await events(bo, uid)).toEqual([]);
    });

    it('with hostile content uses few resources and does not stop the sync pass', async () => {
      const uid = newUid();
      const crowd = Array.from(
        { length: 10_000 },
        (_, n) => `ATTENDEE:mailto:a${n}@elsewhere.test`,
      );
      const zone = [
        'BEGIN:VTIMEZONE',
        'TZID:Endless',
        'BEGIN:STANDARD',
        'DTSTART:16010101T000000',
        'RRULE:FREQ=SECONDLY',
        'TZOFFSETFROM:+0000',
        'TZOFFSETTO:+0100',
        'END:STANDARD',
        'END:VTIMEZONE',
      ];
      const lines = [
        ...crowd,
        `ATTENDEE:mailto:${bo.email}`,
        'DTSTART;TZID=Endless:20300601T100000',
        'RRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30',
        'SUMMARY:\u0007\u0000Bell',
      ];
      await mail(bo, calendarOf('REQUEST', zone, vevent(uid, bo.email, lines)));
      const event = await only(bo, uid);
      expect(event.participants).toHaveLength(500);
      expect(event.participants.some(({ email }) => email === bo.email)).toBe(true);
      expect(await events(bo, uid, '&expand_recurring=true')).toEqual([]);
    });
  });

  describe('POST /send-rsvp', () => {
    const attendee = (event: Event, email: string) =>
      event.participants.find((one) => one.email === email);
    const answer = (body: object, queryString = '') =>
      ok('post', `/send-rsvp${queryString}`, bo, body);
    const job = (by: TestAccount, id: string | undefined) =>
      until(`the end of job ${id}`, async () => {
        const { status } = await ok('get', `/job-statuses/${id}`, by);
        return ['pending', 'delayed'].includes(status) ? false : (status as string);
      });
    const AT = {
      start_time: Date.UTC(2030, 5, 1, 10) / 1000,
      end_time: Date.UTC(2030, 5, 1, 11) / 1000,
    };
    const later = (days: number) => ({
      start_time: AT.start_time + days * 86_400,
      end_time: AT.end_time + days * 86_400,
    });
    /** Bo's copy of an event, as soon as the copy matches the condition. */
    const at = (uid: string, is: (event: Event) => boolean = () => true) =>
      until(`${uid} at the participant`, async () => (await events(bo, uid)).find(is) ?? false);
    /**
     * Creates an event of Ada's with Bo as participant, and returns both the event and Bo's copy.
     */
    const invite = async (fields: object = {}): Promise<{ hers: Event; his: Event }> => {
      const [calendar] = await ok('get', '/calendars', ada);
      const created: Event = await ok('post', '/events?notify_participants=true', ada, {
        calendar_id: calendar.id,
        title: 'Planning',
        when: AT,
        participants: [{ email: bo.email, name: 'Bo' }],
        ...fields,
      });
      await job(ada, created.job_status_id);
      const hers: Event = await ok('get', `/events/${created.id}`, ada);
      return { hers, his: await at(hers.ical_uid) };
    };
    const change = (id: string, fields: object): Promise<Event> =>
      ok('put', `/events/${id}?notify_participants=true`, ada, fields);
    const remove = (id: string) => ok('delete', `/events/${id}?notify_participants=true`, ada);
    const herAnswerIs = (id: string, status: string) =>
      until(`${status} at the organizer`, async () => {
        const event: Event = await ok('get', `/events/${id}`, ada);
        return attendee(event, bo.email)?.status === status && event;
      });

    it("shows the participant's response in the organizer's event, here and at the provider", async () => {
      const { hers, his } = await invite();
      const answered: Event = await answer({
        event_id: his.id,
        status: 'yes',
        comment: 'Gladly; "see" you,\nBo',
      });
      expect(attendee(answered, bo.email)).toMatchObject({
        status: 'yes',
        comment: 'Gladly; "see" you,\nBo',
      });
      expect(await job(bo, answered.job_status_id)).toBe('successful');
      const event = await herAnswerIs(hers.id, 'yes');
      expect(attendee(event, bo.email)).toMatchObject({
        comment: 'Gladly; "see" you,\nBo',
        name: 'Bo',
      });
      await until('the provider write', async () => {
        const text = `select 1 from sandbox_event where data @> $1::jsonb`;
        const data = {
          participants: [{ email: bo.email, status: 'yes', comment: 'Gladly; "see" you,\nBo' }],
        };
        return (await query(text, JSON.stringify(data))).length > 0;
      });
      expect(await webhookTypes(hers.id)).toContain('event.updated');
      const same: Event = await answer({
        event_id: his.id,
        status: 'yes',
        comment: 'Gladly; "see" you,\nBo',
      });
      expect(same.job_status_id).toBeUndefined();
      await job(
        bo,
        (
          await answer(
            { event_id: his.id, status: 'no', account_id: bo.id },
            '?notify_participants',
          )
        ).job_status_id,
      );
      expect(attendee(await herAnswerIs(hers.id, 'no'), bo.email)?.comment).toBeNull();
    });

    it('sends a message that calendar programs can read', async () => {
      const { hers, his } = await invite({ title: 'Plans' });
      await change(hers.id, { title: 'Plans, and more' });
      await at(hers.ical_uid, ({ title }) => title === 'Plans, and more');
      const { job_status_id } = await answer({
        event_id: his.id,
        status: 'maybe',
        comment: 'Perhaps',
      });
      await job(bo, job_status_id);
      await herAnswerIs(hers.id, 'maybe');
      const [message] = await ok('get', `/messages?from=${bo.email}&limit=1`, ada);
      expect(message.subject).toBe('Tentative: Plans, and more');
      const raw = await call('get', `/messages/${message.id}`, ada)
        .set('Accept', 'message/rfc822')
        .buffer(true);
      const { attachments } = await PostalMime.parse(raw.text ?? raw.body);
      expect(attachments.map(({ mimeType, method }) => [mimeType, method])).toContainEqual([
        'text/calendar',
        'REPLY',
      ]);
      const ics = new TextDecoder().decode(attachments[0]?.content as ArrayBuffer);
      const root = new ICAL.Component(ICAL.parse(ics));
      const component = root.getFirstSubcomponent('vevent');
      expect(root.getFirstPropertyValue('method')).toBe('REPLY');
      expect(component?.getFirstPropertyValue('uid')).toBe(hers.ical_uid);
      expect(component?.getFirstPropertyValue('sequence')).toBe(1);
      expect(
        component
          ?.getAllProperties('attendee')
          .map((one) => [one.getFirstValue(), one.getFirstParameter('partstat')]),
      ).toEqual([[`mailto:${bo.email}`, 'TENTATIVE']]);
      expect(component?.getFirstPropertyValue('comment')).toBe('Perhaps');
      const [event] = Object.values(nodeIcal.sync.parseICS(ics)).filter(
        (one) => one?.type === 'VEVENT',
      ) as VEvent[];
      expect(event).toMatchObject({
        uid: hers.ical_uid,
        summary: 'Plans, and more',
        sequence: 1,
        organizer: { val: `mailto:${ada.email}` },
        attendee: { val: `mailto:${bo.email}`, params: { PARTSTAT: 'TENTATIVE' } },
      });
    });

    it('responds for one instance of a series', async () => {
      const { hers, his } = await invite({
        recurrence: { rrule: ['RRULE:FREQ=DAILY;COUNT=3'], timezone: 'Europe/Berlin' },
      });
      const id = `${his.id}_20300602T100000Z`;
      const answered: Event = await answer(
        { event_id: id, status: 'no' },
        '?notify_participants=false',
      );
      expect(answered).toMatchObject({
        master_event_id: his.id,
        original_start_time: Date.UTC(2030, 5, 2, 10) / 1000,
      });
      expect(answered.job_status_id).toBeUndefined();
      const again: Event = await answer({ event_id: id, status: 'maybe' });
      expect(again.id).toBe(answered.id);
      expect(attendee(await ok('get', `/events/${id}`, bo), bo.email)?.status).toBe('maybe');
      expect(attendee(await ok('get', `/events/${his.id}`, bo), bo.email)?.status).toBe('noreply');
      await remove(`${hers.id}_20300602T100000Z`);
      await at(hers.ical_uid, (event) => event.id === again.id && event.status === 'cancelled');
      expect((await ok('get', `/events/${his.id}`, bo)).status).toBe('confirmed');
      expect(
        (await call('post', '/send-rsvp', bo).send({ event_id: again.id, status: 'yes' })).status,
      ).toBe(409);
    });

    it('keeps the response when the organizer changes the title, and resets it when the time changes', async () => {
      const { hers, his } = await invite();
      await answer({ event_id: his.id, status: 'yes' });
      await herAnswerIs(hers.id, 'yes');
      await change(hers.id, { title: 'Renamed' });
      const renamed = await at(hers.ical_uid, ({ title }) => title === 'Renamed');
      expect([renamed.id, attendee(renamed, bo.email)?.status]).toEqual([his.id, 'yes']);
      await change(hers.id, { when: later(2) });
      const asked: Event = await ok('get', `/events/${hers.id}`, ada);
      expect(attendee(asked, bo.email)).toMatchObject({ status: 'noreply', comment: null });
      const moved = await at(hers.ical_uid, ({ when }) => when.start_time === later(2).start_time);
      expect(attendee(moved, bo.email)?.status).toBe('noreply');
      await answer({ event_id: his.id, status: 'maybe' });
      await herAnswerIs(hers.id, 'maybe');
    });

    it('cancels the copies of removed participants and of a deleted event, and moves a single instance on its own', async () => {
      const [one, other] = [
        await invite(),
        await invite({ recurrence: { rrule: ['RRULE:FREQ=DAILY;COUNT=3'], timezone: 'UTC' } }),
      ];
      await change(one.hers.id, { participants: [] });
      await at(one.hers.ical_uid, ({ id, status }) => id === one.his.id && status === 'cancelled');
      await change(`${other.hers.id}_20300602T100000Z`, { when: later(5), title: 'Moved' });
      const instance = await at(other.hers.ical_uid, ({ title }) => title === 'Moved');
      expect(instance).toMatchObject({
        master_event_id: other.his.id,
        when: later(5),
        status: 'confirmed',
      });
      await job(bo, (await answer({ event_id: instance.id, status: 'yes' })).job_status_id);
      await until('the response for the instance', async () => {
        const event: Event = await ok('get', `/events/${other.hers.id}_20300602T100000Z`, ada);
        return attendee(event, bo.email)?.status === 'yes';
      });
      await remove(other.hers.id);
      const copies = await until('the series to be cancelled', async () => {
        const all = await events(bo, other.hers.ical_uid);
        return all.every(({ status }) => status === 'cancelled') && all;
      });
      expect(copies.map(({ id }) => id)).toEqual(
        expect.arrayContaining([other.his.id, instance.id]),
      );
    });

    it('accepts a response only from the participant who sent it, and keeps the latest one', async () => {
      const { hers } = await invite();
      const reply = (partstat: string, stamp: string, from: string) => {
        const lines = [
          `ORGANIZER:mailto:${ada.email}`,
          `ATTENDEE;PARTSTAT=${partstat}:mailto:${bo.email}`,
        ];
        return mail(
          ada,
          calendarOf('REPLY', vevent(hers.ical_uid, bo.email, [...lines, `DTSTAMP:${stamp}`])),
          from,
        );
      };
      await reply('ACCEPTED', '20260301T000000Z', STRANGER);
      expect(attendee(await ok('get', `/events/${hers.id}`, ada), bo.email)?.status).toBe(
        'noreply',
      );
      await reply('ACCEPTED', '20260303T000000Z', bo.email);
      await reply('DECLINED', '20260302T000000Z', bo.email);
      expect(attendee(await ok('get', `/events/${hers.id}`, ada), bo.email)?.status).toBe('yes');
    });

    it('reports what is wrong with a request', async () => {
      const { hers, his } = await invite();
      const uid = newUid();
      await mail(bo, calendarOf('REQUEST', vevent(uid, 'list@elsewhere.test')));
      const listed = await only(bo, uid);
      for (const [body, status, message] of [
        [{ event_id: '019aa1b2-0000-7000-8000-00000000dead', status: 'yes' }, 404, /event/],
        [{ event_id: hers.id, status: 'yes' }, 404, /event/],
        [{ event_id: 'nonsense', status: 'yes' }, 404, /event/],
        [{ event_id: his.id, status: 'noreply' }, 400, /status: must be one of/],
        [{ event_id: his.id }, 400, /status/],
        [{ status: 'yes' }, 400, /event_id/],
        [{ event_id: his.id, status: 'yes', account_id: ada.id }, 400, /account_id/],
        [{ event_id: his.id, status: 'yes', comment: 'x'.repeat(3000) }, 400, /comment/],
        [{ event_id: listed.id, status: 'yes' }, 400, /not a participant/],
      ] as const) {
        const response = await call('post', '/send-rsvp', bo).send(body);
        expect([response.status, response.body.message]).toEqual([
          status,
          expect.stringMatching(message),
        ]);
      }
      const mute = await createAccount(server.app, application, {
        scope: ['calendar', 'email.read_only'],
      });
      const calendar = await ok('post', '/calendars', mute, { name: 'Work' });
      const { id: event_id } = await ok('post', '/events', mute, {
        calendar_id: calendar.id,
        when: AT,
      });
      const refused = await call('post', '/send-rsvp', mute).send({ event_id, status: 'yes' });
      expect([refused.status, refused.body.message]).toEqual([
        403,
        expect.stringContaining('email.send'),
      ]);
      const silent = '/send-rsvp?notify_participants=false';
      expect((await call('post', silent, mute).send({ event_id, status: 'yes' })).status).toBe(400);
      const own = await call('post', '/send-rsvp', ada).send({ event_id: hers.id, status: 'yes' });
      expect([own.status, own.body.message]).toEqual([400, expect.stringContaining('invitation')]);
    });
  });
});
