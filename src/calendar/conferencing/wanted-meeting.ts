import { isDeepStrictEqual } from 'node:util';
import type { Conferencing, EventAutocreate, Recurrence, When } from '../events/event-values.ts';
import type { MeetingContent, MeetingDetails } from '../../providers/port/conferencing-port.ts';

/* Decides what to do about the meeting of an event. Pure functions. */

/** The fields of an event that its meeting depends on. */
export interface MeetingEvent {
  title: string;
  when: When;
  recurrence: Recurrence | null;
  conferencing: Conferencing | null;
  autocreate: EventAutocreate;
}

export interface KnownMeeting {
  provider: string;
  /** `null` while it is unknown whether the meeting was created. */
  remoteId: string | null;
  details: MeetingDetails | null;
  written: MeetingContent | null;
}

/** Title of a meeting whose event has none. */
const UNTITLED = 'Meeting';
/** Length of a meeting whose event has a start but no end. */
const USUAL_MINUTES = 60;
/** Longest meeting; longer events get a meeting of this length. */
const MOST_MINUTES = 1440;

/**
 * The content that the meeting of an event should have. A meeting of a recurring or all-day event
 * has no time.
 */
export function meetingContent({
  title,
  when,
  recurrence,
  autocreate,
}: MeetingEvent): MeetingContent {
  const named = { title: title || UNTITLED, settings: autocreate.settings };
  const { start, end, timezone } = timesOf(when);
  if (recurrence || start === null)
    return { ...named, startsAt: null, durationMinutes: null, timezone: null };
  const minutes = end === null ? USUAL_MINUTES : Math.ceil((end - start) / 60);
  return {
    ...named,
    startsAt: start,
    durationMinutes: Math.min(Math.max(minutes, 1), MOST_MINUTES),
    timezone,
  };
}

function timesOf(when: When): {
  start: number | null;
  end: number | null;
  timezone: string | null;
} {
  switch (when.object) {
    case 'time':
      return { start: when.time, end: null, timezone: when.timezone ?? null };
    case 'timespan':
      return { start: when.start_time, end: when.end_time, timezone: when.start_timezone ?? null };
    case 'date':
    case 'datespan':
      return { start: null, end: null, timezone: null };
  }
}

/**
 * The next step for the meeting of an event. `nothing` also applies if the user has removed the
 * meeting from the event.
 */
export type MeetingStep = 'make' | 'restore' | 'change' | 'nothing';

/**
 * Decides the next step.
 * - `make`: there is no meeting, and the event has no other conferencing details
 * - `restore`: there is a meeting, but the event does not show it
 * - `change`: the meeting no longer matches the event
 */
export function nextStep(event: MeetingEvent, meeting: KnownMeeting | null): MeetingStep {
  const shown = event.conferencing?.details.url;
  if (!meeting?.remoteId || meeting.provider !== event.autocreate.provider)
    return event.conferencing ? 'nothing' : 'make';
  if (!event.conferencing) return 'restore';
  if (shown !== meeting.details?.url) return 'nothing';
  // `meetingContent` has no undefined fields, so its result equals the stored JSON if nothing has
  // changed.
  return isDeepStrictEqual(meetingContent(event), meeting.written) ? 'nothing' : 'change';
}
