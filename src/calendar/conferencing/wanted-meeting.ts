import { isDeepStrictEqual } from 'node:util';
import type {
  Conferencing,
  EventAutocreate,
  Recurrence,
  When,
} from '../event-store/event-values.ts';
import type { MeetingContent, MeetingDetails } from '../../providers/port/conferencing-port.ts';

/*
 * What has to happen to the meeting of an event. Pure.
 */

/** The part of an event a meeting depends on. */
export interface MeetingEvent {
  title: string;
  when: When;
  recurrence: Recurrence | null;
  conferencing: Conferencing | null;
  autocreate: EventAutocreate;
}

export interface KnownMeeting {
  provider: string;
  /** Null: not known to have been made. */
  remoteId: string | null;
  details: MeetingDetails | null;
  written: MeetingContent | null;
}

/** A meeting for an event without a title. */
const UNTITLED = 'Meeting';
/** Of an event that is one moment. */
const USUAL_MINUTES = 60;
/** Longer ones are as long as that. */
const MOST_MINUTES = 1440;

/** What the meeting of an event is to be like: of one that recurs, or lasts whole days, without a time of its own. */
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

/** The next thing to do about the meeting of an event; `nothing` also where its user has taken it off the event. */
export type MeetingStep = 'make' | 'restore' | 'change' | 'nothing';

/**
 * - `make`: there is none yet, and nothing in its place
 * - `restore`: there is one, and the event does not show it
 * - `change`: it is not as the event is any more
 */
export function nextStep(event: MeetingEvent, meeting: KnownMeeting | null): MeetingStep {
  const shown = event.conferencing?.details.url;
  if (!meeting?.remoteId || meeting.provider !== event.autocreate.provider)
    return event.conferencing ? 'nothing' : 'make';
  if (!event.conferencing) return 'restore';
  if (shown !== meeting.details?.url) return 'nothing';
  // As JSON keeps it: what is undefined is not there.
  return isDeepStrictEqual(meetingContent(event), meeting.written) ? 'nothing' : 'change';
}
