import type { ZodType } from 'zod';

/*
 * The interface of services that create online meetings (`conferencing.autocreate`,
 * docs/conferencing.md). As for connectors, arguments and results are plain values, and failures
 * are thrown as `ProviderError`. A driver keeps no state except tokens.
 */

/** Values of `conferencing.provider` in the API. */
export const CONFERENCING_PROVIDERS = [
  'Zoom Meeting',
  'Google Meet',
  'Microsoft Teams',
  'WebEx',
  'GoToMeeting',
] as const;
export type ConferencingProvider = (typeof CONFERENCING_PROVIDERS)[number];

/** Kinds of conferencing services that an application can configure. */
export const CONFERENCING_KINDS = ['link', 'zoom'] as const;
export type ConferencingKind = (typeof CONFERENCING_KINDS)[number];

/** Settings of one application's service: the output of the `settingsSchema` of its kind. */
export type ConferencingSettings = Readonly<Record<string, unknown>>;

export interface MeetingContent {
  title: string;
  /**
   * Unix seconds. `null` for all-day and recurring events: their meeting has no start time, and all
   * instances share one address.
   */
  startsAt: number | null;
  /** At least 1. `null` if `startsAt` is `null`. */
  durationMinutes: number | null;
  /** IANA name of the time zone to show the time in. `null` for UTC. */
  timezone: string | null;
  /** `autocreate.settings` of the event, validated by `meetingSchema`. */
  settings: Readonly<Record<string, unknown>>;
}

/** How to take part, under the field names of the API. */
export interface MeetingDetails {
  url: string;
  meeting_code?: string;
  password?: string;
  pin?: string;
  phone?: string[];
}

export interface Meeting {
  id: string;
  details: MeetingDetails;
}

/** Identifies a meeting. */
export interface MeetingKey {
  /** Address of the account that has the event. */
  email: string;
  /**
   * Unguessable, and constant for the meeting of an event. If the service stores the key, `find`
   * can search for it.
   */
  key: string;
}

/** A service that creates meetings. */
export interface ConferencingPort {
  readonly kind: ConferencingKind;
  /** Values of `conferencing.provider` that this service can serve. */
  readonly providers: readonly ConferencingProvider[];
  /** Validates settings given to the API. Unknown keys are refused. */
  readonly settingsSchema: ZodType<Record<string, unknown>>;
  /** Names of settings that responses never show. */
  readonly secretSettings: readonly string[];
  /**
   * Validates `autocreate.settings` of events. Settings that the service does not know are refused.
   */
  readonly meetingSchema: ZodType<Record<string, unknown>>;
  /**
   * Checks settings with the service before they are stored.
   * @throws {ProviderError} `auth-invalid` if the service refuses them
   */
  verify(settings: ConferencingSettings): Promise<void>;
  /** Whether meetings are created in the name of the account's address. Absent: never. */
  actsAsAddress?(settings: ConferencingSettings): boolean;
  /**
   * Searches for a meeting that an earlier `create` may have made, although its response was lost.
   * @returns `null` if the service knows of no such meeting
   */
  find(settings: ConferencingSettings, meeting: MeetingKey): Promise<Meeting | null>;
  /**
   * @throws {ProviderError} `outcome-unknown` if the meeting may have been created: call `find`
   *   before repeating the call
   */
  create(
    settings: ConferencingSettings,
    meeting: MeetingKey,
    content: MeetingContent,
  ): Promise<Meeting>;
  /**
   * @returns the new details for taking part, or `null` if they have not changed
   * @throws {ProviderError} `not-found` if the meeting was deleted
   */
  update(
    settings: ConferencingSettings,
    id: string,
    content: MeetingContent,
  ): Promise<MeetingDetails | null>;
  /** Deleting a meeting that does not exist is not an error. */
  delete(settings: ConferencingSettings, id: string): Promise<void>;
}
