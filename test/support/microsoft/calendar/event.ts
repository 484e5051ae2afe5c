import type { ExtendedProperties } from '../graph/extended-properties.ts';
import type { ItemIds } from '../graph/item-ids.ts';
import type { Json } from '../http/types.ts';
import type { Recurrence } from './recurrence.ts';

export interface StoredCalendar {
  /** Never changes. */
  id: string;
  name: string;
  color: string;
  isDefault: boolean;
  version: number;
  extended: ExtendedProperties;
}

export type Response =
  | 'none'
  | 'organizer'
  | 'tentativelyAccepted'
  | 'accepted'
  | 'declined'
  | 'notResponded';

export interface Attendee {
  type: 'required' | 'optional' | 'resource';
  name: string;
  address: string;
  response: Response;
  responded: Date | null;
}

/** Fields of an event that requests set. */
export interface EventContent {
  subject: string;
  body: { contentType: 'text' | 'html'; content: string };
  /** Unix milliseconds. */
  start: number;
  end: number;
  startZone: string;
  endZone: string;
  isAllDay: boolean;
  location: Json;
  attendees: Attendee[];
  recurrence: Recurrence | null;
  showAs: string;
  sensitivity: string;
  importance: string;
  isReminderOn: boolean;
  reminderMinutesBeforeStart: number;
  categories: string[];
  isOnlineMeeting: boolean;
  onlineMeetingProvider: string;
  responseRequested: boolean;
  allowNewTimeProposals: boolean;
  hideAttendees: boolean;
}

/** An event in a calendar: a single one, a series, or an exception of a series. */
export interface StoredEvent extends EventContent, ItemIds {
  calendarId: string;
  iCalUId: string;
  transactionId: string | null;
  organizer: { name: string; address: string };
  isOrganizer: boolean;
  response: Response;
  responded: Date | null;
  isCancelled: boolean;
  joinUrl: string | null;
  created: Date;
  modified: Date;
  version: number;
  /** Only exceptions: the series and the start that it gave this instance. */
  master: StoredEvent | null;
  originalStart: number | null;
  /** Name that requests get for the zones of an event whose zones have none; default: their own. */
  shownZone?: string;
  /** Only series: exceptions and removed occurrences by their original start. */
  exceptions: Map<number, StoredEvent>;
  removed: Set<number>;
}

/** One instance of an event in time. */
export interface Instance {
  event: StoredEvent;
  type: 'singleInstance' | 'occurrence' | 'exception';
  ids: ItemIds;
  start: number;
  end: number;
  originalStart: number | null;
}
