import type { ConferencingProvider, MeetingDetails } from './conferencing-port.ts';
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
 * seconds. The fields are `title`, `description`, `location`, `when`, `busy`, `status`,
 * `visibility`, `recurrence`, `conferencing`, `participants`, `reminders` and, in writes only,
 * `hide_participants`. Capacity, metadata, notifications and collections are stored in Carillon
 * only; connectors never see them.
 *
 * How a connector maps what the two sides do not share:
 * - A field that the provider has no counterpart for is left out of the content it reports. The
 *   event keeps its own value then, and a new event gets the default. `asStored` leaves the field
 *   out as well.
 * - `visibility` is `public`, `private` or `null`. Report "confidential" and "personal" as
 *   `private`, and the calendar's default as `null`.
 * - `busy` is a boolean. Report every kind of "shown as" as `true` except "free" and "working
 *   elsewhere".
 * - `reminders` are the provider's own alarms, not Carillon's notifications. Report the calendar's
 *   default alarms as `null`, and write `null` as the default.
 * - `participants` have the statuses `yes`, `no`, `maybe` and `noreply`. The organizer is reported
 *   in `RemoteEvent.organizer`, and among the participants only if the provider lists it there.
 *   Rooms are participants. Participants without an address are left out.
 * - `hide_participants` becomes "guests cannot see other guests"; a provider without it writes the
 *   participants as usual.
 * - `conferencing` of a service that the API does not name is left out; its address stays in the
 *   description or location that the provider has.
 */
export type EventContent = Readonly<Record<string, unknown>>;

/** An event that is new or changed at the provider. */
export interface RemoteEvent {
  /**
   * Unique in the account. A provider whose ids are unique in a calendar only must put the calendar
   * into them. An event that keeps its id when it is moved to another calendar also keeps its id
   * in Carillon.
   */
  providerId: string;
  icalUid: string;
  /**
   * The `key` given to `createEvent`, if the event was made by it. `null` if it was not. Absent if
   * the provider uses the key as the `icalUid`.
   */
  key?: string | null;
  content: EventContent;
  /**
   * For a changed instance of a series: the `providerId` of the series. `null` for a series or a
   * single event. Unless `EventChanges.partial` is set, a series must be reported together with all
   * of its changed instances: the mirror deletes the instances that are missing.
   */
  masterProviderId: string | null;
  /** For a changed instance: its start according to the series, in Unix seconds. */
  originalStartTime: number | null;
  organizer: { email: string; name: string | null } | null;
  /** SEQUENCE of iCalendar (RFC 5545): the revision of the event. */
  sequence: number;
  /** Whether the provider refuses all changes of the event. Default: false. */
  readOnly?: boolean;
  /**
   * What is left out of `content`, because it could not be read, in plain words. Default: nothing.
   */
  warnings?: readonly string[];
}

/** An object that could not be read, or only in part. */
export interface UnreadObject {
  /** Path or id of the object at the provider. */
  providerId: string;
  /** In plain words, for operators. */
  reason: string;
}

/**
 * A start of a series at which it does not take place, reported as an object of its own. A provider
 * that lists excluded starts in the rules of the series (`EXDATE`) reports none.
 */
export interface ExcludedInstance {
  providerId: string;
  masterProviderId: string;
  /**
   * The excluded start according to the series, in Unix seconds. For an all-day series: midnight
   * UTC.
   */
  originalStartTime: number;
}

/** Result of a provider write. */
export interface ProviderSequence {
  /**
   * The event's SEQUENCE at the provider after the write. Given if it can be higher than requested,
   * because other clients increase it too.
   */
  sequence?: number;
  /**
   * The result of `EventWriteOptions.meeting`: the details for taking part, or `pending` if the
   * provider is still creating the meeting. A pending meeting is reported by `listEventChanges` as
   * the `conferencing` of the event. Absent if no meeting was asked for.
   */
  meeting?: MeetingDetails | 'pending';
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
  /**
   * True if a series and its instances are reported independently of each other: an instance that
   * is not reported has not changed. Absent or `false`: the report of a series, or of one of its
   * instances, lists all changed instances of the series.
   */
  partial?: boolean;
  events: readonly RemoteEvent[];
  /**
   * Starts at which a series does not take place. An exclusion that was undone is reported in
   * `events` (the instance takes place with changes) or in `removed` (the series decides again).
   */
  excluded?: readonly ExcludedInstance[];
  /** Paths or ids of the objects that were read for this answer. Absent if `unread` is. */
  read?: readonly string[];
  /** Objects that could not be read, or only in part. Absent: none. */
  unread?: readonly UnreadObject[];
  /**
   * `providerId`s of deleted events. The instances of a deleted series are deleted too. With
   * `partial` also those of instances, changed or excluded, that are as the series defines them
   * again.
   */
  removed: readonly string[];
  /**
   * `null` if `removed` lists all deletions. After a lost cursor, when everything was listed again:
   * the `providerId`s of all series and single events, and with `partial` those of all changed and
   * excluded instances. An event that is missing here was deleted. If a full listing has several
   * pages, one of them has the ids of all pages.
   */
  present: readonly string[] | null;
}

/**
 * Who sends mail to participants about events of their organizer's calendar.
 * - `never`: Carillon does (docs/invitations.md)
 * - `on-request`: the provider does, for each write that has `notify`
 * - `always`: the provider does, for every write, and cannot be asked not to
 */
export type ParticipantMail = 'never' | 'on-request' | 'always';

/** A meeting that the provider is to create with an event. */
export interface NativeMeeting {
  provider: ConferencingProvider;
  /** Repeating a write with the same key creates no second meeting. */
  key: string;
}

