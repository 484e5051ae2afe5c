import ICAL from 'ical.js';
import {
  addInstance,
  exclude,
  isExcluded,
  OtherTimesError,
  removeInstance,
} from './ical-instance.ts';
import { parseCalendar } from './ical-parse.ts';
import { mergeFields } from './ical-merge.ts';
import { readFields } from './ical-read.ts';
import { writeFields } from './ical-write.ts';
import { eventsIn, instanceIdOf } from './instance-id.ts';

/** A zone that only the file describes: its clocks go forward by half an hour in April. */
const FOREIGN = [
  'BEGIN:VTIMEZONE',
  'TZID:Somewhere/Odd',
  'X-OF-THEIRS:zone',
  'BEGIN:STANDARD',
  'DTSTART:20000101T000000',
  'TZOFFSETFROM:+0500',
  'TZOFFSETTO:+0500',
  'END:STANDARD',
  'BEGIN:DAYLIGHT',
  'DTSTART:20300401T000000',
  'TZOFFSETFROM:+0500',
  'TZOFFSETTO:+0530',
  'END:DAYLIGHT',
  'END:VTIMEZONE',
];
/** Properties for which we have no field. */
const THEIRS = [
  'X-THEIRS;X-PARAM="a;b":kept',
  'ATTENDEE;CUTYPE=ROOM;X-NUM-GUESTS=3;PARTSTAT=DELEGATED;CN="Bo, B.":mailto:bo@example.test',
  'GEO:48.85;2.35',
  'ATTACH;FMTTYPE=text/plain:https://example.test/a.txt',
  'BEGIN:VALARM',
  'ACTION:DISPLAY',
  'TRIGGER;RELATED=END:-PT7M',
  'DESCRIPTION:Theirs',
  'X-ALARM:kept',
  'END:VALARM',
];
const series = (times: readonly string[], zone: readonly string[] = []) =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Other//EN',
    'X-WR-CALNAME:Theirs',
    ...zone,
    'BEGIN:VEVENT',
    'UID:u',
    'DTSTAMP:20260101T000000Z',
    ...times,
    'SUMMARY:Weekly',
    ...THEIRS,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n');

function opened(text: string) {
  const root = parseCalendar(text);
  const event = eventsIn(root).get(null);
  if (!event) throw new Error('no series');
  return { root, event };
}
const linesOf = (event: ICAL.Component) => event.toString().replaceAll('\r\n ', '').split('\r\n');

