import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import { listFailures } from '../../src/sync/failures/sync-failures.ts';
import { deliver } from '../support/deliver.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const ORGANIZER = 'zoe@elsewhere.test';
const at = (iso: string) => Date.parse(iso) / 1000;
let count = 0;
const newUid = () => `odd-${++count}@elsewhere.test`;

const calendar = (method: string, uid: string, sequence: number, ...lines: readonly string[]) =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    `METHOD:${method}`,
    'BEGIN:VEVENT',
    `UID:${uid}`,
    `SEQUENCE:${sequence}`,
    `DTSTAMP:2026010${sequence + 1}T000000Z`,
    `ORGANIZER:mailto:${ORGANIZER}`,
    ...lines,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n');
const DAYS = ['DTSTART;VALUE=DATE:20300308', 'RRULE:FREQ=DAILY;COUNT=4'];
const TIMES = [
  'DTSTART;TZID=Europe/Berlin:20300308T100000',
  'DURATION:PT1H',
  'RRULE:FREQ=DAILY;COUNT=4',
];

interface Shown {
  ical_uid: string;
  status: string;
  when: { date?: string; start_time?: number };
  warnings: string[];
}

describe('invitations whose calendar file is odd', () => {
  let server: TestApp;
  let bo: TestAccount;
  beforeAll(async () => {
    server = await startTestApp();
    bo = await createAccount(server.app, await createApplication(server.app), { mirrored: true });
  });
  afterAll(() => server.close());

  const mail = async (ics: string) => {
    const encoded =
      Buffer.from(ics)
        .toString('base64')
        .match(/.{1,76}/g) ?? [];
    const lines = [
      'Subject: Invitation',
      'MIME-Version: 1.0',
      'Content-Type: text/calendar; charset=utf-8',
      'Content-Transfer-Encoding: base64',
      '',
      ...encoded,
    ];
    const header = await deliver(server, bo, lines, ORGANIZER);
    server.app.get(Signals).wake('sync');
    await until('the message', async () => {
      const text = 'select 1 from message where account_id = $1 and message_id_header = $2';
      return (await server.app.get(Database).query(text, [bo.id, header])).length > 0;
    });
  };
  const listed = async (uid: string, query: string): Promise<Shown[]> => {
    const { body } = await request(server.url).get(`/events?limit=1000&${query}`).set(bo.bearer);
    return (body as Shown[]).filter((one) => one.ical_uid === uid);
  };
  const starts = async (uid: string) => {
    const range = `starts_after=${at('2030-03-01')}&starts_before=${at('2030-04-01')}`;
    const all = await listed(uid, `expand_recurring=true&${range}`);
    return all.map(
      ({ when }) => when.date ?? new Date((when.start_time ?? 0) * 1000).toISOString().slice(0, 16),
    );
  };

  it.each([
    [
      'a day named by its midnight',
      DAYS,
      'RECURRENCE-ID;TZID=Europe/Berlin:20300310T000000',
      'DTSTART;VALUE=DATE:20300310',
      ['2030-03-08', '2030-03-09', '2030-03-11'],
    ],
    [
      'a time named by its day',
      TIMES,
      'RECURRENCE-ID;VALUE=DATE:20300309',
      'DTSTART;TZID=Europe/Berlin:20300309T100000',
      ['2030-03-08T09:00', '2030-03-10T09:00', '2030-03-11T09:00'],
    ],
  ])('cancels the instance that is %s', async (_, series, instance, start, left) => {
    for (const order of ['after', 'before'] as const) {
      const uid = newUid();
      const mails = [
        calendar('REQUEST', uid, 0, ...series),
        calendar('CANCEL', uid, 1, instance, start),
      ];
      for (const ics of order === 'after' ? mails : mails.toReversed()) await mail(ics);
      expect(await starts(uid)).toEqual(left);
    }
  });

  it('cancels an instance and all later ones, also if the cancellation arrives first', async () => {
    const instance = 'RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20300310T100000';
    for (const isFirst of [false, true]) {
      const uid = newUid();
      const mails = [calendar('REQUEST', uid, 0, ...TIMES), calendar('CANCEL', uid, 1, instance)];
      for (const ics of isFirst ? mails.toReversed() : mails) await mail(ics);
      expect(await starts(uid)).toEqual(['2030-03-08T09:00', '2030-03-09T09:00']);
      await mail(calendar('REQUEST', uid, 2, ...TIMES));
      expect(await starts(uid)).toHaveLength(4);
    }
  });

  it('cancels the whole meeting from its first instance on', async () => {
    const uid = newUid();
    await mail(calendar('REQUEST', uid, 0, ...TIMES));
    await mail(calendar('CANCEL', uid, 1, 'RECURRENCE-ID;RANGE=THISANDFUTURE:20300308T090000Z'));
    expect(await starts(uid)).toEqual([]);
    expect(await listed(uid, 'show_cancelled=true')).toMatchObject([{ status: 'cancelled' }]);
  });

  it('shows an invitation with a line that cannot be read, and says which', async () => {
    const uid = newUid();
    await mail(`${calendar('REQUEST', uid, 0, ...TIMES, 'EXDATE:never')}Sent by a gateway\r\n`);
    expect(await starts(uid)).toHaveLength(4);
    const [event] = await listed(uid, 'view=expanded');
    expect(event?.warnings.join()).toContain('"EXDATE:never" cannot be read');
    const failures = await listFailures(server.app.get(Database), 100, bo.id);
    expect(failures.some(({ reason }) => reason.includes('EXDATE:never'))).toBe(true);
  });
});
