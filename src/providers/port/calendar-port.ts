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

/**
 * An event as the provider keeps it: the field names of the API (docs/events.md), times in Unix
 * seconds.
 */
export type EventContent = Readonly<Record<string, unknown>>;

/** An event that is new or changed at the provider. */
export interface RemoteEvent {
  providerId: string;
  icalUid: string;
  content: EventContent;
  /**
   * For a changed instance of a series: the `providerId` of the series. `null` for a series or a
   * single event. A series must be reported together with all of its changed instances: the mirror
   * deletes the instances that are missing.
   */
  masterProviderId: string | null;
  /** For a changed instance: its start according to the series, in Unix seconds. */
  originalStartTime: number | null;
  organizer: { email: string; name: string | null } | null;
  /** SEQUENCE of iCalendar (RFC 5545): the revision of the event. */
  sequence: number;
}

/** Result of a provider write. */
export interface ProviderSequence {
  /**
   * The event's SEQUENCE at the provider after the write. Given if it can be higher than requested,
   * because other clients increase it too.
   */
  sequence?: number;
}

/** An event that now exists at the provider. */
export interface EventProviderIds extends ProviderSequence {
  providerId: string;
  icalUid: string;
}

export interface EventChanges {
  /** Opaque; pass it to the next call. Store it only after everything below has been stored. */
  cursor: string;
  /** Whether there is more to fetch at once. */
  more: boolean;
  events: readonly RemoteEvent[];
  /** `providerId`s of deleted events. Their instances are deleted too. */
  removed: readonly string[];
  /**
   * `providerId`s of all series and single events, if the cursor was lost and everything was listed
   * again: events that are missing here were deleted. `null` if `removed` lists all deletions.
   */
  present: readonly string[] | null;
}

/** Identifies an instance of a series at the provider. */
export interface InstancePosition {
  series: string;
  /**
   * Start according to the rules of the series: `20300311T080000Z`, or `20300311` in an all-day
   * series.
   */
  start: string;
}

export interface CalendarPort {
  /**
   * Returns the event as it will read after it was written to this provider, without the fields
   * that the provider cannot store. Used for comparisons; uses no network. Absent if the provider
   * stores every field unchanged.
   */
  asStored?(account: Pick<ProviderAccount, 'email' | 'name'>, event: EventContent): EventContent;
  /**
   * Whether the account has a calendar server. Uses no network. Absent if every account has one.
   */
  hasCalendars?(account: ProviderAccount): boolean;
  /** Returns an empty list if the account has no calendars. */
  listCalendars(account: ProviderAccount): Promise<readonly RemoteCalendar[]>;
  /**
   * Returns the changes of a calendar's events since `cursor` (`null`: everything). Absent if
   * events are created only through Carillon.
   * @throws {ProviderError} `not-found` if the calendar was deleted
   */
  listEventChanges?(
    account: ProviderAccount,
    calendarProviderId: string,
    cursor: string | null,
    limit: number,
  ): Promise<EventChanges>;
  /**
   * @param key repeating a call with the same key, for example after a crash, creates no second
   *   calendar
   */
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
  /** Deleting a calendar that does not exist is not an error. */
  deleteCalendar(account: ProviderAccount, providerId: string): Promise<void>;
  /**
   * @param key as for `createCalendar`
   * @param sequence lowest SEQUENCE that the event gets, if the provider stores one. Invitations
   *   to participants carry the same SEQUENCE
   */
  createEvent(
    account: ProviderAccount,
    calendarProviderId: string,
    key: string,
    event: EventContent,
    sequence?: number,
  ): Promise<EventProviderIds>;
  /**
   * @param base the content that `event` was made from. Fields that are the same in both keep the
   *   value they have at the provider. Absent or `null` if unknown: then every field is written
   * @param sequence as for `createEvent`
   * @throws {ProviderError} `not-found`; `conflict` if a field was changed to a different value
   *   at the provider as well
   */
  updateEvent(
    account: ProviderAccount,
    providerId: string,
    event: EventContent,
    base?: EventContent | null,
    sequence?: number,
  ): Promise<ProviderSequence>;
  /**
   * Deletes an event; a series is deleted with its changed instances. Deleting an event that does
   * not exist is not an error.
   */
  deleteEvent(account: ProviderAccount, providerId: string): Promise<void>;
  /**
   * Creates or updates a changed instance of a series. Repeating the call creates no second
   * instance. A new instance takes every field that `event` does not contain from the series.
   * @param base as for `updateEvent`. For a new instance: the instance as the series defines it
   * @param sequence as for `createEvent`
   * @throws {ProviderError} `not-found` if the series was deleted; `conflict` also if the series
   *   excludes the instance
   */
  writeInstance(
    account: ProviderAccount,
    instance: InstancePosition,
    event: EventContent,
    base?: EventContent | null,
    sequence?: number,
  ): Promise<EventProviderIds>;
  /**
   * Removes an instance, changed or not, from its series. It is not an error if the instance is
   * already removed or the series was deleted.
   */
  deleteInstance(account: ProviderAccount, instance: InstancePosition): Promise<void>;
  /**
   * Removes the changes of an instance, so that the series defines it again, including whether it
   * takes place. It is not an error if the instance has no changes.
   * @param providerId of the changed instance
   */
  resetInstance(account: ProviderAccount, providerId: string): Promise<void>;
}