describe('single instances in a calendar file', () => {
  const CASES = [
    ['an IANA zone', ['DTSTART;TZID=Europe/Berlin:20300325T090000', 'DTEND;TZID=Europe/London:20300325T090000'], [],
      '20300401T070000Z', ['RECURRENCE-ID;TZID=Europe/Berlin:20300401T090000', 'DTSTART;TZID=Europe/Berlin:20300401T090000', 'DTEND;TZID=Europe/London:20300401T090000']],
    ['a Windows zone', ['DTSTART;TZID=W. Europe Standard Time:20300325T090000', 'DURATION:PT1H'], [],
      '20300401T070000Z', ['RECURRENCE-ID;TZID=W. Europe Standard Time:20300401T090000', 'DTSTART;TZID=W. Europe Standard Time:20300401T090000', 'DURATION:PT1H']],
    ['a zone that only the file describes', ['DTSTART;TZID=Somewhere/Odd:20300325T090000', 'DTEND;TZID=Somewhere/Odd:20300325T100000'], FOREIGN,
      '20300402T033000Z', ['RECURRENCE-ID;TZID=Somewhere/Odd:20300402T090000', 'DTSTART;TZID=Somewhere/Odd:20300402T090000', 'DTEND;TZID=Somewhere/Odd:20300402T100000']],
    ['UTC', ['DTSTART:20300325T090000Z', 'DTEND:20300325T100000Z'], [],
      '20300401T090000Z', ['RECURRENCE-ID:20300401T090000Z', 'DTSTART:20300401T090000Z', 'DTEND:20300401T100000Z']],
    ['no zone', ['DTSTART:20300325T090000', 'DTEND:20300325T100000'], [],
      '20300401T090000Z', ['RECURRENCE-ID:20300401T090000', 'DTSTART:20300401T090000', 'DTEND:20300401T100000']],
    ['days', ['DTSTART;VALUE=DATE:20300325', 'DTEND;VALUE=DATE:20300327'], [],
      '20300401', ['RECURRENCE-ID;VALUE=DATE:20300401', 'DTSTART;VALUE=DATE:20300401', 'DTEND;VALUE=DATE:20300403']],
  ] as const; // oxfmt-ignore

  it.each(CASES)(
    'keep all properties of the series, at their own time: %s',
    (_, times, zone, key, expected) => {
      const rules = ['RRULE:FREQ=DAILY', 'RDATE:20310101T000000Z', 'EXDATE:20300326T090000Z'];
      const { root, event } = opened(series([...times, ...rules], zone));
      const before = event.toString();
      const instance = addInstance(event, key, root);
      const lines = linesOf(instance);
      for (const line of [...expected, ...THEIRS, 'SUMMARY:Weekly', 'UID:u'])
        expect(lines).toContain(line);
      expect(lines.filter((line) => /^(RRULE|RDATE|EXDATE)/.test(line))).toEqual([]);
      expect(event.toString()).toBe(before);
      // Read again, it is the same instance.
      expect(instanceIdOf(instance, root)?.key).toBe(key);
      expect(root.toString()).toContain('X-WR-CALNAME:Theirs');
      for (const line of zone) expect(root.toString()).toContain(line);
    },
  );

  it.each(CASES)('are excluded once and read again as excluded: %s', (_, times, zone, key) => {
    const { root, event } = opened(series([...times, 'RRULE:FREQ=DAILY'], zone));
    expect(isExcluded(event, key, root)).toBe(false);
    exclude(event, key, root);
    expect(isExcluded(event, key, root)).toBe(true);
    expect(linesOf(event).filter((line) => line.startsWith('EXDATE'))).toHaveLength(1);
    const again = opened(root.toString());
    expect(isExcluded(again.event, key, again.root)).toBe(true);
  });

  it('recognise exclusions in any notation', () => {
    const start = 'DTSTART;TZID=Europe/Berlin:20300325T090000';
    for (const [exclusion, excluded] of [
      ['EXDATE:20300401T070000Z', true],
      ['EXDATE;TZID=America/New_York:20300330T030000,20300401T030000', true],
      ['EXDATE;VALUE=DATE:20300401', true],
      ['EXDATE;VALUE=DATE:20300402', false],
      ['EXDATE;TZID=Europe/Berlin:20300401T080000', false],
    ] as const) {
      const { root, event } = opened(
        series([start, 'DURATION:PT1H', 'RRULE:FREQ=DAILY', exclusion]),
      );
      expect([exclusion, isExcluded(event, '20300401T070000Z', root)]).toEqual([
        exclusion,
        excluded,
      ]);
    }
  });

  it('have exclusions that are read with IANA zones and written with the zones of the file', () => {
    for (const [start, exclusion, line, zone] of [
      [
        'DTSTART;TZID=W. Europe Standard Time:20300325T090000',
        'EXDATE;TZID=W. Europe Standard Time:20300401T090000',
        'EXDATE;TZID=Europe/Berlin:20300401T090000',
        [],
      ],
      [
        'DTSTART;TZID=Somewhere/Odd:20300325T090000',
        'EXDATE;TZID=Somewhere/Odd:20300402T090000',
        'EXDATE:20300402T033000Z',
        FOREIGN,
      ],
      [
        'DTSTART;VALUE=DATE:20300325',
        'EXDATE;VALUE=DATE:20300402',
        'EXDATE;VALUE=DATE:20300402',
        [],
      ],
    ] as const) {
      const { root, event } = opened(series([start, 'RRULE:FREQ=DAILY', exclusion], zone));
      const { when, recurrence } = readFields(event, root);
      expect(recurrence?.rrule).toEqual(['RRULE:FREQ=DAILY', line]);
      writeFields(
        event,
        root,
        { recurrence },
        { email: 'ada@example.test', name: 'Ada', now: new Date() },
      );
      expect(linesOf(event)).toContain(exclusion);
      expect(readFields(event, root)).toMatchObject({ when, recurrence });
    }
  });

  it('cannot be dates in a series of times, or times in a series of dates', () => {
    for (const [start, key] of [
      ['DTSTART;VALUE=DATE:20300325', '20300401T070000Z'],
      ['DTSTART:20300325T090000Z', '20300401'],
    ] as const) {
      const { root, event } = opened(series([start, 'RRULE:FREQ=DAILY']));
      expect(() => addInstance(event, key, root)).toThrow(OtherTimesError);
      expect(() => exclude(event, key, root)).toThrow(OtherTimesError);
    }
  });

  it('change the given fields and nothing else', () => {
    const { root, event } = opened(
      series(['DTSTART;TZID=Europe/Berlin:20300325T090000', 'DURATION:PT1H', 'RRULE:FREQ=DAILY']),
    );
    const instance = addInstance(event, '20300401T070000Z', root);
    const before = linesOf(instance);
    const plain = readFields(instance, root);
    const { write } = mergeFields(plain, { ...plain, title: 'Changed' }, plain);
    writeFields(instance, root, write, { email: 'ada@example.test', name: 'Ada', now: new Date() });
    expect(linesOf(instance).toSorted()).toEqual(
      before.map((line) => (line === 'SUMMARY:Weekly' ? 'SUMMARY:Changed' : line)).toSorted(),
    );
    expect(removeInstance(root, '20300401T070000Z')).toBe(true);
    expect(removeInstance(root, '20300401T070000Z')).toBe(false);
    expect(eventsIn(root).size).toBe(1);
  });

  it.each(['RECURRENCE-ID:09000101T000000Z', 'RECURRENCE-ID:2030-Jan-08'])(
    'are removed beside one that cannot be read: %s',
    (line) => {
      const event = (id: string) =>
        ['BEGIN:VEVENT', 'UID:u', id, 'DTSTART:20300401T100000Z', 'END:VEVENT', ''].join('\r\n');
      const text = series(['DTSTART:20300325T090000Z', 'RRULE:FREQ=DAILY']).replace(
        'END:VCALENDAR',
        `${event(line)}${event('RECURRENCE-ID:20300401T090000Z')}END:VCALENDAR`,
      );
      const root = parseCalendar(text);
      expect(removeInstance(root, '20300401T090000Z')).toBe(true);
      expect(root.getAllSubcomponents('vevent')).toHaveLength(2);
    },
  );
});

