import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { Calendar } from '../calendars/calendar.entity.ts';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { type EventRecord, eventRecord } from './event-record.ts';
import { Event } from './event.entity.ts';
import { EventInReadOnlyCalendarError, ReadOnlyEventError } from './events.errors.ts';
import { type InstanceName, instanceOf, readInstanceId } from './recurrence/instances.ts';
import { openSeries } from './recurrence/series.ts';

/*
 * Rows that a write holds until its transaction ends. Always in this order: the calendar, as those do who change a
 * calendar; the series; its instances.
 */

/** An event that may be changed, with its calendar. */
export interface HeldEvent {
  event: Event;
  calendar: Calendar;
}

/** An instance nobody has changed yet: it is what its series says, and has no row. */
export interface HeldInstance {
  series: Event;
  instance: EventRecord;
  calendar: Calendar;
}

/** A calendar that will neither go nor change; null: the account has none of this id. */
export async function holdCalendar(
  em: EntityManager,
  accountId: string,
  id: string,
): Promise<Calendar | null> {
  if (!isId(id)) return null;
  return em.findOne(
    Calendar,
    { id, account: accountId },
    { lockMode: LockMode.PESSIMISTIC_READ, refresh: true },
  );
}

/**
 * An event, or an instance of a series, held against every other change.
 * @param id also of an instance: `<series>_<original start>`
 * @throws {NotFoundError}
 * @throws {ReadOnlyEventError}
 * @throws {EventInReadOnlyCalendarError}
 */
export async function holdEvent(
  em: EntityManager,
  accountId: string,
  id: string,
): Promise<HeldEvent | HeldInstance> {
  const name = readInstanceId(id);
  if (!name) return holdById(em, accountId, id);
  const { event: series, calendar } = await holdById(em, accountId, name.masterId);
  const changed = await holdChanged(em, accountId, name);
  if (changed && !changed.released) return { event: changed, calendar };
  const instance = instanceIn(series, calendar, name);
  if (instance) return { series, instance, calendar };
  if (changed) return { event: changed, calendar };
  throw new NotFoundError('event', id);
}

/** The row of an instance; rather one that stands for it than one that is over. */
function holdChanged(
  em: EntityManager,
  accountId: string,
  { masterId, startMs }: InstanceName,
): Promise<Event | null> {
  return em.findOne(
    Event,
    { account: accountId, masterEventId: masterId, originalStart: new Date(startMs) },
    {
      orderBy: { released: 'asc', updatedAt: 'desc' },
      lockMode: LockMode.PESSIMISTIC_WRITE,
      refresh: true,
    },
  );
}

function instanceIn(
  series: Event,
  calendar: Calendar,
  { startMs }: InstanceName,
): EventRecord | undefined {
  const { recurrence } = series;
  if (series.status === 'cancelled' || !recurrence) return undefined;
  const occurrence = openSeries({ when: series.when, recurrence })?.at(startMs);
  return (
    occurrence &&
    instanceOf({ ...eventRecord(series), recurrence, zone: zoneOf(calendar) }, occurrence)
  );
}

async function holdById(em: EntityManager, accountId: string, id: string): Promise<HeldEvent> {
  const where = { id, account: accountId };
  const found = isId(id) ? await em.findOne(Event, where, { fields: ['calendar'] }) : null;
  const calendar = found && (await holdCalendar(em, accountId, found.calendar.id));
  const event =
    calendar &&
    (await em.findOne(Event, where, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true }));
  if (!calendar || !event) throw new NotFoundError('event', id);
  if (event.readOnly) throw new ReadOnlyEventError();
  if (calendar.readOnly) throw new EventInReadOnlyCalendarError();
  return { event, calendar };
}

/** The zone of all-day events. */
export function zoneOf(calendar: Calendar): string {
  return calendar.timezone ?? 'UTC';
}
