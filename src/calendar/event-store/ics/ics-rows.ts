import type { Sql } from '../../../platform/database/sql.ts';
import type { Participant } from '../event-values.ts';
import { selected, SHOWN_FIELDS } from '../event-columns.ts';
import type { EventRecord } from '../event-record.ts';
import type { IcsEvent } from './ics-writer.ts';

const ROW_FIELDS = [
  ...SHOWN_FIELDS, 'id', 'updatedAt', 'startsAt', 'participants', 'organizerEmail', 'organizerName', 'masterEventId',
  'originalStart',
] as const; // prettier-ignore

/** An event as files of it are made from it. */
export interface IcsRow extends Pick<EventRecord, (typeof ROW_FIELDS)[number]> {
  /** Of a changed instance: at least that of its series. Null: the provider does not have it yet. */
  icalUid: string | null;
  sequence: number;
}

/** Columns of an `IcsRow`, of `event e` left joined with its series, `event m`. */
export const ICS_COLUMNS = `
  coalesce(e.ical_uid, m.ical_uid) as "icalUid", e.sequence, ${selected(ROW_FIELDS)}`;

/** Where `ICS_COLUMNS` come from. */
export const ICS_FROM =
  'from event e left join event m on m.id = e.master_event_id and m.account_id = e.account_id';

const FIND = `select ${ICS_COLUMNS} ${ICS_FROM} where e.account_id = $1 and e.id = any($2::uuid[])`;

/** Instances of one series that were changed by themselves; more of them are left out of files. */
const MOST_INSTANCES = 500;
const INSTANCES = `
  select i.* from unnest($2::uuid[]) s(id), lateral (
    select ${ICS_COLUMNS} ${ICS_FROM}
    where e.account_id = $1 and e.master_event_id = s.id and e.original_start is not null and not e.released
    order by e.original_start limit ${MOST_INSTANCES}) i`;

/** Events of an account by their ids, in no order. */
export function findIcsRows(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<IcsRow[]> {
  return sql.query<IcsRow>(FIND, [accountId, ids]);
}

/** The instances of these series that were changed or cancelled by themselves, by original start. */
export function findIcsInstances(
  sql: Sql,
  accountId: string,
  seriesIds: readonly string[],
): Promise<IcsRow[]> {
  return seriesIds.length === 0
    ? Promise.resolve([])
    : sql.query<IcsRow>(INSTANCES, [accountId, seriesIds]);
}

/** What a file says of everybody. */
export interface IcsPeople {
  organizer: IcsEvent['organizer'];
  attendeesOf(row: IcsRow): readonly Participant[];
  rsvp?: boolean;
}

/**
 * The VEVENTs of an event: of a series also those of its changed instances; cancelled ones are left out by EXDATE.
 * @param uid of all of them
 * @param series of an instance: its series, if it is known
 * @param stampOf DTSTAMP of each; default: when it was last changed
 */
export function icsEventsOf(
  row: IcsRow,
  instances: readonly IcsRow[],
  { uid, series, people, stampOf }: {
    uid: string;
    series?: IcsRow | undefined;
    people: IcsPeople;
    stampOf?: (row: IcsRow) => Date;
  }, // prettier-ignore
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
