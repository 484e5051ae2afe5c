import { isDeepStrictEqual } from 'node:util';
import { storable } from '../../platform/base/text/storable.ts';
import { CONTENT_FIELDS, type ProviderFields } from './event-columns.ts';
import { type EventRecord, toEventContent } from './event-record.ts';
import type { Participant } from './event-values.ts';
import { boundsOf } from './when.ts';
import type { EventContent, RemoteEvent } from '../../providers/port/connector.ts';

/*
 * What an event of a provider makes of an event of ours. Pure: `EventSync` reads and writes.
 */

/** The API takes no longer ones either, but what providers have is not cut below what people write. */
const MOST_TEXT = 65_536;

/** A provider's content without what PostgreSQL cannot store. */
export function storableContent(content: EventContent): EventContent {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return storable(value, MOST_TEXT);
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, clean(one)]));
  };
  return clean(content) as EventContent;
}

/**
 * What changes in an event of ours when its provider has `content`; null: nothing that anybody sees.
 * @param asStored how our content reads once it has been at the provider: what that cannot hold is no difference
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

/** The fields of an event that is new here. @param zone as for `changeOf` */
export function fieldsOf(content: EventContent, zone: string): ProviderFields {
  const fields = content as unknown as ProviderFields;
  return { ...fields, ...boundsOf(fields.when, zone) };
}

/** Telephone numbers, and what was said here, are not kept by providers. */
function withOwnFacts(theirs: readonly Participant[], ours: readonly Participant[]): Participant[] {
  return theirs.map((their) => {
    const our = ours.find(({ email }) => email === their.email);
    return {
      ...their,
      phone_number: their.phone_number ?? our?.phone_number ?? null,
      comment: their.comment ?? our?.comment ?? null,
    };
  });
}

/** The series, or the single event, that a remote event belongs to. */
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
 * Finds the rows of remote events: by `providerId`, and those of instances that were changed here, and are not known to be
 * there yet, by when they would have begun.
 */
export function rowFinder<Row extends MirrorRow>(
  rows: readonly Row[],
): (remote: RemoteEvent) => Row | undefined {
  const place = (group: string, seconds: number) => `${group} ${seconds}`;
  const known = new Map<string, Row>();
  const coming = new Map<string, Row>();
  for (const row of rows) {
    if (row.providerId !== null) known.set(row.providerId, row);
    else if (row.originalStart)
      coming.set(place(groupOf(row), row.originalStart.getTime() / 1000), row);
  }
  return (remote) =>
    known.get(remote.providerId) ??
    (remote.originalStartTime === null
      ? undefined
      : coming.get(place(groupOf(remote), remote.originalStartTime)));
}

interface MirrorRow {
  providerId: string | null;
  masterProviderId: string | null;
  originalStart: Date | null;
}