describe('recurrence changed on both sides', () => {
  const fields = (rrule: string[], timezone = 'Europe/Berlin') => {
    const root = parseCalendar(series(['DTSTART:20300325T090000Z']));
    const event = eventsIn(root).get(null);
    if (!event) throw new Error('no event');
    return { ...readFields(event, root), recurrence: { rrule, timezone } };
  };
  const [DAILY, WEEKLY, MONTHLY] = ['RRULE:FREQ=DAILY', 'RRULE:FREQ=WEEKLY', 'RRULE:FREQ=MONTHLY'];
  const [A, B] = ['EXDATE:20300401T090000Z', 'EXDATE:20300402T090000Z'];

  it.each([
    ['each side excludes a different instance', [DAILY], [DAILY, A], [DAILY, B], [DAILY, B, A]],
    [
      'we change the rules and they exclude an instance',
      [DAILY],
      [WEEKLY],
      [DAILY, B],
      [WEEKLY, B],
    ],
    ['we remove an exclusion and they add another', [DAILY, A], [DAILY], [DAILY, A, B], [DAILY, B]],
    [
      'they change the rules and we exclude an instance',
      [DAILY],
      [DAILY, A],
      [WEEKLY],
      [WEEKLY, A],
    ],
    [
      'they write two exclusions in one line',
      [DAILY, A],
      [DAILY],
      [DAILY, `${A},20300402T090000Z`],
      [DAILY, B],
    ],
  ])('is merged if %s', (_, base, ours, theirs, expected) => {
    const merged = mergeFields(
      fields(base as string[]),
      fields(ours as string[]),
      fields(theirs as string[]),
    );
    expect(merged).toEqual({
      write: { recurrence: { rrule: expected, timezone: 'Europe/Berlin' } },
      conflicts: [],
    });
  });

  it('writes that a series becomes a single event, also together with its time', () => {
    const series = fields([DAILY!]);
    const when = { object: 'time', time: 1_900_000_000 } as const;
    const { write } = mergeFields(series, { ...series, when, recurrence: null }, series);
    expect(write).toEqual({ when, recurrence: null });
  });

  it('is a conflict if both sides change the rules', () => {
    const merged = mergeFields(fields([DAILY!]), fields([WEEKLY!]), fields([MONTHLY!]));
    expect(merged).toEqual({ write: {}, conflicts: ['recurrence'] });
  });
});
