import { NEW_EVENT } from './writes/apply-input.ts';
import type { EventRecord } from './event-record.ts';
import { toEventView, warningsOf } from './events.mapper.ts';
import { eventView } from './events.schema.ts';
import { boundsOf } from './when/when.ts';

const when = { object: 'timespan', start_time: 1_900_000_000, end_time: 1_900_003_600 } as const;
const utc = { start_timezone: 'UTC', end_timezone: 'UTC' };
const record = (overrides: Partial<EventRecord> = {}): EventRecord => ({
  ...NEW_EVENT,
  when,
  ...boundsOf(when, 'UTC'),
  id: 'ev1',
  accountId: 'a1',
  calendarId: 'c1',
  icalUid: null,
  messageId: null,
  status: 'confirmed',
  masterEventId: null,
  originalStart: null,
  organizerEmail: 'ada@example.test',
  organizerName: 'Ada',
  updatedAt: new Date(1_800_000_000_999),
  warnings: [],
  ...overrides,
});

describe('toEventView', () => {
  it('has null for fields that are not set, and lacks the fields of series and instances', () => {
    const view = toEventView(record(), []);
    expect(view).toEqual({
      id: 'ev1',
      object: 'event',
      account_id: 'a1',
      calendar_id: 'c1',
      message_id: null,
      ical_uid: null,
      title: '',
      description: '',
      location: '',
      owner: 'Ada <ada@example.test>',
      organizer_email: 'ada@example.test',
      organizer_name: 'Ada',
      participants: [],
      read_only: false,
      when: { ...when, ...utc },
      busy: true,
      status: 'confirmed',
      visibility: null,
      hide_participants: false,
      conferencing: null,
      reminders: null,
      notifications: [],
      metadata: {},
      event_collection_id: null,
      capacity: null,
      round_robin_order: [],
      customer_event_id: null,
      updated_at: 1_800_000_000,
    });
    expect(eventView.parse(view)).toEqual(view);
  });

  it.each([
    ['Ada', 'ada@example.test', 'Ada <ada@example.test>'],
    [null, 'ada@example.test', 'ada@example.test'],
    ['Ada', null, 'Ada'],
    [null, null, ''],
  ])('builds the owner from the name %s and the email %s', (organizerName, organizerEmail, owner) =>
    expect(toEventView(record({ organizerName, organizerEmail }), []).owner).toBe(owner),
  );

  it('shows the outcome of each notification, in the order of the event', () => {
    const notifications = [
      { id: 'n1', type: 'sms', minutes_before_event: 5, message: 'm' },
      { id: 'n2', type: 'webhook', minutes_before_event: 9, url: 'https://a.test/', payload: 'p' },
    ] as const;
    const dueAt = new Date(1_899_999_700_000);
    const outcomes = [
      {
        notificationId: 'n2',
        dueAt,
        status: 'skipped',
        reason: 'too late',
      },
      {
        notificationId: 'n1',
        dueAt,
        status: 'scheduled',
        reason: null,
      },
    ] as const;
    const event = record({ notifications: [...notifications] });
    const written = toEventView(event, outcomes, 'j1');
    expect(written.job_status_id).toBe('j1');
    expect(written.notifications).toEqual([
      { ...notifications[0], status: 'scheduled', reason: null, due_at: 1_899_999_700 },
      { ...notifications[1], status: 'skipped', reason: 'too late', due_at: 1_899_999_700 },
    ]);
    expect(eventView.parse(written)).toEqual(written);
  });
});

describe('warningsOf', () => {
  it('has a limited number of different warnings', () => {
    const unreadable = Array.from({ length: 900 }, (_, index) => `EXDATE:nonsense${index},again`);
    const rrule = ['RRULE:FREQ=DAILY', ...unreadable];
    const warnings = warningsOf(
      record({ warnings: ['of its file'], recurrence: { rrule, timezone: 'UTC' } }),
    );
    expect(warnings).toHaveLength(20);
    expect(new Set(warnings).size).toBe(20);
    expect(warnings[0]).toBe('of its file');
  });
});
