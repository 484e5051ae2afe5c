import type { EntityManager } from '@mikro-orm/postgresql';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { newId } from '../../../platform/base/ids/ids.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import { type EventFields, type EventRecord, toEventContent } from '../event-record.ts';
import { Event } from '../event.entity.ts';
import { TooManyOccurrencesError } from '../../../formats/recurrence/rules.ts';
import { movedStart, withMovedExclusions } from '../../../formats/recurrence/moved-exclusions.ts';
import { openSeries, type Series } from '../../../formats/recurrence/series.ts';
import {
  firstStart,
  type Recurrence,
  type SeriesSource,
} from '../../../formats/recurrence/series-source.ts';
import { isAllDay } from '../when/when.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/**
 * Creates the row of an instance that is changed on its own for the first time. `providerContent`
 * of the row is the instance as its series described it. The provider write compares the change
 * with that content (ADR 0042).
 * @param instance as described by its series
 */
export function createInstance(
  em: EntityManager,
  series: Event,
  instance: EventRecord,
  fields: EventFields & Pick<EventRecord, 'status'>,
  at: Date,
): Event {
  return em.create(Event, {
    ...fields,
    id: newId(),
    account: series.account,
    calendar: series.calendar,
    icalUid: series.icalUid ?? null,
    sequence: series.sequence,
    masterEventId: series.id,
    masterProviderId: series.providerId ?? null,
    originalStart: instance.originalStart,
    providerContent: { ...toEventContent(instance) },
    organizerEmail: series.organizerEmail ?? null,
    organizerName: series.organizerName ?? null,
    createdAt: at,
    updatedAt: at,
  });
}

const DELETED = `
  select (extract(epoch from original_start) * 1000)::float8 as "startMs" from event
  where account_id = $1 and master_event_id = $2 and original_start is not null and not released
    and status = 'cancelled'`;

const MOVE = `
  update event e set original_start = x.start, starts_at = x.start, ends_at = x.start + (e.ends_at - e.starts_at),
    provider_id = null
  from unnest($2::uuid[], $3::timestamptz[]) x(id, start)
  where e.account_id = $1 and e.id = x.id`;

/**
 * The recurrence of a series after a client has moved it: instances that were deleted stay deleted
 * and move along, whether the rules name them or only rows do.
 */
export async function movedRecurrence(
  sql: Sql,
  { accountId, id }: SeriesKey,
  before: SeriesFields,
  after: SeriesFields,
): Promise<Recurrence | null> {
  const [old, now] = [sourceOf(before), sourceOf(after)];
  if (!old || !now || firstStart(before.when) === firstStart(after.when)) return after.recurrence;
  const rows = await sql.query<{ startMs: number }>(DELETED, [accountId, id]);
  return withMovedExclusions(
    old,
    now,
    rows.map(({ startMs }) => startMs),
  );
}

const sourceOf = ({ when, recurrence }: SeriesFields): SeriesSource | null =>
  recurrence && { when, recurrence };

/** A changed instance that was cancelled because its series was deleted or changed. */
export type EndedInstance = RowOf<Event, 'id' | 'metadata'>;

type SeriesKey = Pick<EventRecord, 'accountId' | 'id'>;
type SeriesFields = Pick<EventFields, 'when' | 'recurrence'>;

const END = `
  update event set status = 'cancelled', released = true, version = version + 1, updated_at = $3
  where account_id = $1 and master_event_id = $2 and status <> 'cancelled' and ($4::uuid[] is null or id = any($4))
  returning id, metadata`;

const RELEASE = `update event set released = true where account_id = $1 and id = any($2::uuid[])`;

const OF_SERIES = `
  select id, (extract(epoch from original_start) * 1000)::float8 as "startMs", status from event
  where account_id = $1 and master_event_id = $2 and original_start is not null and not released
  order by id for update`;

/**
 * Cancels all changed instances of a deleted series.
 * @returns the instances that were not cancelled before
 */
export function endInstances(
  sql: Sql,
  { accountId, id }: SeriesKey,
  at: Date,
): Promise<EndedInstance[]> {
  return sql.query<EndedInstance>(END, [accountId, id, at, null]);
}

/**
 * Adjusts the changed instances of a series after its times have changed. An instance is cancelled
 * if its original start is no longer a start of the series. If the whole series moves to another
 * time, this cancels every changed instance except those whose original start the moved series
 * still has. A deleted instance moves along and stays deleted (`movedRecurrence`). It comes back if
 * the change removed its EXDATE. All other instances stay as they are.
 * @returns the cancelled instances
 * @throws {InvalidInputError} if the rules take too long to expand
 */