export interface NotifyOption {
  /**
   * Whether the provider mails the participants about this write. Default `false`. Only providers
   * with `mailsParticipants: 'on-request'` read it. A repeated write that changes nothing must mail
   * no participant: repeat no request whose result is already there.
   */
  notify?: boolean;
}

export interface EventWriteOptions extends NotifyOption {
  /**
   * Lowest SEQUENCE that the event gets, if the provider stores one. Invitations to participants
   * carry the same SEQUENCE. Default 0.
   */
  sequence?: number;
  /**
   * The meeting that the event is to have. Absent if the event needs none, or has it already. Only
   * given for providers in `CalendarPort.conferencing`.
   */
  meeting?: NativeMeeting;
}

/**
 * What a connector has to remember of a write of several requests, so that the next attempt can
 * finish what an attempt has begun whose process died.
 */
export interface WriteNotes {
  /** The text that was stored last for this write; `null` if there is none. */
  readonly text: string | null;
  /**
   * Commits a text, in place of the last one. It is dropped when the write has ended.
   * @throws {ProviderError} `temporary` if another process has taken over the write
   */
  store(text: string): Promise<void>;
}

export interface EventUpdateOptions extends EventWriteOptions {
  /**
   * The content that the event was made from. Fields that are the same in both keep the value they
   * have at the provider. For a new instance: the instance as the series defines it. Absent or
   * `null` if unknown: then every field is written.
   */
  base?: EventContent | null;
  /** Given with `updateEvent`. Absent: nothing survives an attempt that is cut off. */
  notes?: WriteNotes;
}

/** The account's answer to an invitation. */
export interface EventResponse {
  status: 'yes' | 'no' | 'maybe';
  comment: string | null;
  /** Whether the provider mails the answer to the organizer. */
  notify: boolean;
}

/** A time range in Unix seconds. `end` is exclusive. */
export interface TimeRange {
  start: number;
  end: number;
}

/** Busy times of a person, or the reason why the provider does not show them. */
export type PersonBusy = { email: string } & (
  | { busy: readonly TimeRange[] }
  | {
      /** A sentence for the API's response, for example "no such user". */
      unknown: string;
    }
);

/**
 * A range of at most 366 days. A connector splits the request if its provider takes less at a time.
 */
export interface FreeBusyRequest extends TimeRange {
  /** At most 100 addresses, lower case. */
  emails: readonly string[];
  /** Ends the request when the caller no longer waits. */
  signal: AbortSignal;
}

/** A meeting room of the account's organization. Fields without a value are empty. */
export interface RemoteRoom {
  email: string;
  name: string;
  /** A number as text. */
  capacity: string;
  building: string;
  floorName: string;
  floorNumber: string;
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
   * Who mails participants. Absent: `never`. The two other kinds need `respond`. They also put the
   * invitations that the account receives, and the answers to its own, into its calendar: Carillon
   * makes no events from such mails.
   */
  readonly mailsParticipants?: ParticipantMail;
  /** Meetings that the provider itself creates with events. Absent: none. */
  readonly conferencing?: readonly ConferencingProvider[];
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
  /** @param key as for `createCalendar` */
  createEvent(
    account: ProviderAccount,
    calendarProviderId: string,
    key: string,
    event: EventContent,
    options?: EventWriteOptions,
  ): Promise<EventProviderIds>;
  /**
   * @throws {ProviderError} `not-found`; `conflict` if a field was changed to a different value
   *   at the provider as well
   */
  updateEvent(
    account: ProviderAccount,
    providerId: string,
    event: EventContent,
    options?: EventUpdateOptions,
  ): Promise<ProviderSequence>;
  /**
   * Deletes an event; a series is deleted with its changed instances. Deleting an event that does
   * not exist is not an error.
   */
  deleteEvent(account: ProviderAccount, providerId: string, options?: NotifyOption): Promise<void>;
  /**
   * Creates or updates a changed instance of a series. Repeating the call creates no second
   * instance. A new instance takes every field that `event` does not contain from the series.
   * @throws {ProviderError} `not-found` if the series was deleted; `conflict` also if the series
   *   excludes the instance
   */
  writeInstance(
    account: ProviderAccount,
    instance: InstancePosition,
    event: EventContent,
    options?: EventUpdateOptions,
  ): Promise<EventProviderIds>;
  /**
   * Removes an instance, changed or not, from its series. It is not an error if the instance is
   * already removed or the series was deleted.
   */
  deleteInstance(
    account: ProviderAccount,
    instance: InstancePosition,
    options?: NotifyOption,
  ): Promise<void>;
  /**
   * Removes the changes of an instance, so that the series defines it again, including whether it
   * takes place. It is not an error if the instance has no changes.
   * @param providerId of the changed instance
   */
  resetInstance(account: ProviderAccount, providerId: string): Promise<void>;
  /**
   * Answers an invitation to the account at its provider. Repeating the same answer is not an
   * error. Absent if answers are written with `updateEvent` and mailed by Carillon.
   * @throws {ProviderError} `not-found`; `rejected` if the account is not invited
   */
  respond?(account: ProviderAccount, providerId: string, response: EventResponse): Promise<void>;
  /**
   * Reads the busy times of people at the provider, with the rights of the account. Tentative times
   * are busy. Absent if the provider knows only the account's own events.
   * @returns one entry per address, in any order; an address without an entry is unknown
   */
  freeBusy?(account: ProviderAccount, request: FreeBusyRequest): Promise<readonly PersonBusy[]>;
  /**
   * Lists all meeting rooms of the account's organization, in any order. Absent if the provider has
   * none.
   * @param signal ends the request when the caller no longer waits
   */
  rooms?(account: ProviderAccount, signal: AbortSignal): Promise<readonly RemoteRoom[]>;
}
