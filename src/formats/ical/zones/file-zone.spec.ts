import ICAL from 'ical.js';
import { FileZone } from './file-zone.ts';
import { parseCalendar } from '../ical-parse.ts';

const DAY_MS = 86_400_000;
const WEEKDAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

/** Pseudo-random numbers between 0 and 1, the same sequence for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
const random = randomFrom(33);
const number = (low: number, high: number) => low + Math.floor(random() * (high - low + 1));
const two = (value: number) => String(value).padStart(2, '0');

/** A yearly clock change, described twice: as a rule, and as a test of every day. */
interface Change {
  kind: 'STANDARD' | 'DAYLIGHT';
  rule: string;
  hour: number;
  fromMinutes: number;
  toMinutes: number;
  isOn(day: Date): boolean;
}

function changeIn(month: number): Pick<Change, 'rule' | 'isOn'> {
  const weekday = number(0, 6);
  const isInMonth = (day: Date) => day.getUTCMonth() + 1 === month;
  const isWeekday = (day: Date) => isInMonth(day) && day.getUTCDay() === weekday;
  const name = WEEKDAYS[weekday];
  const nth = number(1, 4);
  switch (number(0, 4)) {
    case 0:
      return {
        rule: `BYMONTH=${month};BYDAY=${nth}${name}`,
        isOn: (day) => isWeekday(day) && Math.ceil(day.getUTCDate() / 7) === nth,
      };
    case 1:
      return {
        rule: `BYDAY=-1${name};BYMONTH=${month}`,
        isOn: (day) => isWeekday(day) && !isInMonth(new Date(day.getTime() + 7 * DAY_MS)),
      };
    case 2: {
      const first = number(1, 20);
      const days = Array.from({ length: 7 }, (_, n) => first + n);
      return {
        rule: `BYMONTH=${month};BYMONTHDAY=${days.join()};BYDAY=${name}`,
        isOn: (day) => isWeekday(day) && days.includes(day.getUTCDate()),
      };
    }
    case 3: {
      const date = number(1, 28);
      return {
        rule: `BYMONTH=${month};BYMONTHDAY=${date}`,
        isOn: (day) => isInMonth(day) && day.getUTCDate() === date,
      };
    }
    default:
      return {
        rule: `BYMONTH=${month};BYDAY=${name};BYSETPOS=${nth}`,
        isOn: (day) => isWeekday(day) && Math.ceil(day.getUTCDate() / 7) === nth,
      };
  }
}

const offsetText = (minutes: number) =>
  `${minutes < 0 ? '-' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}${two(Math.abs(minutes) % 60)}`;

/** As `offsetMs` of a zone, found by looking at each day since 2019. */
function slowOffsetMs(changes: readonly Change[], instantMs: number): number {
  let minutes = changes[1]!.toMinutes;
  for (let day = Date.UTC(2019, 0, 1); day < instantMs + 2 * DAY_MS; day += DAY_MS)
    for (const { isOn, hour, fromMinutes, toMinutes } of changes) {
      const atMs = day + hour * 3_600_000 - fromMinutes * 60_000;
      if (isOn(new Date(day)) && atMs <= instantMs) minutes = toMinutes;
    }
  return minutes * 60_000;
}

describe('FileZone', () => {
  it('has the offsets that looking at each day gives, for many rules', () => {
    const differing: unknown[] = [];
    for (let round = 0; round < 25; round += 1) {
      const standard = number(-11, 12) * 60 + number(0, 1) * 30;
      const summer = standard + 60;
      const changes: Change[] = [
        {
          kind: 'DAYLIGHT',
          hour: number(0, 3),
          fromMinutes: standard,
          toMinutes: summer,
          ...changeIn(number(2, 5)),
        },
        {
          kind: 'STANDARD',
          hour: number(0, 3),
          fromMinutes: summer,
          toMinutes: standard,
          ...changeIn(number(8, 11)),
        },
      ];
      const isNotes = number(0, 1) === 1;
      const lines = changes.flatMap(({ kind, rule, hour, fromMinutes, toMinutes }) => [
        `BEGIN:${kind}`,
        `DTSTART:${number(0, 1) ? 1601 : 2018}0101T${two(hour)}0000`,
        `RRULE:FREQ=YEARLY;${isNotes ? `BYMINUTE=0;BYHOUR=${hour};` : ''}${rule}`,
        `TZOFFSETFROM:${offsetText(fromMinutes)}`,
        `TZOFFSETTO:${offsetText(toMinutes)}`,
        `END:${kind}`,
      ]);
      const text = [
        'BEGIN:VCALENDAR',
        'BEGIN:VTIMEZONE',
        'TZID:X',
        ...lines,
        'END:VTIMEZONE',
        'END:VCALENDAR',
      ].join('\r\n');
      const component = parseCalendar(text).getFirstSubcomponent('vtimezone');
      const zone = new FileZone(component ?? new ICAL.Component('vtimezone'));
      for (let sample = 0; sample < 25; sample += 1) {
        const at = Date.UTC(2021 + number(0, 2), number(0, 11), number(1, 28), number(0, 23));
        const [found, expected] = [zone.offsetMs(at), slowOffsetMs(changes, at)];
        if (found !== expected) differing.push({ lines, at: new Date(at), found, expected });
      }
    }
    expect(differing.slice(0, 2)).toEqual([]);
  });
});