export async function refitInstances(
  sql: Sql,
  { accountId, id }: SeriesKey,
  before: SeriesFields,
  after: SeriesFields,
  at: Date,
): Promise<EndedInstance[]> {
  const rows = await sql.query<RowOf<Event, 'id' | 'status'> & { startMs: number }>(OF_SERIES, [
    accountId,
    id,
  ]);
  if (rows.length === 0) return [];
  const starts = rows.map(({ startMs }) => startMs);
  const old = openedSeries(before);
  // A date never equals a time. If the series changed between all-day and timed, no instance is
  // kept.
  const same = isAllDay(before.when) === isAllDay(after.when);
  const kept = same ? startsAmong(openedSeries(after), starts) : new Set<number>();
  const [back, ended]: [string[], string[]] = [[], []];
  const moved: { id: string; at: Date }[] = [];
  const moves = movesOf(before, after);
  for (const { id: instance, startMs, status } of rows) {
    const target = status === 'cancelled' ? moves(startMs) : null;
    if (target !== null) moved.push({ id: instance, at: new Date(target) });
    else if (status !== 'cancelled' && !kept.has(startMs)) ended.push(instance);
    else if (status === 'cancelled' && kept.has(startMs) && old?.excludes(startMs))
      back.push(instance);
  }
  if (moved.length > 0)
    await sql.query(MOVE, [accountId, moved.map((one) => one.id), moved.map((one) => one.at)]);
  if (back.length > 0) await sql.query(RELEASE, [accountId, back]);
  return ended.length > 0 ? sql.query<EndedInstance>(END, [accountId, id, at, ended]) : [];
}

/**
 * Cancels the changed instances of a series that its new rules no longer contain, although its old
 * rules did: the provider has ended them. For providers that need not report such instances.
 * @param except ids of instances that stay
 * @returns the cancelled instances
 */
export async function endInstancesOutside(
  sql: Sql,
  { accountId, id }: SeriesKey,
  { before, after }: { before: SeriesFields; after: SeriesFields },
  except: ReadonlySet<string>,
  at: Date,
): Promise<EndedInstance[]> {
  const found = await sql.query<RowOf<Event, 'id' | 'status'> & { startMs: number }>(OF_SERIES, [
    accountId,
    id,
  ]);
  const rows = found.filter((row) => row.status !== 'cancelled' && !except.has(row.id));
  if (rows.length === 0) return [];
  const starts = rows.map(({ startMs }) => startMs);
  const [old, kept] = [startsIfCheap(before, starts), startsIfCheap(after, starts)];
  const ended = rows.filter(({ startMs }) => old.has(startMs) && !kept.has(startMs)).map(idOf);
  return ended.length > 0 ? sql.query<EndedInstance>(END, [accountId, id, at, ended]) : [];
}

/** Where the deleted instances of a moved series are after the move: at its exclusions. */
function movesOf(before: SeriesFields, after: SeriesFields): (startMs: number) => number | null {
  const [old, now] = [sourceOf(before), sourceOf(after)];
  if (!old || !now || firstStart(before.when) === firstStart(after.when)) return () => null;
  const series = openSeries(now);
  return (startMs) => {
    const target = movedStart(startMs, old, now);
    return target !== null && series.excludes(target) ? target : null;
  };
}

const idOf = ({ id }: { id: string }): string => id;

/** Rules that take too long to expand contain every start. */
function startsIfCheap(series: SeriesFields, startsMs: readonly number[]): Set<number> {
  try {
    return startsAmong(openedSeries(series), startsMs);
  } catch (error) {
    if (error instanceof InvalidInputError) return new Set(startsMs);
    throw error;
  }
}

function openedSeries({ when, recurrence }: SeriesFields): Series | undefined {
  return recurrence ? openSeries({ when, recurrence }) : undefined;
}

function startsAmong(series: Series | undefined, startsMs: readonly number[]): Set<number> {
  try {
    const found = series?.between(Math.min(...startsMs), Math.max(...startsMs) + 1) ?? [];
    return new Set(found.map(({ startMs }) => startMs));
  } catch (error) {
    if (error instanceof TooManyOccurrencesError)
      throw new InvalidInputError(`recurrence.rrule: ${error.message}`);
    throw error;
  }
}
