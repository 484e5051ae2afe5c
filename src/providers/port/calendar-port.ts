import type { ProviderAccount } from './provider-account.ts';

/** A calendar as the provider keeps it. */
export interface CalendarContent {
  name: string;
  description: string | null;
  location: string | null;
  timezone: string | null;
}

export interface RemoteCalendar extends CalendarContent {
  providerId: string;
  isPrimary: boolean;
  readOnly: boolean;
}

/** An event as the provider keeps it: the wire's own field names (api facts 7.3), times in Unix seconds. */
export type EventContent = Readonly<Record<string, unknown>>;

/** An event that is new or changed at the provider. */
export interface RemoteEvent {
  providerId: string;
  icalUid: string;
  content: EventContent;
  /**
   * Of an instance of a series that was changed by itself: the `providerId` of the series. Null: a series, or an event
   * that stands alone. A series is told with all of its changed instances: others of it are gone.
   */
  masterProviderId: string | null;
  /** Of a changed instance: when it would have begun, in Unix seconds. */
  originalStartTime: number | null;
  organizer: { email: string; name: string | null } | null;
  /** SEQUENCE of iCalendar: the revision that it is. */
  sequence: number;
}

/** What has become of a write. */
export interface WrittenRevision {
  /** SEQUENCE it has there now, where that can be more than was asked for: others count as well. */
  sequence?: number;
}

/** An event that is at the provider now. */
export interface WrittenEvent extends WrittenRevision {
  providerId: string;
  icalUid: string;
}

export interface EventChanges {
  /** Opaque; give it back next time. Only valid after everything below has been stored. */
  cursor: string;
  /** Whether there is more to fetch at once. */
  more: boolean;
  events: readonly RemoteEvent[];
  /** `providerId`s of events that are gone, with all instances of them. */
  removed: readonly string[];
  /**
   * `providerId`s of all series and single events there are, when the look had to begin anew: others are gone. Null: only
   * `removed` are.
   */
  present: readonly string[] | null;
}

/** An instance of a series that is at the provider. */
export interface InstancePlace {
  series: string;
  /** When it begins by the rules: `20300311T080000Z`, or `20300311` in an all-day series. */
  start: string;
}

export interface CalendarPort {
  /**
   * An event as it reads once it has been written here: what the provider cannot hold is gone. For comparisons; no
   * network. Absent: it reads as it was written.
   */
  asStored?(account: ProviderAccount, event: EventContent): EventContent;
  /** Empty when the account has none. */
  listCalendars(account: ProviderAccount): Promise<readonly RemoteCalendar[]>;
  /**
   * Changes of a calendar's events since `cursor` (null: everything). Absent: events are made here only.
   * @throws {ProviderError} `not-found` when the calendar is gone
   */
  listEventChanges?(
    account: ProviderAccount,
    calendarProviderId: string,
    cursor: string | null,
    limit: number,
  ): Promise<EventChanges>;
  /** @param key the same key makes the same calendar: a repeated call after a crash makes no second one */
  createCalendar(
    account: ProviderAccount,
    key: string,
    calendar: CalendarContent,
  ): Promise<{ providerId: string }>;
  /** @throws {ProviderError} `not-found` */
  updateCalendar(
    account: ProviderAccount,
    providerId: string,
    calendar: CalendarContent,
  ): Promise<void>;
  /** A calendar that is already gone is not an error. */
  deleteCalendar(account: ProviderAccount, providerId: string): Promise<void>;
  /**
   * @param key as for calendars
   * @param sequence SEQUENCE that it gets at least, where the provider keeps one: what participants are told has the same
   */
  createEvent(
    account: ProviderAccount,
    calendarProviderId: string,
    key: string,
    event: EventContent,
    sequence?: number,
  ): Promise<WrittenEvent>;
  /**
   * @param base the content that `event` was made from: what is the same in both stays as it is at the provider. Absent or
   *   null: not known, then everything is written
   * @param sequence as for `createEvent`
   * @throws {ProviderError} `not-found`; `conflict` when a field was changed there as well, and to something else
   */
  updateEvent(
    account: ProviderAccount,
    providerId: string,
    event: EventContent,
    base?: EventContent | null,
    sequence?: number,
  ): Promise<WrittenRevision>;
  /** A series goes with its changed instances. An event that is already gone is not an error. */
  deleteEvent(account: ProviderAccount, providerId: string): Promise<void>;
  /**
   * Makes a changed instance of a series, or changes the one that is there: a repeated call makes no second one. A new one has
   * all that the series has and `event` does not concern.
   * @param base as for `updateEvent`; at first what the series says of the instance
   * @param sequence as for `createEvent`
   * @throws {ProviderError} `not-found` when the series is gone; `conflict` also when it leaves the instance out
   */
  writeInstance(
    account: ProviderAccount,
    place: InstancePlace,
    event: EventContent,
    base?: EventContent | null,
    sequence?: number,
  ): Promise<WrittenEvent>;
  /** Takes an instance, changed or not, out of its series. One that is out already, or whose series is gone, is not an error. */
  deleteInstance(account: ProviderAccount, place: InstancePlace): Promise<void>;
  /**
   * Takes back what was changed in an instance: the series decides again whether it takes place. Nothing to take back is not
   * an error.
   * @param providerId of the changed instance
   */
  resetInstance(account: ProviderAccount, providerId: string): Promise<void>;
}
