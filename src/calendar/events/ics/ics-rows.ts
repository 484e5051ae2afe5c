import type { Sql } from '../../../platform/database/sql.ts';
import type { Participant } from '../event-values.ts';
import { selected, SHOWN_FIELDS } from '../event-columns.ts';
import type { EventRecord } from '../event-record.ts';
import type { IcsEvent } from './ics-writer.ts';
import type { Event } from '../event.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

const ROW_FIELDS = [
  ...SHOWN_FIELDS,
  'id',
  'updatedAt',
  'startsAt',
  'participants',
  'organizerEmail',
  'organizerName',
  'masterEventId',
  'originalStart',
] as const;

/** The fields of an event that its calendar file is written from. */
export interface IcsRow
  extends Pick<EventRecord, (typeof ROW_FIELDS)[number]>, RowOf<Event, 'sequence'> {
  /**
   * The UID of the event. For a changed instance without one, the UID of its series. `null` if the
   * provider does not have the event yet.
   */
  icalUid: string | null;
}

/** Columns of an `IcsRow`, from `event e` left joined with its series, `event m`. */
export const ICS_COLUMNS = `
  coalesce(e.ical_uid, m.ical_uid) as "icalUid", e.sequence, ${selected(ROW_FIELDS)}`;

/** FROM clause for `ICS_COLUMNS`. */
export const ICS_FROM =
  'from event e left join event m on m.id = e.master_event_id and m.account_id = e.account_id';

const FIND = `select ${ICS_COLUMNS} ${ICS_FROM} where e.account_id = $1 and e.id = any($2::uuid[])`;

/** Most changed instances of one series; a file leaves out the others. */
const MOST_INSTANCES = 500;
const INSTANCES = `
  select i.* from unnest($2::uuid[]) s(id), lateral (
    select ${ICS_COLUMNS} ${ICS_FROM}
    where e.account_id = $1 and e.master_event_id = s.id and e.original_start is not null and not e.released
    order by e.original_start limit ${MOST_INSTANCES}) i`;

/** Events of an account by their ids, in no particular order. */
export function findIcsRows(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<IcsRow[]> {
  return sql.query<IcsRow>(FIND, [accountId, ids]);
}

/**
 * The instances of these series that were changed or cancelled on their own, ordered by original
 * start.
 */
export function findIcsInstances(
  sql: Sql,
  accountId: string,
  seriesIds: readonly string[],
): Promise<IcsRow[]> {
  return seriesIds.length === 0
    ? Promise.resolve([])
    : sql.query<IcsRow>(INSTANCES, [accountId, seriesIds]);
}

/** The people that a file names. */
export interface IcsPeople {
  organizer: IcsEvent['organizer'];
  attendeesOf(row: IcsRow): readonly Participant[];
  rsvp?: boolean;
}

/**
 * The VEVENTs of an event. A series also gets the VEVENTs of its changed instances, and an EXDATE
 * for each cancelled instance.
 * @param uid UID of all VEVENTs
 * @param series the series of an instance, if known
 * @param stampOf gives the DTSTAMP of each VEVENT; default: when the event was last changed
 */
export function icsEventsOf(
  row: IcsRow,
  instances: readonly IcsRow[],
  {
    uid,
    series,
    people,
    stampOf,
  }: {
    uid: string;
    series?: IcsRow | undefined;
    people: IcsPeople;
    stampOf?: (row: IcsRow) => Date;
  },
): IcsEvent[] {
  const one = (event: IcsRow, of: IcsRow | null): IcsEvent => ({
    event,
    uid,
    sequence: event.sequence,
    stamp: stampOf?.(event) ?? event.updatedAt,
    organizer: people.organizer,
    attendees: people.attendeesOf(event),
    rsvp: people.rsvp ?? false,
    instance: event.originalStart ? { originalStart: event.originalStart, series: of } : null,
  });
  const isCancelled = ({ status }: IcsRow) => status === 'cancelled';
  const leftOut = instances.filter(isCancelled).flatMap(({ originalStart }) => originalStart ?? []);
  return [
    { ...one(row, series ?? null), leftOut: row.recurrence ? leftOut : [] },
    ...instances.filter((instance) => !isCancelled(instance)).map((instance) => one(instance, row)),
  ];
}
