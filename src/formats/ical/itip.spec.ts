import { readItip } from './itip.ts';
import { compareRevisions, precedenceOf } from './revisions.ts';

const file = (method: string, lines: readonly string[], more: readonly string[] = []) =>
  [
    'BEGIN:VCALENDAR',
    `METHOD:${method}`,
    ...more,
    'BEGIN:VEVENT',
    ...lines,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n');
const MEETING = ['UID:m@x.test', 'DTSTART:20300601T100000Z', 'ORGANIZER:mailto:Zoe@x.test'];

describe('readItip', () => {
  it('reads a message once if the mail contains it several times', () => {
    const text = file('request', [...MEETING, 'SEQUENCE:3', 'DTSTAMP:20260101T000000Z']);
    expect(readItip([text, text])).toMatchObject([
      {
        method: 'request',
        uid: 'm@x.test',
        events: [
          {
            sequence: 3,
            stamp: Date.UTC(2026, 0, 1) / 1000,
            instance: null,
            organizer: { email: 'zoe@x.test' },
          },
        ],
      },
    ]);
  });

  it.each([
    ['no METHOD', file('x', MEETING).replace('METHOD:x\r\n', '')],
    ['PUBLISH', file('PUBLISH', MEETING)],
    ['no UID', file('REQUEST', MEETING.slice(1))],
    ['an overlong UID', file('REQUEST', [`UID:${'x'.repeat(501)}`, ...MEETING.slice(1)])],
    ['text that is not a calendar', 'hello'],
    ['nothing', ''],
    ['half a megabyte', file('REQUEST', [...MEETING, `X-A:${'x'.repeat(600_000)}`])],
    ['a lone parameter', 'BEGIN:VCALENDAR\r\nX;A="'],
  ])('skips %s', (_, text) => {
    expect(readItip([text])).toEqual([]);
  });

  it.each([
    ['text after the calendar', `${file('REQUEST', MEETING)}Sent by a gateway`, 'after the end'],
    ['a second calendar', file('REQUEST', MEETING) + file('REQUEST', MEETING), 'after the end'],
    ['a truncated end', file('REQUEST', MEETING).slice(0, -20), 'ends before'],
    ['a line without a value', file('REQUEST', [...MEETING, 'NONSENSE']), 'NONSENSE'],
    ['an exclusion that is no time', file('REQUEST', [...MEETING, 'EXDATE:x']), 'EXDATE:x'],
  ])('reads a file in spite of %s, and reports it', (_, text, reported) => {
    const skipped: string[] = [];
    expect(readItip([text], skipped)).toHaveLength(1);
    expect(skipped.join()).toContain(reported);
  });

  it.each([
    ['CANCEL', 'RECURRENCE-ID:2030-Jan-08'],
    ['REQUEST', 'RECURRENCE-ID:2030-Jan-08'],
    ['CANCEL', 'RECURRENCE-ID:09000101T000000Z'],
    ['CANCEL', 'RECURRENCE-ID;VALUE=PERIOD:20300608T100000Z/PT1H'],
  ])('leaves out a %s of an unknown instance: %s', (method, line) => {
    const skipped: string[] = [];
    expect(readItip([file(method, [...MEETING, line])], skipped)).toEqual([]);
    expect(skipped).toContain(
      'an event of a calendar file was left out: its RECURRENCE-ID cannot be read',
    );
  });

  it('reads the other events beside one of an unknown instance', () => {
    const lost = ['END:VEVENT', 'BEGIN:VEVENT', ...MEETING, 'RECURRENCE-ID:2030-Jan-08'];
    const known = ['END:VEVENT', 'BEGIN:VEVENT', ...MEETING, 'RECURRENCE-ID:20300608T100000Z'];
    const [message] = readItip([file('CANCEL', [...MEETING, 'X-A:1', ...lost, ...known])]);
    expect(message?.events.map(({ instance }) => instance?.key)).toEqual([
      undefined,
      '20300608T100000Z',
    ]);
  });

  it('reports a file that cannot be read', () => {
    const skipped: string[] = [];
    expect(readItip(['hello'], skipped)).toEqual([]);
    expect(skipped).toEqual(['a calendar file was left out: it has no BEGIN:VCALENDAR']);
  });

  it.each([
    ['99999999999999999999', 0],
    ['-5', 0],
    ['4294967296', 2 ** 31 - 1],
    ['x', 0],
  ])('limits SEQUENCE %s', (given, sequence) => {
    expect(
      readItip([file('REQUEST', [...MEETING, `SEQUENCE:${given}`])])[0]?.events[0]?.sequence,
    ).toBe(sequence);
  });

  it.each([
    ['FREQ=SECONDLY'],
    ['FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30'],
    ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30'],
    ['FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU'],
  ])('terminates for a zone with clock changes by %s', (rule) => {
    const observance = [
      'BEGIN:STANDARD',
      'DTSTART:16010101T000000',
      `RRULE:${rule}`,
      'TZOFFSETFROM:+0000',
      'TZOFFSETTO:+0100',
      'END:STANDARD',
    ];
    const zone = [
      'BEGIN:VTIMEZONE',
      'TZID:Own',
      ...Array.from({ length: 60 }, () => observance).flat(),
      'END:VTIMEZONE',
    ];
    const lines = [MEETING[0] ?? '', 'DTSTART;TZID=Own:20300601T100000', 'DURATION:PT1H'];
    expect(readItip([file('REQUEST', lines, zone)])[0]?.events[0]?.fields?.when).toMatchObject({
      start_time: Date.UTC(2030, 5, 1, 9) / 1000,
    });
  });

  // test/hostile/mail-bombs checks that such mail is read within the time of its thread.
  it('reads exclusions in 1,150 different years of a custom zone', () => {
    const observance = (kind: string, month: number, to: string, from: string) => [
      `BEGIN:${kind}`,
      'DTSTART:16010101T020000',
      `RRULE:FREQ=YEARLY;BYMONTH=${month};BYDAY=-1SU`,
      `TZOFFSETFROM:${from}`,
      `TZOFFSETTO:${to}`,
      `END:${kind}`,
    ];
    const zone = (name: string) => [
      'BEGIN:VTIMEZONE',
      `TZID:${name}`,
      ...observance('STANDARD', 10, '+0123', '+0246'),
      ...observance('DAYLIGHT', 3, '+0246', '+0123'),
      'END:VTIMEZONE',
    ];
    const bomb = (name: string) =>
      file(
        'REQUEST',
        [
          MEETING[0] ?? '',
          `DTSTART;TZID=${name}:20300601T100000`,
          'RRULE:FREQ=YEARLY',
          ...Array.from({ length: 1_150 }, (_, n) => `EXDATE;TZID=${name}:${1_000 + n}0601T100000`),
        ],
        zone(name),
      );
    const [message] = readItip([bomb('One'), bomb('Two'), bomb('Three')]);
    expect(message?.events[0]?.fields?.when).toMatchObject({
      time: Date.UTC(2030, 5, 1, 7, 14) / 1000,
    });
    expect(message?.events[0]?.fields?.recurrence?.rrule).toHaveLength(1_001);
  });

  it('reads an event with hundreds of rules as a single event and reports it', () => {
    const rules = Array.from(
      { length: 500 },
      (_, n) => `RRULE:FREQ=DAILY;BYHOUR=${n % 24};INTERVAL=${n + 1}`,
    );
    const skipped: string[] = [];
    const lines = [...MEETING, 'DTSTART:20300601T100000Z', ...rules];
    const [message] = readItip([file('REQUEST', lines)], skipped);
    expect(message?.events[0]?.fields).toMatchObject({
      when: { object: 'time' },
      recurrence: null,
    });
    expect(skipped).toEqual(['The recurrence is left out: it has too many rules or too long ones']);
  });

  it.each([
    ['lines', ['X-A:1'], 30_000],
    ['components', ['BEGIN:VALARM', 'END:VALARM'], 2_000],
    ['components nested deeper', ['BEGIN:VALARM'], 100],
  ])('skips a file with too many %s and reports it', (what, lines, times) => {
    const skipped: string[] = [];
    const body = Array.from({ length: times }, () => lines).flat();
    expect(readItip([file('REQUEST', [...MEETING, ...body])], skipped)).toEqual([]);
    expect(skipped).toEqual([expect.stringContaining(what)]);
  });

  it('reads the start of an event with an endless duration', () => {
    const [message] = readItip([file('REQUEST', [...MEETING, 'DURATION:P99999999999D'])]);
    expect(message?.events[0]?.fields?.when.object).toBe('time');
  });
});

describe('precedenceOf', () => {
  const organizer = 'zoe@x.test';
  it.each([
    ['the first mail, from any sender', 'eve@x.test', null, 'outranks'],
    [
      'the organizer, after a mail of the organizer',
      organizer,
      { sender: organizer, trusted: true },
      'compares',
    ],
    [
      'the organizer, after a mail of another sender',
      organizer,
      { sender: 'eve@x.test', trusted: false },
      'outranks',
    ],
    ['the same other sender', 'eve@x.test', { sender: 'eve@x.test', trusted: false }, 'compares'],
    ['a third sender', 'mallory@x.test', { sender: 'eve@x.test', trusted: false }, 'ignored'],
    [
      'another sender, after the organizer',
      'eve@x.test',
      { sender: 'eve@x.test', trusted: true },
      'ignored',
    ],
    ['an unknown sender', null, { sender: null, trusted: false }, 'ignored'],
  ] as const)('of %s', (_, sender, known, standing) => {
    expect(precedenceOf({ sender, organizer }, known)).toBe(standing);
  });
});

describe('compareRevisions', () => {
  it('compares SEQUENCE first, then DTSTAMP; a missing DTSTAMP is the oldest', () => {
    expect(compareRevisions({ sequence: 2, stamp: 1 }, { sequence: 1, stamp: 9 })).toBeGreaterThan(
      0,
    );
    expect(compareRevisions({ sequence: 1, stamp: null }, { sequence: 1, stamp: 9 })).toBeLessThan(
      0,
    );
    expect(compareRevisions({ sequence: 1, stamp: 9 }, { sequence: 1, stamp: 9 })).toBe(0);
  });
});
