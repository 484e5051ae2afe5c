import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import ICAL from 'ical.js';
import nodeIcal, { type VEvent } from 'node-ical';
import PostalMime from 'postal-mime';
import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import { createApplication } from '../support/factories.ts';
import { davAccount, makeCalendar, otherClient } from '../support/dav-account.ts';
import { connectMailbox, type RealAccount } from '../support/mail-servers/connect-account.ts';
import { type DavServer, startRadicale } from '../support/mail-servers/dav.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers } from '../support/mail-servers/mail-servers.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const PATIENCE_MS = 60_000;

interface Invited {
  id: string;
  ical_uid: string;
  title: string;
  participants: { email: string; status: string }[];
}

/**
 * Invitations and responses pass through mail servers that take messages apart and put them
 * together again.
 */
describeWith(['dovecot', 'exim4', 'radicale'], 'meetings by mail through real servers', () => {
  jest.setTimeout(2 * PATIENCE_MS);
  let servers: MailServers;
  let radicale: DavServer;
  let server: TestApp;
  let ada: RealAccount;
  let bo: RealAccount;

  beforeAll(async () => {
    [servers, radicale] = await Promise.all([MailServers.start(), startRadicale()]);
    server = await startTestApp();
    const application = await createApplication(server.app);
    const connect = async () => {
      const user = await servers.addUser();
      return connectMailbox(server, application, user, servers.settingsOf(user));
    };
    [ada, bo] = [await connect(), await connect()];
  });

  /**
   * The scheduling part of the mail with this subject in a mailbox, as two independent parsers read
   * it.
   */
  async function scheduled(who: RealAccount, subject: string, method: string) {
    const source = await until(
      `"${subject}"`,
      async () => {
        const imap = await servers.client(who);
        try {
          await imap.mailboxOpen('INBOX');
          const found = await imap.search({ subject });
          const message =
            found && found.length > 0
              ? await imap.fetchOne(found.at(-1) ?? 1, { source: true })
              : false;
          return message ? (message.source ?? false) : false;
        } finally {
          await imap.logout();
        }
      },
      PATIENCE_MS,
    );
    const { attachments, from } = await PostalMime.parse(source);
    const parts = attachments.filter((part) => part.method === method);
    expect(parts).toHaveLength(1);
    const text = new TextDecoder().decode(parts[0]?.content as ArrayBuffer);
    const read = Object.values(nodeIcal.sync.parseICS(text)).filter(
      (one): one is VEvent => one?.type === 'VEVENT',
    );
    expect(read).toHaveLength(1);
    const root = new ICAL.Component(ICAL.parse(text) as unknown[]);
    const event = root.getFirstSubcomponent('vevent');
    const attendee = event?.getFirstProperty('attendee');
    const own = {
      method: root.getFirstPropertyValue('method'),
      uid: event?.getFirstPropertyValue('uid'),
      sequence: event?.getFirstPropertyValue('sequence'),
    };
    expect(read[0]).toMatchObject({ ...own, sequence: Number(own.sequence) });
    return {
      ...own,
      from: from?.address,
      attendee: String(attendee?.getFirstValue()),
      partstat: attendee?.getFirstParameter('partstat'),
      rsvp: attendee?.getFirstParameter('rsvp'),
    };
  }

  afterAll(async () => {
    await server.close();
    await servers.stop();
    await radicale.stop();
  });

  it('become events even beside a large file, and the response arrives as a scheduling message', async () => {
    const ics = [
      'BEGIN:VCALENDAR',
      'METHOD:REQUEST',
      'BEGIN:VEVENT',
      'UID:real@elsewhere.test',
      'SEQUENCE:2',
      'DTSTAMP:20260101T000000Z',
      'DTSTART;TZID=Europe/Berlin:20300601T100000',
      'DURATION:PT1H',
      'SUMMARY:Gespräch über Pläne',
      `ORGANIZER:mailto:${ada.email}`,
      `ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:${bo.email}`,
      'END:VEVENT',
      'END:VCALENDAR',
      '',
    ].join('\r\n');
    const base64 = (bytes: Buffer) =>
      bytes
        .toString('base64')
        .match(/.{1,76}/g)
        ?.join('\r\n') ?? '';
    const mime = [
      `From: ${ada.email}`,
      `To: ${bo.email}`,
      'Subject: Invitation',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/calendar; charset=iso-8859-1; method=REQUEST',
      'Content-Transfer-Encoding: base64',
      '',
      base64(Buffer.from(ics, 'latin1')),
      '--b',
      'Content-Type: application/octet-stream',
      'Content-Disposition: attachment; filename=plan.bin',
      'Content-Transfer-Encoding: base64',
      '',
      base64(randomBytes(400_000)),
      '--b--',
      '',
    ].join('\r\n');
    await request(server.url)
      .post('/send')
      .set(ada.bearer)
      .set('Content-Type', 'message/rfc822')
      .send(mime)
      .expect(200);
    const event = await until(
      'the event',
      async () => {
        const { body } = await request(server.url).get('/events').set(bo.bearer).expect(200);
        return (
          (body as Invited[]).find(({ ical_uid }) => ical_uid === 'real@elsewhere.test') ?? false
        );
      },
      PATIENCE_MS,
    );
    expect(event).toMatchObject({
      title: 'Gespräch über Pläne',
      when: { start_time: Date.UTC(2030, 5, 1, 8) / 1000, start_timezone: 'Europe/Berlin' },
    });
    const answer = { event_id: event.id, status: 'yes', comment: 'Bin dabei – später' };
    const { body } = await request(server.url)
      .post('/send-rsvp')
      .set(bo.bearer)
      .send(answer)
      .expect(200);
    expect((body as Invited).participants).toContainEqual(
      expect.objectContaining({ email: bo.email, status: 'yes' }),
    );
    const source = await until(
      'the answer',
      async () => {
        const imap = await servers.client(ada);
        try {
          await imap.mailboxOpen('INBOX');
          const message = await imap
            .fetchOne('*', { source: true, envelope: true })
            .catch(() => false as const);
          return message && message.envelope?.subject?.startsWith('Accepted:')
            ? (message.source ?? false)
            : false;
        } finally {
          await imap.logout();
        }
      },
      PATIENCE_MS,
    );
    const { attachments, from } = await PostalMime.parse(source);
    expect(from?.address).toBe(bo.email);
    const part = attachments.find(({ method }) => method === 'REPLY');
    const parsed = nodeIcal.sync.parseICS(new TextDecoder().decode(part?.content as ArrayBuffer));
    expect(Object.values(parsed)).toContainEqual(
      expect.objectContaining({
        type: 'VEVENT',
        uid: 'real@elsewhere.test',
        sequence: 2,
        comment: 'Bin dabei – später',
        attendee: {
          params: expect.objectContaining({ PARTSTAT: 'ACCEPTED' }),
          val: `mailto:${bo.email}`,
        },
      }),
    );
  });

  it('reach participants as invitation, changes and cancellation with one UID and a rising SEQUENCE', async () => {
    const user = await servers.addUser();
    await radicale.addUser(user.email, user.password);
    const remote = davAccount(radicale.url, user.email, user.password);
    const path = await makeCalendar(remote);
    const application = await createApplication(server.app);
    const cy = await connectMailbox(server, application, user, {
      ...servers.settingsOf(user),
      caldav_url: radicale.url,
    });
    const other = otherClient(remote);
    const send = async (
      method: 'get' | 'post' | 'put' | 'delete',
      where: string,
      body?: object,
      who = cy,
    ) => (await request(server.url)[method](where).set(who.bearer).send(body).expect(200)).body;
    const calendar = await until(
      'the calendar',
      async () =>
        ((await send('get', '/calendars')) as { id: string; read_only: boolean }[]).find(
          (one) => !one.read_only,
        ) ?? false,
      PATIENCE_MS,
    );
    const { id } = await send('post', '/events?notify_participants=true', {
      calendar_id: calendar.id,
      title: 'Rückblick',
      when: { start_time: 1_900_000_000, end_time: 1_900_003_600 },
      participants: [{ email: bo.email, name: 'Bo' }],
    });
    const invited = await scheduled(bo, 'Invitation: R', 'REQUEST');
    const object = `${path}${id}.ics`;
    const file = async () => (await other('GET', object)).text;
    expect(await file()).toContain(`UID:${String(invited.uid)}`);
    expect(invited).toMatchObject({
      method: 'REQUEST',
      sequence: 0,
      from: cy.email,
      attendee: `mailto:${bo.email}`,
      partstat: 'NEEDS-ACTION',
      rsvp: 'TRUE',
    });

    const theirs = await until(
      'the event',
      async () =>
        ((await send('get', '/events', undefined, bo)) as Invited[]).find(
          ({ ical_uid }) => ical_uid === invited.uid,
        ) ?? false,
      PATIENCE_MS,
    );
    await send('post', '/send-rsvp', { event_id: theirs.id, status: 'yes' }, bo);
    await until(
      'the answer',
      async () =>
        ((await send('get', `/events/${id}`)) as Invited).participants[0]?.status === 'yes',
      PATIENCE_MS,
    );
    await send('put', `/events/${id}?notify_participants=true`, { title: 'Ausblick' });
    const renamed = await scheduled(bo, 'Updated invitation: Ausblick', 'REQUEST');
    expect(renamed).toMatchObject({
      uid: invited.uid,
      sequence: 1,
      partstat: 'ACCEPTED',
      rsvp: 'TRUE',
    });
    expect(await file()).toContain('SEQUENCE:1\r\n');

    // Another program increments the sequence too. We see that only with the next change.
    const ahead = await other(
      'PUT',
      object,
      (await file()).replace('SEQUENCE:1\r\n', 'SEQUENCE:7\r\n'),
      { 'content-type': 'text/calendar' },
    );
    expect(ahead.status).toBeLessThan(300);
    const when = { start_time: 1_900_086_400, end_time: 1_900_090_000 };
    await send('put', `/events/${id}?notify_participants=true`, { when, title: 'Umblick' });
    const moved = await scheduled(bo, 'Updated invitation: Umblick', 'REQUEST');
    expect(moved).toMatchObject({ uid: invited.uid, sequence: 8, rsvp: 'TRUE' });
    expect(await file()).toContain('SEQUENCE:8\r\n');

    await send('delete', `/events/${id}?notify_participants=true`);
    const ended = await scheduled(bo, 'Cancelled: Umblick', 'CANCEL');
    expect(ended).toMatchObject({
      method: 'CANCEL',
      uid: invited.uid,
      sequence: 9,
      attendee: `mailto:${bo.email}`,
    });
    expect((await other('GET', object)).status).toBe(404);
    await until(
      'the end',
      async () =>
        (
          (await send('get', '/events?show_cancelled=true', undefined, bo)) as {
            ical_uid: string;
            status: string;
          }[]
        ).some(({ ical_uid, status }) => ical_uid === invited.uid && status === 'cancelled'),
      PATIENCE_MS,
    );
  });

  it('answer for one instance of a series, which stays so on a real calendar server', async () => {
    const user = await servers.addUser();
    await radicale.addUser(user.email, user.password);
    const remote = davAccount(radicale.url, user.email, user.password);
    const path = await makeCalendar(remote);
    const application = await createApplication(server.app);
    const cy = await connectMailbox(server, application, user, {
      ...servers.settingsOf(user),
      caldav_url: radicale.url,
    });
    const other = otherClient(remote);
    const send = async (method: 'get' | 'post' | 'put', where: string, body?: object) =>
      (await request(server.url)[method](where).set(cy.bearer).send(body).expect(200)).body;
    const calendar = await until(
      'the calendar',
      async () =>
        ((await send('get', '/calendars')) as { id: string; read_only: boolean }[]).find(
          (one) => !one.read_only,
        ) ?? false,
      PATIENCE_MS,
    );
    const dee = `dee@${bo.email.split('@')[1]}`;
    const { id } = await send('post', '/events', {
      calendar_id: calendar.id,
      title: 'Daily',
      when: {
        start_time: Date.UTC(2030, 5, 1, 10) / 1000,
        end_time: Date.UTC(2030, 5, 1, 11) / 1000,
      },
      participants: [{ email: bo.email, name: 'Bo' }, { email: dee }],
      recurrence: { rrule: ['RRULE:FREQ=DAILY;COUNT=4'], timezone: 'Europe/Berlin' },
    });
    const file = async () => (await other('GET', `${path}${id}.ics`)).text;
    const statusesIn = async (text?: string) =>
      new ICAL.Component(ICAL.parse(text ?? (await file())) as unknown[])
        .getAllSubcomponents('vevent')
        .map((event) => [
          event.getFirstPropertyValue('recurrence-id')?.toString(),
          ...event.getAllProperties('attendee').map((one) => one.getFirstParameter('partstat')),
        ]);
    await until('the series', async () => (await file()).includes('RRULE'), PATIENCE_MS);
    const uid = /^UID:(.*)$/m.exec(await file())?.[1]?.trim();

    const answer = (...lines: readonly string[]) =>
      request(server.url)
        .post('/send')
        .set(bo.bearer)
        .set('Content-Type', 'message/rfc822')
        .send(
          [
            `From: ${bo.email}`,
            `To: ${cy.email}`,
            'Subject: Accepted',
            'MIME-Version: 1.0',
            'Content-Type: text/calendar; method=REPLY',
            '',
            'BEGIN:VCALENDAR',
            'METHOD:REPLY',
            'BEGIN:VEVENT',
            `UID:${uid}`,
            'DTSTAMP:20260101T000000Z',
            `ORGANIZER:mailto:${cy.email}`,
            'RECURRENCE-ID:20300602T100000Z',
            ...lines,
            'END:VEVENT',
            'END:VCALENDAR',
            '',
          ].join('\r\n'),
        )
        .expect(200);
    await answer(`ATTENDEE;PARTSTAT=ACCEPTED:mailto:${bo.email}`);
    await answer(`ATTENDEE;PARTSTAT=DECLINED;SENT-BY="mailto:${bo.email}":mailto:${dee}`);
    const shown = async (start: string): Promise<string[]> => {
      const { participants } = (await send('get', `/events/${id}_${start}`)) as Invited;
      return participants.map(({ status }) => status);
    };
    await until(
      'both answers',
      async () => (await shown('20300602T100000Z')).join() === 'yes,no',
      PATIENCE_MS,
    );
    const untouched = [undefined, 'NEEDS-ACTION', 'NEEDS-ACTION'];
    const instance = ['2030-06-02T12:00:00', 'ACCEPTED', 'DECLINED'];
    await until(
      'the answers at the server',
      async () => JSON.stringify(await statusesIn()) === JSON.stringify([untouched, instance]),
      PATIENCE_MS,
    );

    // Another program changes the series, so that the next pass reads the object again.
    const renamed = (await file()).replaceAll('SUMMARY:Daily', 'SUMMARY:Standup');
    expect(
      (await other('PUT', `${path}${id}.ics`, renamed, { 'content-type': 'text/calendar' })).status,
    ).toBeLessThan(300);
    await until('a request for the next pass', async () => {
      const text =
        "update sync_job set calendars_at = 'epoch', run_at = now() where account_id = $1 and state = 0 returning 1";
      return (await server.app.get(Database).query(text, [cy.id])).length > 0;
    });
    server.app.get(Signals).wake('sync');
    await until(
      'the next pass',
      async () => ((await send('get', `/events/${id}`)) as Invited).title === 'Standup',
      PATIENCE_MS,
    );
    expect(await shown('20300602T100000Z')).toEqual(['yes', 'no']);
    expect(await shown('20300603T100000Z')).toEqual(['noreply', 'noreply']);
    expect(await statusesIn()).toEqual([untouched, instance]);
  });
});
