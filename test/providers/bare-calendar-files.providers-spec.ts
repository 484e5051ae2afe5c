import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { Clock } from '../../src/platform/base/time/clock.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import type { Connector } from '../../src/providers/port/connector.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { DavCalendars } from '../../src/providers/imap/dav/calendars/dav.calendars.ts';
import { listFailures } from '../../src/sync/failures/sync-failures.ts';
import { type BareDav, startBareDav } from '../support/bare-dav.ts';
import { davAccount } from '../support/dav-account.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const at = (iso: string) => Date.parse(iso) / 1000;
const calendar = (...lines: readonly string[]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Other//EN', ...lines, 'END:VCALENDAR', ''].join(
    '\r\n',
  );
const event = (uid: string, ...lines: readonly string[]) =>
  ['BEGIN:VEVENT', `UID:${uid}`, 'DTSTAMP:20260101T000000Z', ...lines, 'END:VEVENT'] as const;

interface Shown {
  id: string;
  title: string;
  when: { date?: string; time?: number; start_time?: number; end_time?: number };
}

describe('calendar files on a server that stores every file', () => {
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
  const put = async (uid: string, text: string) => {
    dav.files.set(pathOf(uid), Buffer.from(text));
    await synced();
    return shown(uid);
  };
  const shown = async (uid: string) => {
    const all = await api<(Shown & { ical_uid: string })[]>('get', '/events?limit=1000');
    return all.filter((one) => one.ical_uid === uid);
  };
  const instances = async (uid: string, from = '2027-03-01', before = '2027-12-31') => {
    const range = `starts_after=${at(from)}&starts_before=${at(before)}`;
    const all = await api<(Shown & { ical_uid: string })[]>(
      'get',
      `/events?limit=1000&expand_recurring=true&${range}`,
    );
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
  const fileOf = (uid: string) =>
    dav.files.get(pathOf(uid))?.toString().replaceAll('\r\n ', '') ?? '';

  it('keeps lines that cannot be read when it changes a file, and forgets them when they are gone', async () => {
    const bad = ['EXDATE:tomorrow', 'X-ODD;PARAMETER', 'RRULE:FREQ=WEEKLY;BYDAY=MON'];
    const lines = ['DTSTART;VALUE=DATE:20270308', 'RRULE:FREQ=DAILY;COUNT=4'];
    const [series] = await put('c1', calendar(...event('c1', ...lines, ...bad, 'SUMMARY:Old')));
    await written(await api('put', `/events/${series?.id}`, { title: 'New' }));
    expect(fileOf('c1')).toContain('SUMMARY:New');
    for (const line of bad) expect(fileOf('c1').split('\r\n')).toContain(line);
    const isFailure = async () => {
      const failures = await listFailures(server.app.get(Database), 100, account.id);
      return failures.some(({ providerId }) => providerId === pathOf('c1'));
    };
    expect(await isFailure()).toBe(true);
    await put('c1', calendar(...event('c1', ...lines)));
    expect(await isFailure()).toBe(false);
  });

  it('keeps an instance deleted whose wall time clocks skip', async () => {
    const lines = ['DTSTART;TZID=Europe/Berlin:20270326T023000', 'RRULE:FREQ=DAILY;COUNT=4'];
    const [series] = await put('c7', calendar(...event('c7', ...lines)));
    await written(await api('delete', `/events/${series?.id}_20270328T013000Z`));
    await synced();
    const left = ['2027-03-26T01:30', '2027-03-27T01:30', '2027-03-29T00:30'];
    expect(startsOf(await instances('c7'))).toEqual(left);
  });

  it('writes ends and exclusions of a series in the forms that RFC 5545 requires', async () => {
    const made = await api<Shown & { job_status_id: string }>('post', '/events', {
      calendar_id: calendarId,
      title: 'Series',
      when: { start_time: at('2027-03-08T09:00Z'), end_time: at('2027-03-08T10:00Z') },
      recurrence: {
        rrule: ['RRULE:FREQ=DAILY;UNTIL=20270310', 'EXDATE;VALUE=DATE:20270309'],
        timezone: 'Europe/Berlin',
      },
    });
    await written(made);
    expect(fileOf(made.id)).toContain('RRULE:FREQ=DAILY;UNTIL=20270310T225959Z');
    expect(fileOf(made.id)).toContain('EXDATE;TZID=Europe/Berlin:20270309T100000');
    await synced();
    expect(startsOf(await instances(made.id))).toEqual(['2027-03-08T09:00', '2027-03-10T09:00']);
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
});
