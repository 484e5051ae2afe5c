import { readObject } from './dav-event-object.ts';
import type { IcalFields } from '../../../../formats/ical/ical-fields.ts';
import { parseCalendar, UnreadableCalendarError } from '../../../../formats/ical/ical-parse.ts';
import { readFields } from '../../../../formats/ical/ical-read.ts';
import { mergeFields } from '../../../../formats/ical/ical-merge.ts';
import {
  newEvent,
  stampEvent,
  throughIcal,
  writeFields,
} from '../../../../formats/ical/ical-write.ts';
import { ianaZone } from '../../../../formats/ical/zones/ical-zone.ts';

const writer = { email: 'ada@example.test', name: 'Ada', now: new Date('2026-01-01T00:00:00Z') };
const at = (iso: string) => Date.parse(iso) / 1000;
const file = (event: readonly string[], rest: readonly string[] = []) =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    ...rest,
    'BEGIN:VEVENT',
    'UID:u',
    ...event,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n');
const read = (text: string): IcalFields => {
  const root = parseCalendar(text);
  const event = root.getFirstSubcomponent('vevent');
  if (!event) throw new Error('no event');
  return readFields(event, root);
};
const fields = (overrides: Partial<IcalFields> = {}): IcalFields => ({
  title: 'Title',
  description: '',
  location: '',
  when: { object: 'timespan', start_time: 1_900_000_000, end_time: 1_900_003_600 },
  busy: true,
  status: 'confirmed',
  visibility: null,
  participants: [],
  recurrence: null,
  conferencing: null,
  reminders: null,
  ...overrides,
});

