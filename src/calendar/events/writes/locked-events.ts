import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { Calendar } from '../../calendars/calendar.entity.ts';
import { NotFoundError } from '../../../platform/base/errors/domain-error.ts';
import { isId } from '../../../platform/base/ids/ids.ts';
import { type EventRecord, eventRecord } from '../event-record.ts';
import { Event } from '../event.entity.ts';
import { EventInReadOnlyCalendarError } from '../events.errors.ts';
import { type InstanceName, instanceOf, readInstanceId } from '../recurrence/instances.ts';
import { openSeries } from '../../../formats/recurrence/series.ts';

/*
 * Locks the rows of a change until its transaction ends. The order is always: the calendar, the
 * series, its instances. Changes of a calendar lock the calendar first as well, so that no deadlock
 * arises.
 */

/** An event that may be changed, with its calendar. */
export interface LockedEvent {
  event: Event;
  calendar: Calendar;
}

/** An instance that has never been changed on its own. It has no row; its series describes it. */
export interface LockedInstance {
  series: Event;
  instance: EventRecord;
  calendar: Calendar;
}

/**
 * Locks a calendar against changes and deletion; `null` if the account has no calendar with this
 * id.
 */
export async function lockCalendarById(
  em: EntityManager,
  accountId: string,
  id: string,
): Promise<Calendar | null> {
  if (!isId(id)) return null;
  return em.findOne(
    Calendar,
    { id, account: accountId, deleting: false },
    { lockMode: LockMode.PESSIMISTIC_READ, refresh: true },
  );
}

/**
 * Locks an event, or an instance of a series, against every other change.
 * @param id of an event, or of an instance: `<series>_<original start>`
 * @throws {NotFoundError}
 * @throws {EventInReadOnlyCalendarError}
 */
export async function lockEvent(
  em: EntityManager,
  accountId: string,
  id: string,
): Promise<LockedEvent | LockedInstance> {
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

/** The row of an instance. A row that counts is preferred to one that is `released`. */
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
  const occurrence = openSeries({ when: series.when, recurrence }).at(startMs);
  return (
    occurrence &&
    instanceOf({ ...eventRecord(series), recurrence, zone: zoneOf(calendar) }, occurrence)
  );
}

async function holdById(em: EntityManager, accountId: string, id: string): Promise<LockedEvent> {
  const where = { id, account: accountId };
  const found = isId(id) ? await em.findOne(Event, where, { fields: ['calendar'] }) : null;
  const calendar = found && (await lockCalendarById(em, accountId, found.calendar.id));
  const event =
    calendar &&
    (await em.findOne(Event, where, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true }));
  if (!calendar || !event) throw new NotFoundError('event', id);
  if (calendar.readOnly) throw new EventInReadOnlyCalendarError();
  return { event, calendar };
}

/** The zone of all-day events: the calendar's zone, or UTC if it has none. */
export function zoneOf(calendar: Calendar): string {
  return calendar.timezone ?? 'UTC';
}
