import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../support/until.ts';
import { AttackedServer, type HostileMailbox } from './support/attacked-server.ts';
import { HIGHEST_RSS_MB, LONGEST_ANSWER_MS, type Watched } from './support/watch.ts';

const HEADER = [
  'From: eve@evil.test',
  'To: ada@example.test',
  'Date: Mon, 01 Jan 2026 10:00:00 +0000',
  'MIME-Version: 1.0',
];

/** A mail made of these lines: first the header lines, then an empty line and the content. */
const mail = (subject: string, lines: readonly string[]): string =>
  [
    ...HEADER,
    `Subject: ${subject}`,
    `Message-ID: <${subject.replaceAll(' ', '-')}@evil.test>`,
    ...lines,
    '',
  ].join('\r\n');

const times = (count: number, line: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => line(n));

function calendar(uid: string, zone: readonly string[], lines: readonly string[]): string[] {
  return [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:x',
    'METHOD:REQUEST',
    ...zone,
    'BEGIN:VEVENT',
    `UID:${uid}`,
    'DTSTAMP:20260101T000000Z',
    'ORGANIZER:mailto:eve@evil.test',
    'ATTENDEE:mailto:ada@example.test',
    ...lines,
    'END:VEVENT',
    'END:VCALENDAR',
  ];
}

const zone = (name: string): string[] => [
  'BEGIN:VTIMEZONE',
  `TZID:${name}`,
  'BEGIN:STANDARD',
  'DTSTART:16010101T030000',
  'RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU',
  'TZOFFSETFROM:+0246',
  'TZOFFSETTO:+0123',
  'END:STANDARD',
  'BEGIN:DAYLIGHT',
  'DTSTART:16010101T020000',
  'RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU',
  'TZOFFSETFROM:+0123',
  'TZOFFSETTO:+0246',
  'END:DAYLIGHT',
  'END:VTIMEZONE',
];

function multipart(parts: readonly (readonly string[])[]): string[] {
  const all = parts.flatMap((part) => ['--b', ...part]);
  return ['Content-Type: multipart/mixed; boundary=b', '', ...all, '--b--'];
}

const ics = (text: readonly string[]): string[] => [
  'Content-Type: text/calendar; method=REQUEST',
  '',
  ...text,
];

const NUMBERS = (most: number) => times(most, String).join(',');
const WILD_RULES = [
  'FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30',
  'FREQ=WEEKLY;BYSETPOS=366;BYDAY=MO,TU',
  `FREQ=DAILY;BYHOUR=${NUMBERS(24)};BYMINUTE=${NUMBERS(60)};BYSECOND=${NUMBERS(60)};BYSETPOS=366`,
  'FREQ=DAILY;BYHOUR=3;COUNT=999999999',
  'FREQ=YEARLY;BYDAY=53MO;UNTIL=99991231T000000Z',
  'FREQ=MONTHLY;BYMONTHDAY=31;INTERVAL=999999999',
  'FREQ=DAILY;INTERVAL=2147483647',
];

const BOMBS: Record<string, string[]> = {
  'zones of many years': multipart(
    ['One', 'Two', 'Three'].map((name) =>
      ics(
        calendar(name, zone(name), [
          `DTSTART;TZID=${name}:20270601T100000`,
          'RRULE:FREQ=YEARLY',
          ...times(1_150, (n) => `EXDATE;TZID=${name}:${1_000 + n}0601T100000`),
        ]),
      ),
    ),
  ),
  'rules by hundreds': ics(
    calendar(
      'rules',
      [],
      [
        'SUMMARY:Hundreds of rules',
        'DTSTART:20270601T100000Z',
        ...times(500, (n) => `RRULE:FREQ=DAILY;BYHOUR=${n % 24};BYMINUTE=${n % 60}`),
      ],
    ),
  ),
  'wild rules': multipart(
    WILD_RULES.slice(0, 3).map((rule, n) =>
      ics(calendar(`wild-${n}`, [], ['SUMMARY:Wild', 'DTSTART:20260601T100000Z', `RRULE:${rule}`])),
    ),
  ),
  'more wild rules': multipart(
    WILD_RULES.slice(3).map((rule, n) =>
      ics(
        calendar(
          `wilder-${n}`,
          [],
          ['SUMMARY:Wilder', 'DTSTART:00010101T100000Z', `RRULE:${rule}`],
        ),
      ),
    ),
  ),
  'a calendar of nested components': ics(
    calendar(
      'deep',
      [],
      times(3_000, () => 'BEGIN:VEVENT'),
    ),
  ),
  'a long line of parameters': ics(
    calendar('long', [], [`X-A;${times(60_000, (n) => `P${n}=1`).join(';')}:x`]),
  ),
  'nested parts': [
    'Content-Type: multipart/mixed; boundary=b0',
    '',
    ...times(1_000, (n) => `--b${n}\r\nContent-Type: multipart/mixed; boundary=b${n + 1}\r\n`),
  ],
  'a million parts': [
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b\r\n\r\n'.repeat(1_000_000),
  ],
  'a hundred thousand recipients': [
    `Cc: ${times(100_000, (n) => `a${n}@x.test`).join(',\r\n ')}`,
    '',
    'Hello',
  ],
  'nested comments and groups': [
    `To: ${'('.repeat(200_000)}`,
    `Reply-To: ${'a:'.repeat(100_000)}`,
    '',
    'Hello',
  ],
  'a megabyte of references': [
    `References: ${times(40_000, (n) => `<${n}@a-rather-long-host.test>`).join('\r\n ')}`,
    '',
    'Hello',
  ],
  'encoded words': [
    `X-Words: ${times(50_000, () => '=?utf-8?Q?=41?=').join('\r\n ')}`,
    `From: ${'=?utf-8?B?QQ==?='.repeat(50_000)} <e@x.test>`,
    '',
    'Hello',
  ],
  'continued parameters': [
    `Content-Type: text/plain;${times(50_000, (n) => `\r\n name*${n}*=%41`).join(';')}`,
    '',
    'Hello',
  ],
  'folded lines': [`X-Fold: a${'\r\n '.repeat(300_000)}`, '', 'Hello'],
  'soft line breaks': [
    'Content-Type: text/plain',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    '=\r\n'.repeat(1_000_000),
  ],
  'entities and tags': [
    'Content-Type: text/html',
    '',
    `${'<'.repeat(500_000)}${'&amp'.repeat(200_000)}${'<!--'.repeat(100_000)}`,
  ],
  'a megabyte of different words': [
    'Content-Type: text/plain',
    '',
    times(200_000, (n) => `w${n.toString(36)}`).join('\r\n'),
  ],
  'a report of reports': [
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    ...times(
      20_000,
      () =>
        '--b\r\nContent-Type: message/delivery-status\r\n\r\nFinal-Recipient: rfc822;a@x.test\r\nAction: failed\r\n',
    ),
  ],
};

