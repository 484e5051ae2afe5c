import { CalendarLimitError, parseCalendar } from './ical-parse.ts';
import { eventsIn } from './instance-id.ts';
import { warningsOf } from './kept-lines.ts';

const calendar = (lines: readonly string[]) =>
  ['BEGIN:VCALENDAR', ...lines, 'END:VCALENDAR', ''].join('\r\n');
const SERIES = ['UID:u', 'DTSTART:20300101T090000Z', 'RRULE:FREQ=DAILY'];
const INSTANCE = ['UID:u', 'RECURRENCE-ID:20300102T090000Z', 'DTSTART:20300102T100000Z'];

describe('a calendar file', () => {
  it.each([
    ['an event', []],
    ['an event and its alarm', ['BEGIN:VALARM', 'ACTION:DISPLAY']],
  ])('without the end of %s is read up to the next component', (_, open) => {
    const first = ['BEGIN:VEVENT', ...SERIES, ...open];
    const root = parseCalendar(calendar([...first, 'BEGIN:VEVENT', ...INSTANCE, 'END:VEVENT']));
    const events = eventsIn(root);
    expect([...events.keys()]).toEqual([null, '20300102T090000Z']);
    expect(warningsOf(events.get(null)!, root)).toEqual(['There is no END:VEVENT']);
    expect(warningsOf(events.get('20300102T090000Z')!, root)).toEqual([]);
  });

  it('without the end of a zone keeps its event', () => {
    const zone = ['BEGIN:VTIMEZONE', 'TZID:Own', 'BEGIN:STANDARD', 'DTSTART:19700101T000000'];
    const root = parseCalendar(calendar([...zone, 'BEGIN:VEVENT', ...SERIES, 'END:VEVENT']));
    expect(eventsIn(root).size).toBe(1);
    expect(warningsOf(root, root)).toEqual(['There is no END:VTIMEZONE']);
  });

  it.each(['BEGIN:X', 'BEGIN :X', 'BEG\r\n IN:X', 'begin: x'])(
    'with too many or too deeply nested components is refused: %j',
    (begin) => {
      const nested = (depth: number) => calendar(Array.from({ length: depth }, () => begin));
      const ended = calendar(Array.from({ length: 1_000 }, () => [begin, 'END:X']).flat());
      expect(() => parseCalendar(nested(9_000))).toThrow(CalendarLimitError);
      expect(() => parseCalendar(nested(10))).toThrow('nested deeper than 10');
      expect(() => parseCalendar(ended)).toThrow('more than 1000 components');
      expect(parseCalendar(nested(9)).name).toBe('vcalendar');
    },
  );
});
