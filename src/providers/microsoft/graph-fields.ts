import { isDeepStrictEqual } from 'node:util';
import { fieldsOf, type IcalFields, UnwritableEventError } from '../../formats/ical/ical-fields.ts';
import { mergeFields } from '../../formats/ical/ical-merge.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { EventContent } from '../port/connector.ts';
import {
  graphEvent,
  type GraphFields,
  locationOf,
  plain,
  readEvent,
  writeEvent,
} from './calendar/graph-event.ts';
import { excludedStarts, seriesStart } from './calendar/graph-recurrence.ts';

/* Comparing and merging the content of events as Graph stores it. Pure functions. */

const NAMES = [
  'title',
  'description',
  'location',
  'when',
  'busy',
  'visibility',
  'participants',
  'recurrence',
  'reminders',
] as const satisfies readonly (keyof GraphFields)[];

function writable(event: EventContent): IcalFields {
  try {
    return fieldsOf(event);
  } catch (cause) {
    if (!(cause instanceof UnwritableEventError)) throw cause;
    throw new ProviderError('rejected', cause.message, { cause });
  }
}

/**
 * The fields as they read after they were written. Fields that `event` lacks have their default.
 * @throws {ProviderError} `rejected` if Graph cannot store the event
 */
export function throughGraph(event: EventContent): GraphFields {
  const fields = writable(event);
  const { recurrence, when, participants } = fields;
  const excluded = recurrence
    ? excludedStarts(recurrence, seriesStart(when, recurrence.timezone))
    : [];
  const names = Object.fromEntries(NAMES.map((name) => [name, fields[name]]));
  const location = locationOf(fields.location, fields.conferencing);
  const written = writeEvent({ ...(names as unknown as GraphFields), location });
  const { start, end } = written as Record<'start' | 'end', { timeZone: string }>;
  const zones = { originalStartTimeZone: start.timeZone, originalEndTimeZone: end.timeZone };
  const stored = readEvent(graphEvent.parse({ ...inUtc(fields, written), ...zones }), excluded);
  if (!stored) throw new Error('unreachable');
  return {
    ...stored,
    description: plain(fields.description),
    participants: participants.map((one) => ({ ...one, comment: null, phone_number: null })),
  };
}

/** The written times as Graph reports them. */
function inUtc({ when }: IcalFields, written: Record<string, unknown>): Record<string, unknown> {
  const at = (seconds: number) => ({
    dateTime: new Date(seconds * 1000).toISOString(),
    timeZone: 'UTC',
  });
  switch (when.object) {
    case 'time':
      return { ...written, id: 'x', start: at(when.time), end: at(when.time) };
    case 'timespan':
      return { ...written, id: 'x', start: at(when.start_time), end: at(when.end_time) };
    default:
      return { ...written, id: 'x' };
  }
}

/** The fields that `event` has itself, of `stored`. Others keep the value that they have. */
export function givenIn(event: EventContent, stored: GraphFields): Partial<GraphFields> {
  const names = NAMES.filter(
    (name) => event[name] !== undefined || (name === 'location' && event['conferencing']),
  );
  return Object.fromEntries(names.map((name) => [name, stored[name]]));
}

/**
 * The fields to write.
 * @param base what the change was made from; `null` if unknown
 * @throws {ProviderError} `conflict` if both sides changed a field to different values
 */
export function merged(
  base: Partial<GraphFields> | null,
  ours: Partial<GraphFields>,
  theirs: GraphFields,
): Partial<GraphFields> {
  const { write, conflicts } = mergeFields(
    base as IcalFields | null,
    ours as IcalFields,
    theirs as unknown as IcalFields,
  );
  if (conflicts.length > 0) throw conflict(`Changed: ${conflicts.join(', ')}`);
  if (write.participants && sameGuests(write.participants, theirs.participants))
    delete write.participants;
  return write;
}

export const conflict = (what: string) =>
  new ProviderError(
    'conflict',
    `${what} at the provider in the meantime. Read the event and repeat the changes you still want`,
  );

/** Whether the guests are the same: Graph lets nobody write the answers of others. */
function sameGuests(ours: GraphFields['participants'], theirs: GraphFields['participants']) {
  const names = new Map(theirs.map(({ email, name }) => [email, name]));
  return (
    ours.length === theirs.length &&
    ours.every(({ email, name }) => names.has(email) && (!name || name === names.get(email)))
  );
}

/** The fields of a changed instance that differ from what its series says. */
export function differences(
  series: GraphFields,
  instance: GraphFields,
  originalMs: number,
): Partial<GraphFields> {
  const defined = { ...series, recurrence: null, when: whenAt(series.when, originalMs) };
  const names = NAMES.filter((name) => !isDeepStrictEqual(defined[name], instance[name]));
  return Object.fromEntries(names.map((name) => [name, instance[name]]));
}

/** The time of a series, for its instance at a start in Unix milliseconds. */
export function whenAt(when: GraphFields['when'], ms: number): GraphFields['when'] {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  switch (when.object) {
    case 'time':
      return { ...when, time: ms / 1000 };
    case 'timespan':
      return {
        ...when,
        start_time: ms / 1000,
        end_time: ms / 1000 + when.end_time - when.start_time,
      };
    case 'date':
      return { object: 'date', date: day(ms) };
    case 'datespan': {
      const length = Date.parse(when.end_date) - Date.parse(when.start_date);
      return { object: 'datespan', start_date: day(ms), end_date: day(ms + length) };
    }
  }
}
