import { camelKeys } from '../../../platform/wire/camel-keys.ts';
import { applyInput, NEW_EVENT } from './apply-input.ts';
import type { EventFields } from '../event-record.ts';
import { updateEvent } from '../events.schema.ts';
import { boundsOf } from '../when/when.ts';

const when = { object: 'time', time: 1_900_000_000 } as const;
const event = (overrides: Partial<EventFields> = {}): EventFields => ({
  ...NEW_EVENT,
  when,
  ...boundsOf(when, 'UTC'),
  ...overrides,
});
const apply = (before: EventFields, body: object, zone = 'UTC') =>
  applyInput(before, camelKeys(updateEvent.parse(body)), zone);
const ada = {
  email: 'ada@example.test',
  name: 'Ada',
  phone_number: '+15550100',
  status: 'yes',
  comment: 'gladly',
} as const;

describe('applyInput', () => {
  it('changes the given fields and keeps all others', () => {
    const before = event({
      title: 'a',
      description: 'b',
      capacity: 5,
      metadata: { k: 'v' },
      visibility: 'private',
    });
    expect(apply(before, { description: 'new' })).toEqual({ ...before, description: 'new' });
  });

  it('treats null as "not given"', () => {
    const before = event({
      title: 'a',
      busy: false,
      participants: [ada],
      capacity: 5,
      recurrence: { rrule: ['RRULE:FREQ=DAILY'], timezone: 'UTC' },
      visibility: 'public',
      customerEventId: 'c',
    });
    const nulls = {
      title: null,
      description: null,
      busy: null,
      participants: null,
      when: null,
      recurrence: null,
      conferencing: null,
      notifications: null,
      metadata: null,
      visibility: null,
      capacity: null,
      customer_event_id: null,
      event_collection_id: null,
      round_robin_order: null,
      hide_participants: null,
      reminder_minutes: null,
      calendar_id: null,
    };
    expect(apply(before, { ...nulls, location: 'x' })).toEqual({ ...before, location: 'x' });
  });

  it('clears fields that are given as empty strings', () => {
    const before = event({
      title: 'a',
      visibility: 'public',
      customerEventId: 'c',
      eventCollectionId: 'e',
    });
    expect(
      apply(before, { title: '', visibility: '', customer_event_id: '', event_collection_id: '' }),
    ).toMatchObject({
      title: '',
      visibility: null,
      customerEventId: null,
      eventCollectionId: null,
    });
  });

  it('computes the start from `when`, in the zone of the calendar for all-day events', () => {
    const after = apply(event(), { when: { date: '2026-07-15' } }, 'Europe/Berlin');
    expect(after.startsAt.toISOString()).toBe('2026-07-14T22:00:00.000Z');
    expect(after.endsAt.toISOString()).toBe('2026-07-15T22:00:00.000Z');
  });

  it('replaces participants and keeps the answers of those with the same address', () => {
    const before = event({ participants: [ada] });
    const after = apply(before, {
      participants: [{ email: 'ADA@example.test', name: 'A.' }, { email: 'bo@example.test' }],
    });
    expect(after.participants).toEqual([
      {
        email: 'ada@example.test',
        name: 'A.',
        phone_number: null,
        status: 'yes',
        comment: 'gladly',
      },
      { email: 'bo@example.test', name: '', phone_number: null, status: 'noreply', comment: null },
    ]);
    expect(apply(before, { participants: [] }).participants).toEqual([]);
  });

  it('takes a new answer and clears the comment given as an empty string', () => {
    const body = { participants: [{ email: ada.email, status: 'no', comment: '' }] };
    expect(apply(event({ participants: [ada] }), body).participants).toMatchObject([
      { status: 'no', comment: null },
    ]);
  });

  it('removes separators from phone numbers', () => {
    const body = { participants: [{ email: 'a@b.test', phone_number: '+1 (555) 010-0123' }] };
    expect(apply(event(), body).participants[0]?.phone_number).toBe('+15550100123');
  });

  it('gives a recurrence without a zone the zone of the calendar', () => {
    const rrule = ['RRULE:FREQ=WEEKLY;BYDAY=MO', 'EXDATE:20260101T000000Z'];
    expect(apply(event(), { recurrence: { rrule } }, 'Europe/Rome').recurrence).toEqual({
      rrule,
      timezone: 'Europe/Rome',
    });
    expect(
      apply(event(), { recurrence: { rrule, timezone: 'UTC' } }, 'Europe/Rome').recurrence
        ?.timezone,
    ).toBe('UTC');
  });

  it('keeps the ids of unchanged notifications', () => {
    const stored = {
      id: 'n1',
      type: 'webhook',
      minutes_before_event: 5,
      url: 'https://a.test/',
      payload: '',
    } as const;
    const { id: _id, ...same } = stored;
    const after = apply(event({ notifications: [stored] }), {
      notifications: [{ ...same, minutes_before_event: '5', status: 'scheduled' }],
    });
    expect(after.notifications).toEqual([stored]);
    expect(apply(event({ notifications: [stored] }), { notifications: [] }).notifications).toEqual(
      [],
    );
  });

  it('reads popup reminders and keeps the parts that are not given', () => {
    expect(
      apply(event(), { reminder_minutes: '[20]', reminder_method: 'email' }).reminders,
    ).toEqual({
      reminder_minutes: '[20]',
      reminder_method: 'email',
    });
    expect(apply(event(), { reminder_minutes: 20 }).reminders).toEqual({
      reminder_minutes: '[20]',
      reminder_method: 'popup',
    });
    const before = event({ reminders: { reminder_minutes: '[20]', reminder_method: 'email' } });
    expect(apply(before, { reminder_method: 'sound', reminder_minutes: '' }).reminders).toEqual({
      reminder_minutes: '[20]',
      reminder_method: 'sound',
    });
    expect(() => apply(event(), { reminder_method: 'sound' })).toThrow(
      'reminder_method: needs reminder_minutes',
    );
  });

  it('refuses more participants than the capacity', () => {
    const participants = [{ email: 'a@b.test' }, { email: 'c@d.test' }];
    expect(() => apply(event(), { participants, capacity: 1 })).toThrow(
      /^capacity: the event has 2 participants/,
    );
    expect(() => apply(event({ capacity: 1 }), { participants })).toThrow(/capacity of 1/);
    expect(apply(event(), { participants, capacity: 2 }).capacity).toBe(2);
    expect(apply(event(), { participants, capacity: -1 }).capacity).toBe(-1);
  });
});
