import { isDeepStrictEqual } from 'node:util';
import { storable } from '../../../platform/base/text/storable.ts';
import { CONTENT_FIELDS, type ProviderFields } from '../event-columns.ts';
import { type EventRecord, toEventContent } from '../event-record.ts';
import { type Participant, withAddress } from '../event-values.ts';
import { boundsOf } from '../when/when.ts';
import type {
  EventContent,
  ExcludedInstance,
  RemoteEvent,
} from '../../../providers/port/connector.ts';

/*
 * Computes how an event at a provider changes our event. These are pure functions; `EventSync`
 * reads and writes.
 */

/**
 * Longest text stored, in characters. The API allows no longer texts, and people do not write
 * longer ones.
 */
const MOST_TEXT = 65_536;

/**
 * A provider's content without characters that PostgreSQL cannot store, and with its texts cut to
 * `MOST_TEXT`.
 */
export function storableContent(content: EventContent): EventContent {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return storable(value, MOST_TEXT);
    // `map` makes an array of the realm that the value is from, which never equals one of ours.
    if (Array.isArray(value)) return Array.from(value as unknown[], clean);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, clean(one)]));
  };
  return clean(content) as EventContent;
}

/**
 * The fields of our event after it takes over `content` from its provider; `null` if nothing
 * visible changes.
 * @param asStored converts our content to what the provider would return for it. Data that the
 *   provider cannot store is then no difference.
 * @param zone of the calendar, for all-day events
 */
export function changeOf(
  event: EventRecord,
  content: EventContent,
  asStored: (content: EventContent) => EventContent,
  zone: string,
): ProviderFields | null {
  const ours = asStored(toEventContent(event));
  const different = CONTENT_FIELDS.filter(
    (name) => content[name] !== undefined && !isDeepStrictEqual(content[name], ours[name]),
  );
  if (different.length === 0) return null;
  const changed = Object.fromEntries(
    different.map((name) => [name, content[name]]),
  ) as Partial<ProviderFields>;
  const after = { ...event, ...changed };
  return {
    ...after,
    participants: withOwnFacts(after.participants, event.participants),
    ...boundsOf(after.when, zone),
  };
}

/** Fields of a new event that its provider has no counterpart for. */
const DEFAULTS: Omit<ProviderFields, 'when' | 'startsAt' | 'endsAt'> = {
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

/**
 * The fields of an event that is new in the mirror. Fields that `content` lacks have their default.
 * @param zone of the calendar, for all-day events
 */
export function fieldsOf(content: EventContent, zone: string): ProviderFields {
  const fields = { ...DEFAULTS, ...(content as unknown as ProviderFields) };
  return { ...fields, ...boundsOf(fields.when, zone) };
}

/**
 * Keeps what providers do not store: the phone numbers and comments of our participants, and
 * participants without an address.
 */
function withOwnFacts(theirs: readonly Participant[], ours: readonly Participant[]): Participant[] {
  const stored = withAddress(theirs).map((their) => {
    const our = ours.find(({ email }) => email === their.email);
    return {
      ...their,
      phone_number: their.phone_number ?? our?.phone_number ?? null,
      comment: their.comment ?? our?.comment ?? null,
    };
  });
  return [...stored, ...ours.filter(({ email }) => email === '')];
}

/** Provider id of the series, or of the single event, that an event belongs to. */
export function groupOf({
  masterProviderId,
  providerId,
}: {
  masterProviderId: string | null;
  providerId: string | null;
}): string {
  return masterProviderId ?? providerId ?? '';
}

/**
 * Returns a function that finds our row of a remote event or excluded instance. It matches by
 * `providerId`. Instances that were changed here and have no provider id yet, or that the provider
 * lists under a new id, are matched by series and original start.
 */
export function rowFinder<Row extends MirrorRow>(
  rows: readonly Row[],
): (remote: RemoteEvent | ExcludedInstance) => Row | undefined {
  const key = (group: string, seconds: number) => `${group} ${seconds}`;
  const known = new Map<string, Row>();
  const coming = new Map<string, Row>();
  for (const row of rows) {
    if (row.providerId !== null) known.set(row.providerId, row);
    if (!row.originalStart) continue;
    const place = key(groupOf(row), row.originalStart.getTime() / 1000);
    if (row.providerId === null || !coming.has(place)) coming.set(place, row);
  }
  return (remote) =>
    known.get(remote.providerId) ??
    (remote.originalStartTime === null
      ? undefined
      : coming.get(key(groupOf(remote), remote.originalStartTime)));
}

interface MirrorRow {
  providerId: string | null;
  masterProviderId: string | null;
  originalStart: Date | null;
}