describe('times of calendar files', () => {
  it.each([
    ['UTC', 'DTSTART:20300101T090000Z', '2030-01-01T09:00:00Z'],
    ['the end of a day', 'DTSTART:20300131T240000Z', '2030-02-01T00:00:00Z'],
    [
      'an IANA zone without VTIMEZONE',
      'DTSTART;TZID=Europe/Berlin:20300101T090000',
      '2030-01-01T08:00:00Z',
    ],
    [
      'a Windows zone',
      'DTSTART;TZID=W. Europe Standard Time:20300701T090000',
      '2030-07-01T07:00:00Z',
    ],
    [
      'a path that ends with a zone',
      'DTSTART;TZID=/x.org/2009/America/New_York:20300101T090000',
      '2030-01-01T14:00:00Z',
    ],
    [
      'a time the clocks skip, with the offset before',
      'DTSTART;TZID=Europe/Berlin:20300331T023000',
      '2030-03-31T01:30:00Z',
    ],
    [
      'a time the clocks show twice: the first',
      'DTSTART;TZID=Europe/Berlin:20301027T023000',
      '2030-10-27T00:30:00Z',
    ],
    ['a floating time as UTC', 'DTSTART:20300101T090000', '2030-01-01T09:00:00Z'],
  ])('reads %s', (_, line, expected) => {
    expect(read(file([line])).when).toMatchObject({ object: 'time', time: at(expected) });
  });

  it('uses the VTIMEZONE of an unknown zone', () => {
    const zone = [
      'BEGIN:VTIMEZONE',
      'TZID:Our Office',
      'BEGIN:STANDARD',
      'DTSTART:19700101T000000',
      'TZOFFSETFROM:+0500',
      'TZOFFSETTO:+0500',
      'END:STANDARD',
      'END:VTIMEZONE',
    ];
    const { when } = read(file(['DTSTART;TZID=Our Office:20300101T090000'], zone));
    expect(when).toEqual({
      object: 'time',
      time: at('2030-01-01T04:00:00Z'),
      timezone: 'Etc/GMT-5',
    });
  });

  it.each([
    ['Europe/Berlin', 'BYDAY=-1SU;BYMONTH=10', '+0200', '+0100', 'BYDAY=-1SU;BYMONTH=3', 3, 2],
    ['America/New_York', 'BYDAY=1SU;BYMONTH=11', '-0400', '-0500', 'BYDAY=2SU;BYMONTH=3', 2, 2],
    ['none', 'BYDAY=-1SU;BYMONTH=10', '+0200', '+0100', 'BYDAY=-1SU;BYMONTH=6', 3, 2],
  ])(
    'maps an unknown zone of a series to the IANA zone with the same clock changes: %s',
    (...row) => {
      const [expected, winter, summerOffset, winterOffset, summer, winterHour, summerHour] = row;
      const zone = [
        'BEGIN:VTIMEZONE',
        'TZID:Customized Time Zone',
        'BEGIN:STANDARD',
        `DTSTART:16010101T0${winterHour}0000`,
        `RRULE:FREQ=YEARLY;${winter}`,
        `TZOFFSETFROM:${summerOffset}`,
        `TZOFFSETTO:${winterOffset}`,
        'END:STANDARD',
        'BEGIN:DAYLIGHT',
        `DTSTART:16010101T0${summerHour}0000`,
        `RRULE:FREQ=YEARLY;${summer}`,
        `TZOFFSETFROM:${winterOffset}`,
        `TZOFFSETTO:${summerOffset}`,
        'END:DAYLIGHT',
        'END:VTIMEZONE',
      ];
      const lines = [
        'DTSTART;TZID=Customized Time Zone:20300107T090000',
        'RRULE:FREQ=WEEKLY;BYDAY=MO',
      ];
      const fields = read(file(lines, zone));
      expect(fields.recurrence?.timezone).toBe(expected === 'none' ? 'UTC' : expected);
      // The zone is written unchanged again: nothing differs after a round trip.
      expect(throughIcal(fields, { email: 'a@example.test', name: '', now: new Date(0) })).toEqual(
        fields,
      );
    },
  );

  it('counts days of a DURATION by the calendar and hours exactly', () => {
    const start = 'DTSTART;TZID=Europe/Berlin:20300330T120000';
    expect(read(file([start, 'DURATION:P1D'])).when).toMatchObject({
      end_time: at('2030-03-31T10:00:00Z'),
    });
    expect(read(file([start, 'DURATION:PT24H'])).when).toMatchObject({
      end_time: at('2030-03-31T11:00:00Z'),
    });
  });

  it('reads the end of all-day events as the last day', () => {
    expect(read(file(['DTSTART;VALUE=DATE:20300101', 'DTEND;VALUE=DATE:20300102'])).when).toEqual({
      object: 'date',
      date: '2030-01-01',
    });
    expect(read(file(['DTSTART;VALUE=DATE:20300101', 'DURATION:P3D'])).when).toEqual({
      object: 'datespan',
      start_date: '2030-01-01',
      end_date: '2030-01-03',
    });
  });

  it.each([
    [{ object: 'time', time: 1_900_000_000 }],
    [{ object: 'time', time: 1_900_000_000, timezone: 'Asia/Tokyo' }],
    [{ object: 'timespan', start_time: 1_900_000_000, end_time: 1_900_003_600 }],
    [
      {
        object: 'timespan',
        start_time: 1_900_000_000,
        end_time: 1_900_003_600,
        start_timezone: 'Europe/Berlin',
        end_timezone: 'America/New_York',
      },
    ],
    [{ object: 'date', date: '2030-02-28' }],
    [{ object: 'datespan', start_date: '2030-02-27', end_date: '2030-03-02' }],
  ] as const)('reads %j unchanged after writing it', (when) => {
    expect(throughIcal(fields({ when: { ...when } }), writer).when).toEqual(when);
  });

  it.each([
    'Europe/Berlin',
    'America/New_York',
    'Asia/Tokyo',
    'Africa/Casablanca',
    'Australia/Lord_Howe',
  ])('writes a VTIMEZONE for %s that gives readers of it the same instants', (zone) => {
    for (const start of [
      at('2030-01-15T12:00:00Z'),
      at('2030-07-15T12:00:00Z'),
      at('2033-11-15T12:00:00Z'),
    ]) {
      const text = newEvent(
        'u',
        fields({ when: { object: 'time', time: start, timezone: zone } }),
        writer,
      ).toString();
      // Under an unknown name.
      const renamed = text.replaceAll(zone, 'Described Here');
      expect(read(renamed).when).toMatchObject({ object: 'time', time: start });
    }
  });

  it('does not accept an invalid zone name', () => {
    expect(ianaZone('Nowhere', parseCalendar(file([])))).toBeUndefined();
  });
});

