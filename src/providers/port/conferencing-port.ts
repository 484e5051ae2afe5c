import type { ZodType } from 'zod';

/*
 * The port of services that make online meetings (api facts 7.3: `conferencing.autocreate`). As connectors: plain values in,
 * plain values or `ProviderError` out; no state but tokens.
 */

/** Names of conferencing on the wire. */
export const CONFERENCING_PROVIDERS = [
  'Zoom Meeting', 'Google Meet', 'Microsoft Teams', 'WebEx', 'GoToMeeting',
] as const; // prettier-ignore
export type ConferencingProvider = (typeof CONFERENCING_PROVIDERS)[number];

/** Kinds of services an application can configure. */
export const CONFERENCING_KINDS = ['link', 'zoom'] as const;
export type ConferencingKind = (typeof CONFERENCING_KINDS)[number];

/** Settings of one application's service: what the `settingsSchema` of its kind produced. */
export type ConferencingSettings = Readonly<Record<string, unknown>>;

export interface MeetingContent {
  title: string;
  /** Unix seconds; null: it has no time of its own (all-day and recurring events), and one address for all times. */
  startsAt: number | null;
  /** At least 1; null with `startsAt`. */
  durationMinutes: number | null;
  /** IANA name to show the time in; null: UTC. */
  timezone: string | null;
  /** `autocreate.settings` of the event, as `meetingSchema` made them. */
  settings: Readonly<Record<string, unknown>>;
}

/** How to take part, by the wire's names. */
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

/** Whose meeting it is, and which. */
export interface MeetingKey {
  /** Address of the account that has the event. */
  email: string;
  /** Unguessable, stays the same for the event's meeting: a service that keeps it can be asked for it. */
  key: string;
}

/** A service that makes meetings. */
export interface ConferencingPort {
  readonly kind: ConferencingKind;
  /** Names it can stand behind. */
  readonly providers: readonly ConferencingProvider[];
  /** Settings as the API takes them; unknown keys are refused. */
  readonly settingsSchema: ZodType<Record<string, unknown>>;
  /** Names of settings that are never shown. */
  readonly secretSettings: readonly string[];
  /** `autocreate.settings` as events may have them; what the service has no setting for is refused. */
  readonly meetingSchema: ZodType<Record<string, unknown>>;
  /**
   * Checks settings with the service before they are stored.
   * @throws {ProviderError} `auth-invalid` when they are refused
   */
  verify(settings: ConferencingSettings): Promise<void>;
  /** Whether meetings are made in the name of the account's address. Absent: never. */
  actsAsAddress?(settings: ConferencingSettings): boolean;
  /**
   * Looks for a meeting that an earlier `create` may have made although its answer was lost.
   * @returns null: there is none, as far as the service tells
   */
  find(settings: ConferencingSettings, meeting: MeetingKey): Promise<Meeting | null>;
  /** @throws {ProviderError} `outcome-unknown` when it may have been made: `find` before repeating it */
  create(
    settings: ConferencingSettings,
    meeting: MeetingKey,
    content: MeetingContent,
  ): Promise<Meeting>;
  /**
   * @returns how to take part from now on; null: as before
   * @throws {ProviderError} `not-found` when it is not there any more
   */
  update(
    settings: ConferencingSettings,
    id: string,
    content: MeetingContent,
  ): Promise<MeetingDetails | null>;
  /** One that is gone is no error. */
  delete(settings: ConferencingSettings, id: string): Promise<void>;
}
