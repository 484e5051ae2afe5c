import { type GraphContext } from '../graph/context.ts';
import { assertId } from '../graph/item-ids.ts';
import type { PathValues } from '../http/routes.ts';
import { graphErrors } from '../http/types.ts';
import type { Instance, StoredCalendar, StoredEvent } from './event.ts';
import type { EventForm } from './event-json.ts';
import { zoneOf } from './zones.ts';

/** The calendar of a path, or the default one. @throws {GraphError} 404 or 400 */
export function calendarIn({ user }: GraphContext, { calendar }: PathValues): StoredCalendar {
  if (calendar === undefined) return user.calendars.defaultCalendar;
  const found = user.calendars.calendars.get(calendar);
  if (found) return found;
  assertId(calendar);
  throw graphErrors.itemNotFound();
}

/** What the id of a path names: an event or series, or an instance of a series. */
export interface FoundEvent {
  /** The single event, series or exception; for an occurrence its series. */
  event: StoredEvent;
  /** Only for occurrences and exceptions. */
  instance?: Instance;
}

/** The event of a path. @throws {GraphError} 404 or 400 */
export function eventIn(context: GraphContext, values: PathValues): FoundEvent {
  const { event: id = '' } = values;
  const { calendars } = context.user;
  const event = calendars.event(id);
  const instance = event ? undefined : calendars.instance(id);
  const found = event ?? instance?.event;
  const calendarId = values['calendar'] === undefined ? null : calendarIn(context, values).id;
  if (!found || (calendarId !== null && found.calendarId !== calendarId)) {
    assertId(id);
    throw graphErrors.itemNotFound();
  }
  return { event: found, ...(instance ? { instance } : {}) };
}

/** How the request wants events to be shown. @throws {GraphError} 400 for an unknown zone */
export function eventForm({ form, prefer }: GraphContext): EventForm {
  const zone = prefer.get('outlook.timezone') ?? 'UTC';
  zoneOf(zone);
  return { ...form, zone };
}
