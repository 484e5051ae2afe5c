import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { Clock } from '../../src/platform/base/time/clock.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import { Database } from '../../src/platform/database/sql.ts';
import type { Connector, ProviderAccount } from '../../src/providers/port/connector.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { DavCalendars } from '../../src/providers/imap/dav/calendars/dav.calendars.ts';
import { davAccount, makeCalendar, otherClient } from '../support/dav-account.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { type DavServer, startRadicale } from '../support/mail-servers/dav.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { createWebhook } from '../support/webhook-fixture.ts';
import { until } from '../support/until.ts';

/** A file as another program writes it. */
const ics = (lines: readonly string[]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Other//EN', ...lines, 'END:VCALENDAR', ''].join(
    '\r\n',
  );
const meeting = (uid: string, lines: readonly string[] = []) =>
  ics([
    'BEGIN:VEVENT',
    `UID:${uid}`,
    'DTSTAMP:20260101T000000Z',
    'DTSTART:20300301T090000Z',
    'DTEND:20300301T100000Z',
    ...lines,
    'END:VEVENT',
  ]);

describeWith(['radicale'], 'calendars on a CalDAV server, through the API', () => {
  let radicale: DavServer;
  let server: TestApp;
  let application: TestApplication;
  let calendars: DavCalendars;

  beforeAll(async () => {
    radicale = await startRadicale();
    server = await startTestApp();
    const { app } = server;
    calendars = new DavCalendars(app.get(EgressClient), app.get(Clock), app.get(WorkThreads));
    // A connector with calendars only, because these accounts have no mail server.
    app
      .get(ConnectorRegistry)
      .replace({ name: 'imap', calendar: calendars } as unknown as Connector);
    application = await createApplication(app, { features: ['sms'] });
    await createWebhook(app, application, 'http://127.0.0.1:1/', {
      triggers: [
        'event.created',
        'event.updated',
        'event.deleted',
        'calendar.created',
        'calendar.deleted',
      ],
    });
  });
  afterAll(async () => {
    await server.close();
    await radicale.stop();
  });

  async function connect() {
    const user = `user-${randomUUID()}`;
    await radicale.addUser(user, 'secret');
    const remote: ProviderAccount = davAccount(radicale.url, user, 'secret');
    const path = await makeCalendar(remote);
    const account: TestAccount = await createAccount(server.app, application, {
      provider: 'imap',
      email: remote.email,
      settings: remote.settings,
      mirrored: true,
    });
    const api = async (method: 'get' | 'post' | 'put' | 'delete', where: string, body?: object) => {
      const answer = await request(server.url)[method](where).set(account.bearer).send(body);
      expect([answer.status, answer.body.message]).toEqual([200, undefined]);
      return answer.body;
    };
    const { app } = server;
    const row = (text: string) => app.get(Database).query(text, [account.id]);
    /** Makes the sync pass due at once and waits until it has ended. */
    const syncNow = async () => {
      await until('the end of the previous sync pass', async () => {
        const asked = await row(
          `update sync_job set calendars_at = 'epoch', run_at = now() where account_id = $1 and state = 0 returning 1`,
        );
        return asked.length > 0;
      });
      app.get(Signals).wake('sync');
      await until('the end of the sync pass', async () => {
        const rows = await row(
          `select 1 from sync_job where account_id = $1 and state = 0 and calendars_at > 'epoch'`,
        );
        return rows.length > 0;
      });
    };
    const outcome = (id: string) =>
      until(`the end of job ${id}`, async () => {
        const job = await api('get', `/job-statuses/${id}`);
        return ['pending', 'delayed'].includes(job.status)
          ? false
          : (job as { status: string; reason?: string });
      });
    const written = async (answer: { id: string; job_status_id: string }) => {
      expect(await outcome(answer.job_status_id)).toMatchObject({ status: 'successful' });
      return answer.id;
    };
    const changeLog = async () => {
      const rows = await server.app
        .get(Database)
        .query<{ object: string; event: string }>(
          `select object, event from change where account_id = $1 and object in ('event', 'calendar') order by seq`,
          [account.id],
        );
      return rows.map(({ object, event }) => `${object} ${event}`);
    };
    /** Types of the webhooks sent about this account. */
    const notified = async () => {
      const rows = await server.app
        .get(Database)
        .query<{ type: string }>(
          `select type from webhook_event where convert_from(body, 'utf8') like '%' || $1 || '%' order by id`,
          [account.id],
        );
      return rows.map(({ type }) => type);
    };
    await until('the first sync pass', async () => {
      const rows = await row(
        `select 1 from sync_job where account_id = $1 and state = 0 and calendars_at is not null`,
      );
      return rows.length > 0;
    });
    const [calendar] = await api('get', '/calendars');
    return {
      api,
      syncNow,
      outcome,
      written,
      changeLog,
      notified,
      other: otherClient(remote),
      path,
      calendarId: calendar.id as string,
    };
  }

  it('brings a calendar and an event made through the API to the server, and their changes and deletions', async () => {
    const { api, written, other, path } = await connect();
    const calendar = await api('post', '/calendars', { name: 'Team', timezone: 'Europe/Berlin' });
    const calendarId = await written(calendar);
    const event = await api('post', '/events', {
      calendar_id: calendarId,
      title: 'Review; all, of "it"',
      when: { start_time: 1_900_000_000, end_time: 1_900_003_600, start_timezone: 'Europe/Berlin' },
      participants: [{ name: 'Bo', email: 'bo@example.test' }],
    });
    const id = await written(event);
    const home = path.split('/').slice(0, 2).join('/');
    const file = `${home}/carillon-${calendarId}/${id}.ics`;
    const there = await other('GET', file);
    expect(there.text).toContain('TZID=Europe/Berlin:20300317T');
    expect(there.text).toContain('BEGIN:VTIMEZONE');
    expect(there.text).toMatch(/ATTENDEE[^\n]*CN=Bo/);
    await written(await api('put', `/events/${id}`, { title: 'Changed' }));
    expect((await other('GET', file)).text).toContain('SUMMARY:Changed');
    await written({ id, ...(await api('delete', `/events/${id}`)) });
    expect((await other('GET', file)).status).toBe(404);
    await written({ id, ...(await api('delete', `/calendars/${calendarId}`)) });
    expect((await other('PROPFIND', `${home}/carillon-${calendarId}/`)).status).toBe(404);
  });

  it('shows events that another program creates, changes and deletes, and sends webhooks about them', async () => {
    const { api, syncNow, changeLog, notified, other, path, calendarId } = await connect();
    expect(await changeLog()).toEqual(['calendar create']);
    await other('PUT', `${path}a.ics`, meeting('a', ['SUMMARY:Theirs', 'LOCATION:Room 1']));
    await syncNow();
    const [event] = await api('get', '/events');
    expect(event).toMatchObject({
      title: 'Theirs',
      location: 'Room 1',
      calendar_id: calendarId,
      ical_uid: 'a',
    });
    await other('PUT', `${path}a.ics`, meeting('a', ['SUMMARY:Moved']));
    await syncNow();
    expect(await api('get', `/events/${event.id}`)).toMatchObject({ title: 'Moved', location: '' });
    await other('DELETE', `${path}a.ics`);
    await syncNow();
    expect(await api('get', `/events/${event.id}`)).toMatchObject({ status: 'cancelled' });
    await syncNow();
    expect(await changeLog()).toEqual([
      'calendar create',
      'event create',
      'event modify',
      'event delete',
    ]);
    expect(await notified()).toEqual(['event.created', 'event.updated', 'event.deleted']);
  });

  it('moves and cancels reminders when another program changes their event', async () => {
    const { api, syncNow, written, other, path } = await connect();
    const put = async (answer: string, hour: string) => {
      const file = meeting('r', [
        'SUMMARY:Theirs',
        `ATTENDEE;PARTSTAT=${answer}:mailto:bo@example.test`,
      ]);
      await other('PUT', `${path}r.ics`, file.replace('T090000Z', `T${hour}0000Z`));
      await syncNow();
    };
    await put('NEEDS-ACTION', '09');
    const [{ id }] = await api('get', '/events');
    const changed = await api('put', `/events/${id}`, {
      participants: [{ email: 'bo@example.test', phone_number: '+15550100' }],
      notifications: [{ type: 'sms', minutes_before_event: 60, message: 'Soon' }],
    });
    await written({ id, ...changed });
    const reminder = async () => {
      const [only, ...others] = await api('get', `/events/${id}/notifications`);
      expect(others).toEqual([]);
      return only;
    };
    const at = (hour: number) => Date.UTC(2030, 2, 1, hour) / 1000;
    const planned = { participant: 'bo@example.test', status: 'scheduled', reason: null };
    expect(await reminder()).toMatchObject({ ...planned, due_at: at(8) });
    await put('NEEDS-ACTION', '07');
    expect(await reminder()).toMatchObject({ ...planned, due_at: at(6) });
    await put('DECLINED', '07');
    expect(await reminder()).toMatchObject({
      status: 'skipped',
      reason: 'the participant has declined',
    });
    await put('ACCEPTED', '07');
    expect(await reminder()).toMatchObject({ ...planned, due_at: at(6) });
    await other('DELETE', `${path}r.ics`);
    await syncNow();
    expect(await reminder()).toMatchObject({
      status: 'cancelled',
      reason: 'the event was deleted',
    });
  });

  it('follows calendars that are created, changed and deleted on the server, with their events', async () => {
    const { api, syncNow, changeLog, other, path } = await connect();
    const second = path.replace('personal', 'second');
    await other('MKCALENDAR', second);
    await other('PUT', `${second}b.ics`, meeting('b', ['SUMMARY:Inside']));
    await syncNow();
    const calendars = await api('get', '/calendars');
    expect(
      calendars.map(({ name, is_primary }: Record<string, unknown>) => [
        String(name).split('/').at(-1),
        is_primary,
      ]),
    ).toEqual([
      ['personal', true],
      ['second', false],
    ]);
    await other('DELETE', second);
    await syncNow();
    expect(await api('get', '/calendars')).toHaveLength(1);
    expect(await api('get', '/events?show_cancelled=true')).toEqual([]);
    expect(await changeLog()).toEqual([
      'calendar create',
      'calendar create',
      'event create',
      'event delete',
      'calendar delete',
    ]);
  });

  it("merges changes of both sides, and fails the job of a change that would overwrite the other side's", async () => {
    const { api, syncNow, written, outcome, other, path } = await connect();
    await other('PUT', `${path}c.ics`, meeting('c', ['SUMMARY:Both', 'X-THEIRS:kept']));
    await syncNow();
    const [{ id }] = await api('get', '/events');
    // Neither side has seen the other's change.
    await other(
      'PUT',
      `${path}c.ics`,
      meeting('c', ['SUMMARY:Both', 'LOCATION:Theirs', 'X-THEIRS:kept']),
    );
    await written(await api('put', `/events/${id}`, { description: 'Ours' }));
    const joined = (await other('GET', `${path}c.ics`)).text;
    expect(joined).toContain('LOCATION:Theirs');
    expect(joined).toContain('DESCRIPTION:Ours');
    expect(joined).toContain('X-THEIRS:kept');
    await syncNow();
    expect(await api('get', `/events/${id}`)).toMatchObject({
      location: 'Theirs',
      description: 'Ours',
    });
    await other(
      'PUT',
      `${path}c.ics`,
      meeting('c', ['SUMMARY:Their title', 'LOCATION:Theirs', 'DESCRIPTION:Ours']),
    );
    const change = await api('put', `/events/${id}`, { title: 'Our title' });
    expect(await outcome(change.job_status_id)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('title'),
    });
    await syncNow();
    expect(await api('get', `/events/${id}`)).toMatchObject({ title: 'Their title' });
    await written(await api('put', `/events/${id}`, { title: 'Our title' }));
    expect((await other('GET', `${path}c.ics`)).text).toContain('SUMMARY:Our title');
  });

  it('shows a series and its changed instances, each by itself', async () => {
    const { api, syncNow, written, other, path } = await connect();
    const series = (last: readonly string[]) =>
      ics([
        'BEGIN:VEVENT',
        'UID:s',
        'DTSTAMP:20260101T000000Z',
        'DTSTART;TZID=W. Europe Standard Time:20300304T090000',
        'DURATION:PT1H',
        'RRULE:FREQ=WEEKLY;COUNT=4',
        'SUMMARY:Weekly',
        'END:VEVENT',
        ...last,
      ]);
    const moved = (title: string) => [
      'BEGIN:VEVENT',
      'UID:s',
      'DTSTAMP:20260101T000000Z',
      'RECURRENCE-ID;TZID=W. Europe Standard Time:20300311T090000',
      'DTSTART;TZID=W. Europe Standard Time:20300311T140000',
      'DURATION:PT1H',
      `SUMMARY:${title}`,
      'END:VEVENT',
    ];
    await other('PUT', `${path}s.ics`, series(moved('Moved')));
    await syncNow();
    const [master, instance] = await api('get', '/events');
    expect(master).toMatchObject({
      title: 'Weekly',
      recurrence: { rrule: ['RRULE:FREQ=WEEKLY;COUNT=4'], timezone: 'Europe/Berlin' },
      when: {
        start_time: Date.parse('2030-03-04T08:00:00Z') / 1000,
        start_timezone: 'Europe/Berlin',
      },
    });
    expect(master).not.toHaveProperty('master_event_id');
    expect(instance).toMatchObject({
      title: 'Moved',
      when: { start_time: Date.parse('2030-03-11T13:00:00Z') / 1000 },
      master_event_id: master.id,
      original_start_time: Date.parse('2030-03-11T08:00:00Z') / 1000,
    });
    await written(await api('put', `/events/${instance.id}`, { title: 'Ours' }));
    const text = (await other('GET', `${path}s.ics`)).text;
    expect([text.includes('SUMMARY:Weekly'), text.includes('SUMMARY:Ours')]).toEqual([true, true]);
    // The instance has no changes of its own any more.
    await other('PUT', `${path}s.ics`, series([]));
    await syncNow();
    expect(await api('get', `/events/${instance.id}`)).toMatchObject({ status: 'cancelled' });
    expect(await api('get', `/events/${master.id}`)).toMatchObject({ status: 'confirmed' });
  });

  /**
   * A series of another program with properties that we do not understand, and a changed instance
   * of it.
   */
  const RICH = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Other//EN',
    'X-WR-CALNAME:Theirs',
    'BEGIN:VTIMEZONE',
    'TZID:Theirs',
    'X-LIC-LOCATION:Europe/Berlin',
    'BEGIN:STANDARD',
    'DTSTART:20201025T030000',
    'TZOFFSETFROM:+0200',
    'TZOFFSETTO:+0100',
    'X-ZONE:kept',
    'END:STANDARD',
    'END:VTIMEZONE',
    'BEGIN:VEVENT',
    'UID:r',
    'DTSTAMP:20260101T000000Z',
    'DTSTART;TZID=Theirs:20300304T090000',
    'DTEND;TZID=Theirs:20300304T100000',
    'RRULE:FREQ=WEEKLY;COUNT=6',
    'SUMMARY:Weekly',
    'X-SERIES;X-A="b;c":kept',
    'ATTENDEE;CUTYPE=ROOM;X-GUESTS=3;PARTSTAT=DELEGATED;CN=Bo:mailto:bo@example.test',
    'ORGANIZER;SENT-BY="mailto:cy@example.test":mailto:di@example.test',
    'BEGIN:VALARM',
    'ACTION:DISPLAY',
    'TRIGGER;RELATED=END:-PT7M',
    'DESCRIPTION:Theirs',
    'X-ALARM:kept',
    'END:VALARM',
    'END:VEVENT',
    'BEGIN:VEVENT',
    'UID:r',
    'DTSTAMP:20260101T000000Z',
    'RECURRENCE-ID;TZID=Theirs:20300311T090000',
    'DTSTART;TZID=Theirs:20300311T140000',
    'DURATION:PT1H',
    'SUMMARY:Moved',
    'X-INSTANCE:kept',
    'END:VEVENT',
    'END:VCALENDAR',
  ];
  const linesOf = (text: string) =>
    text
      .replaceAll(/\r?\n[ \t]/g, '')
      .split(/\r?\n/)
      .filter(Boolean);
  /** Properties that our own changes affect. */
  const OURS = /^(DTSTAMP|LAST-MODIFIED|SEQUENCE):/;

  it('changes and deletes single instances, and leaves the rest of the file as others have written it', async () => {
    const { api, syncNow, written, other, path } = await connect();
    await other('PUT', `${path}r.ics`, [...RICH, ''].join('\r\n'));
    await syncNow();
    const [series] = await api('get', '/events');
    const window = `expand_recurring=true&starts_before=${Date.parse('2031-01-01T00:00:00Z') / 1000}`;
    const titles = async () =>
      (await api('get', `/events?${window}`)).map(({ title }: { title: string }) => title);
    expect(await titles()).toEqual(['Weekly', 'Moved', 'Weekly', 'Weekly', 'Weekly', 'Weekly']);
    const text = async () => (await other('GET', `${path}r.ics`)).text;
    const before = linesOf(await text());
    const changed = await api('put', `/events/${series.id}_20300318T080000Z`, { title: 'Ours' });
    await written(changed);
    const after = linesOf(await text());
    expect(before.filter((line) => !after.includes(line))).toEqual([]);
    // The new instance has all properties of the series, at its own time in the zone of the series.
    const own = after.slice(after.lastIndexOf('BEGIN:VEVENT')).filter((line) => !OURS.test(line));
    const of = before.slice(before.indexOf('BEGIN:VEVENT'), before.indexOf('END:VEVENT') + 1);
    expect(own.slice(0, own.indexOf('END:VEVENT') + 1).toSorted()).toEqual(
      [
        ...of
          .filter((line) => !OURS.test(line) && !line.startsWith('RRULE'))
          .map((line) =>
            line
              .replace(/(TZID=Theirs:2030)0304/, '$10318')
              .replace('SUMMARY:Weekly', 'SUMMARY:Ours'),
          ),
        'RECURRENCE-ID;TZID=Theirs:20300318T090000',
      ].toSorted(),
    );
    await syncNow();
    expect(await titles()).toEqual(['Weekly', 'Moved', 'Ours', 'Weekly', 'Weekly', 'Weekly']);
    // The first instance was changed by the other program, the second by neither side.
    const [first, second] = [`${series.id}_20300311T080000Z`, `${series.id}_20300325T080000Z`];
    const deleted = await api('get', `/events/${first}`);
    for (const id of [first, second])
      await written({ id, ...(await api('delete', `/events/${id}`)) });
    const left = linesOf(await text());
    expect(left.filter((line) => line.startsWith('EXDATE')).toSorted()).toEqual([
      'EXDATE;TZID=Theirs:20300311T090000',
      'EXDATE;TZID=Theirs:20300325T090000',
    ]);
    expect(left.filter((line) => line === 'BEGIN:VEVENT')).toHaveLength(2);
    expect(await titles()).toEqual(['Weekly', 'Ours', 'Weekly', 'Weekly']);
    await syncNow();
    expect(await titles()).toEqual(['Weekly', 'Ours', 'Weekly', 'Weekly']);
    expect(await api('get', `/events/${deleted.id}`)).toMatchObject({ status: 'cancelled' });
    expect(await api('get', `/events/${second}`)).toMatchObject({ status: 'cancelled' });
    // The other program restores one instance, and deletes one that we have changed.
    const undone = left.filter((line) => line !== 'EXDATE;TZID=Theirs:20300325T090000');
    const from = undone.lastIndexOf('BEGIN:VEVENT');
    undone.splice(from, undone.lastIndexOf('END:VEVENT') + 1 - from);
    await other('PUT', `${path}r.ics`, [...undone, ''].join('\r\n'));
    await syncNow();
    expect(await titles()).toEqual(['Weekly', 'Weekly', 'Weekly', 'Weekly', 'Weekly']);
    expect(await api('get', `/events/${changed.id}`)).toMatchObject({ status: 'cancelled' });
    expect(await api('get', `/events/${second}`)).toMatchObject({
      id: second,
      status: 'confirmed',
    });
    // No row of an instance remains, so deleting the series deletes all of it.
    await written(await api('put', `/events/${second}`, { title: 'Again' }));
    await written({ id: series.id, ...(await api('delete', `/events/${series.id}`)) });
    await syncNow();
    expect(await api('get', `/events?${window}`)).toEqual([]);
    expect((await other('GET', `${path}r.ics`)).status).toBe(404);
  });

  it('fails the job of a change to an instance that the other side has changed or deleted', async () => {
    const { api, syncNow, written, outcome, other, path } = await connect();
    const plain = RICH.slice(0, RICH.lastIndexOf('BEGIN:VEVENT'));
    const theirs = (start: string, title: string, range = '') => [
      'BEGIN:VEVENT',
      'UID:r',
      'DTSTAMP:20260101T000000Z',
      `RECURRENCE-ID;TZID=Theirs${range}:${start}T090000`,
      `DTSTART;TZID=Theirs:${start}T090000`,
      'DURATION:PT1H',
      `SUMMARY:${title}`,
      'END:VEVENT',
    ];
    const put = async (...lines: string[]) =>
      other('PUT', `${path}r.ics`, [...plain, ...lines, 'END:VCALENDAR', ''].join('\r\n'));
    await put();
    await syncNow();
    const [series] = await api('get', '/events');
    const id = `${series.id}_20300311T080000Z`;
    // The other side has changed the instance and we have not seen it yet. In the end there is one
    // row, with the other side's change.
    await put(...theirs('20300311', 'Theirs'));
    const both = await api('put', `/events/${id}`, { title: 'Ours' });
    expect(await outcome(both.job_status_id)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('title'),
    });
    await syncNow();
    expect(await api('get', `/events/${id}`)).toMatchObject({ id: both.id, title: 'Theirs' });
    expect(await api('get', '/events')).toHaveLength(2);
    await written(await api('put', `/events/${id}`, { title: 'Ours' }));
    // The other side has deleted the instance.
    await other(
      'PUT',
      `${path}r.ics`,
      [
        ...plain.slice(0, -1),
        'EXDATE;TZID=Theirs:20300318T090000',
        'END:VEVENT',
        'END:VCALENDAR',
        '',
      ].join('\r\n'),
    );
    const late = await api('put', `/events/${series.id}_20300318T080000Z`, { title: 'Late' });
    expect(await outcome(late.job_status_id)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('deleted'),
    });
    await syncNow();
    expect(await api('get', `/events/${late.id}`)).toMatchObject({ status: 'cancelled' });
    // An instance with RANGE=THISANDFUTURE also stands for later ones, so we must not change it.
    await put(...theirs('20300325', 'From now on', ';RANGE=THISANDFUTURE'));
    await syncNow();
    const ranged = await api('put', `/events/${series.id}_20300325T080000Z`, { title: 'Ours' });
    expect(await outcome(ranged.job_status_id)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('THISANDFUTURE'),
    });
    await syncNow();
    expect(await api('get', `/events/${ranged.id}`)).toMatchObject({ title: 'From now on' });
  });

  it('takes back what the server refuses, and the next sync pass changes nothing', async () => {
    const { api, syncNow, written, outcome, other, path } = await connect();
    const [calendar] = await api('get', '/calendars');
    const refuse = (method: 'createEvent' | 'updateEvent' | 'deleteEvent' | 'deleteCalendar') =>
      jest
        .spyOn(calendars, method)
        .mockRejectedValueOnce(new ProviderError('rejected', '403 Forbidden'));
    const refused = async (answer: { job_status_id: string }) =>
      expect(await outcome(answer.job_status_id)).toMatchObject({
        status: 'failed',
        reason: '403 Forbidden',
      });
    const fields = {
      calendar_id: calendar.id,
      when: { start_time: 1_900_000_000, end_time: 1_900_003_600, start_timezone: 'Europe/Berlin' },
      participants: [
        { name: 'Bo', email: 'bo@example.test', phone_number: '+15550100', comment: 'Gladly' },
      ],
      reminder_minutes: '[20,10]',
    };
    const id = await written(await api('post', '/events', { ...fields, title: 'Kept' }));
    await syncNow();
    const { updated_at: _, ...kept } = await api('get', `/events/${id}`);
    const file = (await other('GET', `${path}${id}.ics`)).text;

    refuse('createEvent');
    const fresh = await api('post', '/events', { ...fields, title: 'New' });
    await refused(fresh);
    refuse('updateEvent');
    await refused(
      await api('put', `/events/${id}`, {
        title: 'Other',
        participants: [],
        reminder_minutes: '[]',
      }),
    );
    expect(await api('get', `/events/${id}`)).toMatchObject(kept);
    refuse('deleteEvent');
    await refused(await api('delete', `/events/${id}`));
    expect(await api('get', `/events/${id}`)).toMatchObject(kept);
    const extra = await written(await api('post', '/calendars', { name: 'Extra' }));
    const inside = await written(
      await api('post', '/events', { ...fields, calendar_id: extra, title: 'Inside' }),
    );
    refuse('deleteCalendar');
    await refused(await api('delete', `/calendars/${extra}`));
    await syncNow();
    expect(await api('get', `/calendars/${extra}`)).toMatchObject({ name: 'Extra' });
    expect(await api('get', `/events/${inside}`)).toMatchObject({
      title: 'Inside',
      status: 'confirmed',
    });
    expect(await api('get', `/events/${id}`)).toMatchObject(kept);
    expect(await api('get', '/events?show_cancelled=true')).toMatchObject([
      { id, title: 'Kept' },
      { id: fresh.id, status: 'cancelled' },
      { id: inside },
    ]);
    expect((await other('GET', `${path}${id}.ics`)).text).toBe(file);
    await written(await api('put', `/events/${id}`, { title: 'Changed' }));
    expect((await other('GET', `${path}${id}.ics`)).text).toContain('SUMMARY:Changed');
  });

  it('skips calendar files that cannot be read', async () => {
    const { api, syncNow, other, path } = await connect();
    const good = await other('PUT', `${path}good.ics`, meeting('good', ['SUMMARY:Good']));
    expect(good.status).toBe(201);
    // The server checks only the syntax, so it accepts an impossible year.
    await other(
      'PUT',
      `${path}odd.ics`,
      ics([
        'BEGIN:VEVENT',
        'UID:odd',
        'DTSTAMP:20260101T000000Z',
        'SUMMARY:No start',
        'END:VEVENT',
      ]),
    );
    await syncNow();
    expect((await api('get', '/events')).map(({ title }: { title: string }) => title)).toEqual([
      'Good',
    ]);
  });
});