describe('mail bombs', () => {
  let server: AttackedServer;
  let mailbox: HostileMailbox;
  let bearer: Record<string, string>;
  let id: string;
  let stop: () => Promise<Watched>;

  beforeAll(async () => {
    server = await AttackedServer.start();
    mailbox = await server.mailbox();
    mailbox.imap.deliver({ raw: mail('an ordinary mail', ['', 'Hello']) });
    ({ bearer, id } = await server.connect('ada@example.test', mailbox.settings));
    await until('the first message', async () => (await subjects()).includes('an ordinary mail'));
    stop = server.watch();
  });
  afterAll(() => server.stop());

  const subjects = async (): Promise<string[]> => {
    const { body } = await server.send('GET', '/messages?limit=100', bearer);
    return (body as { subject: string }[]).map(({ subject }) => subject);
  };
  const events = async (path: string) => {
    const { status, body } = await server.send('GET', path, bearer);
    expect(status).toBe(200);
    return body as { title: string; recurrence?: unknown }[];
  };

  it('are all listed, and so is the mail after them', async () => {
    for (const [subject, lines] of Object.entries(BOMBS))
      mailbox.imap.deliver({ raw: mail(subject, lines) });
    mailbox.imap.deliver({ raw: mail('the last mail', ['', 'Bye']) });
    await until('the last mail', async () => (await subjects()).includes('the last mail'));
    expect((await subjects()).toSorted()).toEqual(
      ['an ordinary mail', 'the last mail', ...Object.keys(BOMBS)].toSorted(),
    );
  });

  it('leave calendars whose instances can be listed', async () => {
    const listed = await events('/events?limit=500');
    const bomb = listed.find(({ title }) => title === 'Hundreds of rules');
    expect(bomb).toBeDefined();
    expect(bomb).not.toHaveProperty('recurrence');
    await events('/events?expand_recurring=true&limit=500&starts_before=4102444800');
    await events('/events?expand_recurring=true&limit=500&starts_before=253000000000');
    const free = {
      duration_minutes: 30,
      start_time: 1_811_930_400,
      end_time: 1_811_930_400 + 86_400,
      emails: ['ada@example.test'],
    };
    expect((await server.send('POST', '/calendars/free-busy', bearer, free)).status).toBe(200);
  });

  it('are recorded if they exceed a limit', async () => {
    const failures = await server.sql.query<{ reason: string }>(
      'select reason from sync_failure where account_id = $1',
      [id],
    );
    expect(failures.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('too many rules'),
        expect.stringContaining('a calendar file was left out'),
      ]),
    );
  });

  it.each(WILD_RULES)(
    'contain recurrence rules that the API accepts or refuses without a server error: %s',
    async (rule) => {
      const calendars = (await server.send('GET', '/calendars', server.bystander.bearer)).body as {
        id: string;
      }[];
      const { status } = await server.send('POST', '/events', server.bystander.bearer, {
        calendar_id: calendars[0]?.id,
        title: 'Wild',
        when: { time: 1_811_930_400 },
        recurrence: { rrule: [`RRULE:${rule}`], timezone: 'UTC' },
      });
      expect([200, 400]).toContain(status);
    },
  );

  // This is the last test, so that the watch covers all tests above.
  it('neither slow other responses nor take much memory', async () => {
    const watched = await stop();
    expect(watched.failures).toEqual([]);
    expect(watched.longest['live']).toBeLessThan(LONGEST_ANSWER_MS);
    expect(watched.longestMs).toBeLessThan(LONGEST_ANSWER_MS);
    expect(watched.highestRssMb).toBeLessThan(HIGHEST_RSS_MB);
  });
});