describe('events of calendar files', () => {
  const all = fields({
    title: 'Ümläut; comma, "quote"',
    description: 'a\nb',
    location: 'Room',
    visibility: 'private',
    busy: false,
    status: 'tentative',
    participants: [
      { email: 'bo@example.test', name: 'Bo', status: 'maybe', comment: null, phone_number: null },
    ],
    conferencing: {
      provider: 'Zoom Meeting',
      details: { url: 'https://z.test/?a=1,2;3', password: 'x' },
    },
    reminders: { reminder_minutes: '[20,5]', reminder_method: 'email' },
  });

  it('are read back unchanged', () => {
    expect(throughIcal(all, writer)).toEqual(all);
  });

  it('have addresses without characters that servers take for separators', () => {
    // Radicale, for example, keeps only the part before a comma and puts backslashes before
    // semicolons.
    const text = newEvent('u', all, writer).toString().replaceAll('\r\n ', '');
    expect(text.split('\r\n').find((line) => line.startsWith('CONFERENCE'))).not.toMatch(
      /:.*[,\\]|:.*;/,
    );
  });

  it('contain only the given fields: a line break in a value starts no property', () => {
    const odd = 'https://z.test/\r\nX-FORGED:1';
    const text = newEvent(
      'u',
      { ...all, title: odd, location: odd, conferencing: { provider: odd, details: { url: odd } } },
      writer,
    )
      .toString()
      .replaceAll('\r\n ', '');
    expect(text).not.toMatch(/^X-FORGED/m);
    expect(text).toMatch(/^CONFERENCE.*:https:/m);
  });

  it('keep unknown properties', () => {
    const lines = [
      'DTSTART:20300101T090000Z',
      'SUMMARY:Old',
      'X-THEIRS;P=1:kept',
      'ATTENDEE;X-A=b;CN=Bo:mailto:bo@example.test',
    ];
    const alarm = [
      'BEGIN:VALARM',
      'ACTION:DISPLAY',
      'TRIGGER;VALUE=DATE-TIME:20300101T080000Z',
      'END:VALARM',
    ];
    const root = parseCalendar(file([...lines, ...alarm]));
    const event = root.getFirstSubcomponent('vevent');
    if (!event) throw new Error('no event');
    writeFields(
      event,
      root,
      { title: 'New', participants: all.participants, reminders: all.reminders },
      writer,
    );
    const text = root.toString();
    for (const part of [
      'X-THEIRS;P=1:kept',
      'X-A=b',
      'TRIGGER;VALUE=DATE-TIME',
      'SUMMARY:New',
      'PARTSTAT=TENTATIVE',
    ])
      expect(text).toContain(part);
  });

  it('stop the server from sending invitations', () => {
    expect(newEvent('u', all, writer).toString()).toContain('SCHEDULE-AGENT=CLIENT');
  });

  it('refuse an invalid rule', () => {
    const recurrence = { rrule: ['RRULE:FREQ=SOMETIMES;INTERVAL=x'], timezone: 'UTC' };
    expect(() => throughIcal(fields({ recurrence }), writer)).toThrow('is not a rule');
  });

  it.each([
    'EXDATE:20300101T100000Z,x',
    'DTSTAMP:20300101T1',
    'RECURRENCE-ID:x',
    'DTEND:99999999T999999Z',
  ])(
    'with the wrong value %s are read or reported as unreadable, so that other events of the calendar are read',
    (line) => {
      const text = file(['DTSTART:20300101T090000Z', line, 'RRULE:FREQ=DAILY']);
      let refusal: unknown;
      try {
        readObject({ path: '/c/u.ics', text });
      } catch (error) {
        refusal = error;
      }
      expect(refusal === undefined || refusal instanceof UnreadableCalendarError).toBe(true);
    },
  );

  it('are returned with their changed instances', () => {
    const text = file(['DTSTART:20300101T090000Z', 'RRULE:FREQ=DAILY']).replace(
      'END:VCALENDAR',
      'BEGIN:VEVENT\r\nUID:u\r\nRECURRENCE-ID:20300102T090000Z\r\nDTSTART:20300102T100000Z\r\nEND:VEVENT\r\nEND:VCALENDAR',
    );
    expect(readObject({ path: '/c/u.ics', text }).events).toMatchObject([
      { providerId: '/c/u.ics', masterProviderId: null, originalStartTime: null },
      {
        providerId: '/c/u.ics#20300102T090000Z',
        masterProviderId: '/c/u.ics',
        originalStartTime: at('2030-01-02T09:00:00Z'),
      },
    ]);
  });

  it.each([
    ['no SEQUENCE', undefined, true, 0, 0, '1'],
    ['a revision increases the number', '3', true, 0, 3, '4'],
    ['a revision with a higher requested number gets that number', '3', true, 9, 3, '9'],
    ['a revision of a file with a higher number increases that number', '9', true, 4, 9, '10'],
    ['a change that is not a revision keeps the number', '3', false, 0, 3, '3'],
    ['a change that is not a revision gets a higher requested number', '3', false, 4, 3, '4'],
    ['a number below 0', '-5', true, 0, 0, '1'],
    ['no number', 'x', true, 0, 0, '1'],
    ['a number beyond the limit', '2147483647', true, 0, 2 ** 30, String(2 ** 30 + 1)],
  ])('SEQUENCE: %s', (_rule, given, revises, least, read, written) => {
    const root = newEvent('u', all, writer);
    const event = root.getFirstSubcomponent('vevent');
    if (!event) throw new Error('no event');
    event.removeAllProperties('sequence');
    if (given !== undefined) event.addPropertyWithValue('sequence', given);
    const [told] = readObject({ path: '/c/u.ics', text: root.toString() }).events;
    expect(told?.sequence).toBe(read);
    stampEvent(event, writer.now, revises, least);
    expect(String(event.getFirstPropertyValue('sequence'))).toBe(written);
  });
});

describe('mergeFields', () => {
  it("writes own changes, keeps the other side's, and reports fields changed on both sides", () => {
    const base = fields();
    const merge = mergeFields(
      base,
      fields({ title: 'Ours', location: 'Ours', busy: false }),
      fields({ description: 'Theirs', location: 'Theirs', busy: false }),
    );
    expect(merge).toEqual({ write: { title: 'Ours' }, conflicts: ['location'] });
  });

  it('joins lists of participants', () => {
    const person = (email: string, status: 'yes' | 'noreply' = 'noreply') =>
      ({ email, name: '', status, comment: null, phone_number: null }) as const;
    const merge = mergeFields(
      fields({ participants: [person('a@x.test'), person('b@x.test'), person('c@x.test')] }),
      fields({ participants: [person('b@x.test'), person('c@x.test'), person('new@x.test')] }),
      fields({
        participants: [person('a@x.test'), person('b@x.test', 'yes'), person('theirs@x.test')],
      }),
    );
    expect(merge.write.participants?.map(({ email, status }) => [email, status])).toEqual([
      ['b@x.test', 'yes'],
      ['theirs@x.test', 'noreply'],
      ['new@x.test', 'noreply'],
    ]);
  });
});
