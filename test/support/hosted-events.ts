import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import type { ConferencingProvider } from '../../src/providers/port/conferencing-port.ts';
import type {
  EventContent,
  EventWriteOptions,
  ExcludedInstance,
  ParticipantMail,
  RemoteEvent,
  TimeRange,
} from '../../src/providers/port/connector.ts';

/* The objects of `HostedCalendars`. */

/** The fields that every reported event has, with the values of an event that gives none. */
export const BLANK: EventContent = {
  title: '',
  description: '',
  location: '',
  busy: true,
  status: 'confirmed',
  visibility: null,
  recurrence: null,
  conferencing: null,
  participants: [],
  reminders: null,
};

/** An event, a changed instance, or an excluded start of a series. */
export interface StoredObject {
  providerId: string;
  icalUid: string;
  calendar: string;
  master: string | null;
  /** Start of an instance according to its series, in Unix seconds. */
  start: number | null;
  /** `null` for an excluded start. */
  content: EventContent | null;
  organizer: string;
  sequence: number;
  deleted: boolean;
  /** Position in the log of changes; grows with each change. */
  changed: number;
}

/** A mail that the provider sent to participants or to an organizer. */
export interface ProviderMail {
  kind: 'invite' | 'update' | 'cancel' | 'answer';
  title: string;
  to: string[];
}

/** What kind of provider the calendars belong to. */
export interface HostedTraits {
  mailsParticipants?: ParticipantMail;
  conferencing?: readonly ConferencingProvider[];
  /** True if a meeting is reported as pending first, and by the list of changes later. */
  pendingMeetings?: boolean;
}

export const hashed = (...parts: readonly string[]) =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 26);
export const startOf = (stamp: string) =>
  Date.parse(
    stamp.replace(/^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)Z)?$/, (_all, y, m, d, h, i, s) =>
      h === undefined ? `${y}-${m}-${d}T00:00:00Z` : `${y}-${m}-${d}T${h}:${i}:${s}Z`,
    ),
  ) / 1000;

export const instanceId = (series: string, start: number) => `${series}_${start}`;
export const titleOf = ({ content }: StoredObject) => String(content?.['title'] ?? '');
export const participantsOf = ({ content }: StoredObject): string[] =>
  ((content?.['participants'] ?? []) as { email: string }[]).map(({ email }) => email);

/** The fields that a write changed, on top of those at the provider. */
export function merge(
  there: EventContent,
  wanted: EventContent,
  base: EventContent | null,
): EventContent {
  if (!base) return { ...there, ...wanted };
  const same = (name: string, one: EventContent) => isDeepStrictEqual(wanted[name], one[name]);
  const changed = Object.keys(wanted).filter((name) => !same(name, base));
  const both = changed.find(
    (name) => !isDeepStrictEqual(there[name], base[name]) && !same(name, there),
  );
  if (both !== undefined)
    throw new ProviderError('conflict', `409 ${both} was changed at the provider as well`);
  return { ...there, ...Object.fromEntries(changed.map((name) => [name, wanted[name]])) };
}

export function withMeeting(
  content: EventContent,
  { meeting: made }: { meeting?: unknown },
  { meeting }: EventWriteOptions,
): EventContent {
  if (!meeting || made === undefined || made === 'pending') return content;
  return { ...content, conferencing: { provider: meeting.provider, details: made } };
}

export function remoteEvent(one: StoredObject, content: EventContent): RemoteEvent {
  const { providerId, icalUid, master, start, organizer, sequence } = one;
  const { hide_participants: _, ...shown } = content;
  return {
    providerId,
    icalUid,
    masterProviderId: master,
    originalStartTime: start,
    sequence,
    content: shown,
    organizer: organizer ? { email: organizer, name: null } : null,
  };
}

export const excludedInstance = ({
  providerId,
  master,
  start,
}: StoredObject): ExcludedInstance => ({
  providerId,
  masterProviderId: master ?? '',
  originalStartTime: start ?? 0,
});

/** The time that a single event takes. */
export function timeOf({ content }: StoredObject): TimeRange[] {
  const when = content?.['when'] as { start_time?: number; end_time?: number } | undefined;
  const { start_time: start = 0, end_time: end = 0 } = when ?? {};
  return end > start ? [{ start, end }] : [];
}
