import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { Clock } from '../../src/platform/base/time/clock.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import type { Connector } from '../../src/providers/port/connector.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { DavCalendars } from '../../src/providers/imap/dav/dav.calendars.ts';
import { listFailures } from '../../src/sync/sync-failures.ts';
import { type BareDav, startBareDav } from '../support/bare-dav.ts';
import { davAccount } from '../support/dav-account.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const at = (iso: string) => Date.parse(iso) / 1000;
const calendar = (...lines: readonly string[]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Other//EN', ...lines, 'END:VCALENDAR', ''].join('\r\n'); // prettier-ignore
const event = (uid: string, ...lines: readonly string[]) =>
  ['BEGIN:VEVENT', `UID:${uid}`, 'DTSTAMP:20260101T000000Z', ...lines, 'END:VEVENT'] as const;
const zone = (tzid: string, ...observances: readonly (readonly string[])[]) =>
  ['BEGIN:VTIMEZONE', `TZID:${tzid}`, ...observances.flat(), 'END:VTIMEZONE'] as const;
const observance = (kind: string, ...lines: readonly string[]) =>
  [`BEGIN:${kind}`, ...lines, `END:${kind}`] as const;
/** A zone whose clocks change as in Paris, in the notation of Notes. */
const notes = (tzid: string, winter = '+0100', summer = '+0200', extra = 'BYMINUTE=0;BYHOUR=2;') =>
  zone(
    tzid,
    observance('STANDARD', 'DTSTART:19501029T030000', `TZOFFSETFROM:${summer}`, `TZOFFSETTO:${winter}`, `RRULE:FREQ=YEARLY;${extra.replace('HOUR=2', 'HOUR=3')}BYDAY=-1SU;BYMONTH=10`),
    observance('DAYLIGHT', 'DTSTART:19500326T020000', `TZOFFSETFROM:${winter}`, `TZOFFSETTO:${summer}`, `RRULE:FREQ=YEARLY;${extra}BYDAY=-1SU;BYMONTH=3`),
  ); // prettier-ignore

interface Shown {
  id: string;
  title: string;
  status: string;
  master_event_id: string | null;
  recurrence: { rrule: string[]; timezone: string } | null;
  when: { date?: string; time?: number; start_time?: number; end_time?: number };
  warnings?: string[];
}

describe('calendar files that programs write otherwise than RFC 5545 says', () => {
  let dav: BareDav;
  let server: TestApp;
  let account: TestAccount;
  let calendarId: string;

  beforeAll(async () => {
    dav = await startBareDav();
    server = await startTestApp();
    const { app } = server;
    const port = new DavCalendars(app.get(EgressClient), app.get(Clock), app.get(WorkThreads));
    app.get(ConnectorRegistry).replace({ name: 'imap', calendar: port } as unknown as Connector);
    const remote = davAccount(dav.url, 'ada', 'secret');
    account = await createAccount(app, await createApplication(app), {
      provider: 'imap',
      email: remote.email,
      settings: remote.settings,
      mirrored: true,
    });
    await synced();
    const [first] = await api<{ id: string }[]>('get', '/calendars');
    calendarId = first?.id ?? '';
  });
  afterAll(async () => {
    await server.close();
    await dav.stop();
  });

  const api = async <T>(
    method: 'get' | 'post' | 'put' | 'delete',
    where: string,
    body?: object,
  ) => {
    const answer = await request(server.url)[method](where).set(account.bearer).send(body);
    expect([answer.status, answer.body.message]).toEqual([200, undefined]);
    return answer.body as T;
  };
  const rows = (text: string) => server.app.get(Database).query(text, [account.id]);
  async function synced() {
    await until('the end of the previous sync pass', async () => {
      const asked = await rows(
        `update sync_job set calendars_at = 'epoch', run_at = now() where account_id = $1 and state = 0 returning 1`,
      );
      return asked.length > 0;
    });
    server.app.get(Signals).wake('sync');
    await until('the end of the sync pass', async () => {
      const done = await rows(
        `select 1 from sync_job where account_id = $1 and state = 0 and calendars_at > 'epoch'`,
      );
      return done.length > 0;
    });
  }
  const pathOf = (uid: string) => `/home/personal/${uid}.ics`;
  /** Stores a file and returns what the API then shows of it. */
  const put = async (uid: string, text: string | Buffer) => {
    dav.files.set(pathOf(uid), Buffer.from(text));
    await synced();
    return shown(uid);
  };
  const shown = async (uid: string) => {
    const all = await api<(Shown & { ical_uid: string })[]>('get', '/events?limit=1000&view=expanded'); // prettier-ignore
    return all.filter((one) => one.ical_uid === uid);
  };
  const instances = async (uid: string, from = '2027-03-01', before = '2027-12-31') => {
    const range = `starts_after=${at(from)}&starts_before=${at(before)}`;
    const all = await api<(Shown & { ical_uid: string })[]>('get', `/events?limit=1000&expand_recurring=true&${range}`); // prettier-ignore
    return all.filter((one) => one.ical_uid === uid);
  };
  const startsOf = (all: readonly Shown[]) =>
    all.map(({ when }) => {
      const start = when.start_time ?? when.time;
      return when.date ?? new Date((start ?? 0) * 1000).toISOString().slice(0, 16);
    });
  const written = async (answer: { job_status_id: string }) => {
    const job = await until('the end of the job', async () => {
      const one = await api<{ status: string }>('get', `/job-statuses/${answer.job_status_id}`);
      return ['pending', 'delayed'].includes(one.status) ? false : one;
    });
    expect(job.status).toBe('successful');
  };
  const fileOf = (uid: string) => dav.files.get(pathOf(uid))?.toString().replaceAll('\r\n ', '') ?? ''; // prettier-ignore

  it('excludes a day whatever zone its line names, and keeps lines that cannot be read', async () => {
    const odd = 'EXDATE;TZID=W. Europe Standard Time;VALUE=DATE:20270310';
    const bad = ['EXDATE:tomorrow', 'X-ODD;PARAMETER', 'RRULE:FREQ=WEEKLY;BYDAY=MON'];
    const lines = ['DTSTART;VALUE=DATE:20270308', 'RRULE:FREQ=DAILY;COUNT=4', odd, ...bad];
    const [series] = await put('c1', calendar(...event('c1', ...lines, 'SUMMARY:Old')));
    expect(startsOf(await instances('c1'))).toEqual(['2027-03-08', '2027-03-09', '2027-03-11']);
    expect(series?.warnings).toHaveLength(3);
    expect(series?.warnings?.join()).toContain('"EXDATE:tomorrow" cannot be read');
    const failures = await listFailures(server.app.get(Database), 100, account.id);
    expect(failures.find(({ providerId }) => providerId === pathOf('c1'))?.reason).toContain('X-ODD'); // prettier-ignore
    await written(await api('put', `/events/${series?.id}`, { title: 'New' }));
    expect(fileOf('c1')).toContain('SUMMARY:New');
    for (const line of bad) expect(fileOf('c1').split('\r\n')).toContain(line);
    await put('c1', calendar(...event('c1', ...lines.slice(0, 3))));
    const later = await listFailures(server.app.get(Database), 100, account.id);
    expect(later.some(({ providerId }) => providerId === pathOf('c1'))).toBe(false);
  });

  it.each([
    ['both', 'RRULE:FREQ=DAILY;COUNT=4;UNTIL=20270311T090000Z'],
    ['an empty UNTIL', 'RRULE:FREQ=DAILY;UNTIL='],
    ['a weekday that does not exist', 'RRULE:FREQ=WEEKLY;BYDAY=MON'],
    ['a frequency that does not exist', 'RRULE:FREQ=FORTNIGHTLY'],
    ['a time of day that does not exist', 'RRULE:FREQ=DAILY;BYHOUR=25'],
  ])('shows the first time of a series whose only rule has %s', async (name, rule) => {
    const uid = `c2-${name.replaceAll(' ', '-')}`;
    const lines = ['DTSTART:20270308T090000Z', 'DTEND:20270308T100000Z', rule];
    const [one] = await put(uid, calendar(...event(uid, ...lines)));
    expect(startsOf(await instances(uid))).toEqual(['2027-03-08T09:00']);
    expect(one?.warnings).toHaveLength(1);
  });

  it('repeats a series by the rules that can be read', async () => {
    const rules = ['RRULE:FREQ=WEEKLY;BYDAY=MON', 'RRULE:FREQ=DAILY;COUNT=2'];
    const [one] = await put('c2', calendar(...event('c2', 'DTSTART:20270308T090000Z', ...rules)));
    expect(startsOf(await instances('c2'))).toEqual(['2027-03-08T09:00', '2027-03-09T09:00']);
    expect(one?.warnings).toHaveLength(1);
  });

  it.each([
    ['in the notation of Notes', 'Romance', notes('Romance'), '08:00'],
    ['without an offset before', 'Odd', zone('Odd', observance('STANDARD', 'DTSTART:19700101T000000', 'TZOFFSETTO:+0530')), '04:30'],
    ['by the Sunday from the 25th on', 'Ours', zone('Ours', observance('STANDARD', 'DTSTART:19701025T030000', 'TZOFFSETFROM:+0200', 'TZOFFSETTO:+0100', 'RRULE:FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=25,26,27,28,29,30,31;BYDAY=SU'), observance('DAYLIGHT', 'DTSTART:19700329T020000', 'TZOFFSETFROM:+0100', 'TZOFFSETTO:+0200', 'RRULE:FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=25,26,27,28,29,30,31;BYDAY=SU')), '08:00'],
    ['under the name GMT', 'GMT', notes('GMT', '+0000', '+0100'), '09:00'],
    ['under the name EST', 'EST', notes('EST', '-0500', '-0400', ''), '14:00'],
    ['under a global name that is also ours', '/x.test/Asia/Tokyo', notes('/x.test/Asia/Tokyo'), '01:00'],
    ['only by a global name', '/freeassociation.sourceforge.net/Europe/Paris', [], '08:00'],
    ['only by a name of Windows', '"(UTC-05:00) Eastern Time (US & Canada)"', [], '14:00'],
  ])('reads a time in a zone described %s', async (name, tzid, described, expected) => {
    const uid = `zone-${name.replaceAll(' ', '-')}`;
    const lines = [`DTSTART;TZID=${tzid}:20270705T100000`, `DTEND;TZID=${tzid}:20270705T110000`];
    const found = await put(uid, calendar(...described, ...event(uid, ...lines)));
    expect(startsOf(found)).toEqual([`2027-07-05T${expected}`]);
  }); // prettier-ignore

  it('finds the instance that a RECURRENCE-ID of another form means', async () => {
    const days = event('c6', 'DTSTART;VALUE=DATE:20270308', 'RRULE:FREQ=DAILY;COUNT=3');
    const changed = event('c6', 'RECURRENCE-ID;TZID=Europe/Berlin:20270310T000000', 'DTSTART;VALUE=DATE:20270320', 'SUMMARY:Moved'); // prettier-ignore
    await put('c6', calendar(...days, ...changed));
    expect(startsOf(await instances('c6'))).toEqual(['2027-03-08', '2027-03-09', '2027-03-20']);
    const times = event('c6t', 'DTSTART;TZID=Europe/Berlin:20270308T100000', 'RRULE:FREQ=DAILY;COUNT=3'); // prettier-ignore
    const other = event('c6t', 'RECURRENCE-ID;VALUE=DATE:20270309', 'DTSTART;TZID=Europe/Berlin:20270309T150000'); // prettier-ignore
    await put('c6t', calendar(...times, ...other));
    expect(startsOf(await instances('c6t'))).toEqual(['2027-03-08T09:00', '2027-03-09T14:00', '2027-03-10T09:00']); // prettier-ignore
  });

  it('keeps an instance deleted whose wall time clocks skip', async () => {
    const lines = ['DTSTART;TZID=Europe/Berlin:20270326T023000', 'RRULE:FREQ=DAILY;COUNT=4'];
    const [series] = await put('c7', calendar(...event('c7', ...lines)));
    await written(await api('delete', `/events/${series?.id}_20270328T013000Z`));
    await synced();
    const left = ['2027-03-26T01:30', '2027-03-27T01:30', '2027-03-29T00:30'];
    expect(startsOf(await instances('c7'))).toEqual(left);
    await put('c7u', calendar(...event('c7u', ...lines, 'EXDATE:20270328T013000Z')));
    expect(startsOf(await instances('c7u'))).toEqual(left);
  });

  it('writes ends and exclusions of a series in the forms that RFC 5545 requires', async () => {
    const made = await api<Shown & { job_status_id: string }>('post', '/events', {
      calendar_id: calendarId,
      title: 'Series',
      when: { start_time: at('2027-03-08T09:00Z'), end_time: at('2027-03-08T10:00Z') },
      recurrence: { rrule: ['RRULE:FREQ=DAILY;UNTIL=20270310', 'EXDATE;VALUE=DATE:20270309'], timezone: 'Europe/Berlin' },
    }); // prettier-ignore
    await written(made);
    expect(fileOf(made.id)).toContain('RRULE:FREQ=DAILY;UNTIL=20270310T225959Z');
    expect(fileOf(made.id)).toContain('EXDATE;TZID=Europe/Berlin:20270309T100000');
    await synced();
    expect(startsOf(await instances(made.id))).toEqual(['2027-03-08T09:00', '2027-03-10T09:00']);
  });

  it('reads the rest of a file with a malformed value', async () => {
    const lines = ['DTSTART:20270308', 'EXDATE:20270309,', 'EXDATE:', 'RRULE:FREQ=DAILY;COUNT=3'];
    const [one] = await put('c9', `${calendar(...event('c9', ...lines))}Sent by a gateway\r\n`);
    expect(startsOf(await instances('c9'))).toEqual(['2027-03-08', '2027-03-10']);
    expect(one?.warnings?.join()).toContain('after the end');
    const cutOff = calendar(...event('cut', 'DTSTART:20270308T090000Z')).slice(0, -26);
    expect(await put('cut', cutOff)).toHaveLength(1);
  });

  it('lists files without an etag, and deletes none whose etag is missing for a while', async () => {
    dav.hasEtag = (path) => path !== pathOf('c10');
    const [before] = await put('c10', calendar(...event('c10', 'DTSTART:20270308T090000Z')));
    expect(before?.id).toBeDefined();
    dav.hasEtag = () => false;
    await synced();
    dav.hasEtag = () => true;
    await synced();
    expect((await shown('c10')).map(({ id }) => id)).toEqual([before?.id]);
    dav.hasEtag = () => false;
    const [moved] = await put('c10', calendar(...event('c10', 'DTSTART:20270308T100000Z')));
    expect(moved).toMatchObject({ id: before?.id, when: { time: at('2027-03-08T10:00Z') } });
    dav.hasEtag = () => true;
  });

  it.each([403, 500])(
    'shows the other files when the server answers %s for one of them',
    async (status) => {
      const [refused, other] = [`withheld-${status}`, `beside-${status}`];
      dav.withheld.set(pathOf(refused), status);
      dav.files.set(
        pathOf(refused),
        Buffer.from(calendar(...event(refused, 'DTSTART:20270308T090000Z'))),
      );
      expect(await put(other, calendar(...event(other, 'DTSTART:20270308T090000Z')))).toHaveLength(
        1,
      );
      expect(await shown(refused)).toEqual([]);
      dav.withheld.clear();
    },
  );

  it('ends instances of a length in days at the same wall time when clocks change', async () => {
    const lines = ['DTSTART;TZID=Europe/Berlin:20270315T100000', 'DURATION:P7D', 'RRULE:FREQ=WEEKLY;COUNT=3']; // prettier-ignore
    await put('c11', calendar(...event('c11', ...lines)));
    const ends = (await instances('c11')).map(({ when }) => when.end_time);
    expect(ends).toEqual(['2027-03-22T09:00Z', '2027-03-29T08:00Z', '2027-04-05T08:00Z'].map(at));
  });

  it('joins a character that a line fold divides', async () => {
    const text = calendar(...event('c12', 'DTSTART:20270308T090000Z', 'SUMMARY:Caf\u00e9 \u20ac'));
    const bytes = Buffer.from(text);
    const fold = (end: number) => Buffer.concat([bytes.subarray(0, end), Buffer.from('\r\n '), bytes.subarray(end)]); // prettier-ignore
    const [one] = await put('c12', fold(bytes.indexOf('\u00e9') + 1));
    expect(one?.title).toBe('Caf\u00e9 \u20ac');
    const [two] = await put('c12', fold(bytes.indexOf('\u20ac') + 2));
    expect(two?.title).toBe('Caf\u00e9 \u20ac');
  });
});
