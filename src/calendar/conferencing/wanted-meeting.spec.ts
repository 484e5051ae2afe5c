import type { When } from '../events/event-values.ts';
import { meetingContent, type MeetingEvent, nextStep } from './wanted-meeting.ts';

const URL = 'https://meet.example.test/x';
const event: MeetingEvent = {
  title: 'Review',
  when: { object: 'timespan', start_time: 1000, end_time: 1090 },
  recurrence: null,
  conferencing: { provider: 'WebEx', details: { url: URL } },
  autocreate: { provider: 'WebEx', settings: {} },
};
const meeting = {
  provider: 'WebEx',
  remoteId: '1',
  details: { url: URL },
  written: meetingContent(event),
};

describe('meetingContent', () => {
  it.each<[When, number | null, number | null, string | null]>([
    [{ object: 'timespan', start_time: 1000, end_time: 1090 }, 1000, 2, null],
    [
      { object: 'timespan', start_time: 0, end_time: 10_000_000, start_timezone: 'Asia/Tokyo' },
      0,
      1440,
      'Asia/Tokyo',
    ],
    [{ object: 'time', time: 1000, timezone: 'UTC' }, 1000, 60, 'UTC'],
    [{ object: 'date', date: '2030-01-01' }, null, null, null],
    [{ object: 'datespan', start_date: '2030-01-01', end_date: '2030-01-02' }, null, null, null],
  ])('for %j begins at %s and lasts %s minutes', (when, startsAt, durationMinutes, timezone) => {
    expect(meetingContent({ ...event, when })).toEqual({
      title: 'Review',
      startsAt,
      durationMinutes,
      timezone,
      settings: {},
    });
  });

  it('has no time if the event recurs, and always has a title', () => {
    const recurrence = { rrule: ['RRULE:FREQ=DAILY'], timezone: 'UTC' };
    expect(meetingContent({ ...event, title: '', recurrence })).toMatchObject({
      title: 'Meeting',
      startsAt: null,
    });
  });
});

describe('nextStep', () => {
  it.each([
    ['makes a meeting if there is none', { conferencing: null }, null, 'make'],
    [
      'makes a meeting if it is unknown whether one was made',
      { conferencing: null },
      { remoteId: null },
      'make',
    ],
    [
      'makes a meeting if the existing one is at another provider',
      { conferencing: null },
      { provider: 'Google Meet' },
      'make',
    ],
    ['makes no meeting if the event has other conferencing details', {}, null, 'nothing'],
    ['restores a meeting that the event does not show', { conferencing: null }, {}, 'restore'],
    [
      'does nothing if the user has replaced the meeting',
      { conferencing: { provider: 'WebEx', details: { url: 'https://other.test' } } },
      {},
      'nothing',
    ],
    ['does nothing if the meeting matches the event', {}, {}, 'nothing'],
    ['changes a meeting whose event has a new title', { title: 'Moved' }, {}, 'change'],
    [
      'changes a meeting whose event has new settings',
      { autocreate: { provider: 'WebEx', settings: { password: 'x' } } },
      {},
      'change',
    ],
    ['changes a meeting whose content at the service is unknown', {}, { written: null }, 'change'],
  ] as const)('%s', (_, change, known, step) => {
    expect(nextStep({ ...event, ...change }, known && { ...meeting, ...known })).toBe(step);
  });
});
