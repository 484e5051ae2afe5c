import { Injectable } from '@nestjs/common';
import type { Scope } from '../../platform/auth/scopes.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { fromUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import { Database } from '../../platform/database/sql.ts';
import { ANSWERED_OR_GROUP, LAST_DAY, SHORT_TIME } from '../events/time-taken.sql.ts';
import { VIRTUAL_PROVIDER } from '../../providers/port/provider-name.ts';
import type { Span } from './spans.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';
import type { Event } from '../events/event.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/**
 * A calendar of an account of the application. An account without calendars has one row with
 * `calendarId` null.
 */
export interface KnownCalendar extends RowOf<Grant, 'email'> {
  accountId: string;
  /** Requested scopes of the account, restricted by `agreed` (see `AccountPrincipal.scopes`). */
  asked: Scope[] | null;
  agreed: Scope[] | null;
  calendarId: string | null;
  /**
   * True if times in the calendar are the account's own: it may write to the calendar, it is the
   * primary calendar, or it holds invitations from mail.
   */
  isOwn: boolean;
  /**
   * True if the account can be found by its address: the address is proven, or only the application
   * can have set it (ADR 0056).
   */
  answers: boolean;
}

/** Busy times of single events, as parallel lists: equal indexes belong to one event. */
export interface BusyTimes {
  /** Twice the index of the calendar in the query, plus 1 if the event is tentative. */
  places: number[];
  /** Unix seconds. */
  starts: number[];
  ends: number[];
}

/** A group event that can be joined: its capacity is not used up. */
export interface BusyGroup extends Span {
  /** As in `BusyTimes.places`. */
  place: number;
  eventId: string;
  taken: number;
  capacity: number;
}

/** A recurring event that may have instances in the requested range. */
export interface BusySeries extends RowOf<Event, 'capacity'> {
  /** As in `BusyTimes.places`. */
  place: number;
  eventId: string;
  taken: number;
  /** `When` and `Recurrence`, as JSON. */
  when: string;
  recurrence: string;
  /** Time zone for all-day events. */
  zone: string;
  /** Original starts of the changed instances, in Unix milliseconds; `null` if there are none. */
  replaced: number[] | null;
}

/** The accounts, calendars and time range to read. */
export interface BusyQuery {
  accountIds: readonly string[];
  calendarIds: readonly string[];
  range: Span;
}

/** Most single events and most recurring events in one response. */
const MOST_EVENTS = 200_000;
const MOST_SERIES = 20_000;

class TooManyEventsError extends InvalidInputError {
  constructor(most: number, kind: string) {
    super(
      `emails: these people have more than ${most} ${kind} together; ask for fewer people or a shorter time`,
    );
  }
}

const CALENDARS = `
  select g.id as "accountId", g.email, coalesce(g.scope, i.scope) as asked, g.granted_scope as agreed,
    c.id as "calendarId", coalesce(c.is_primary or not c.read_only or c.is_emailed, false) as "isOwn",
    g.proof is not null or g.provider = '${VIRTUAL_PROVIDER}' as answers
  from "grant" g
  left join integration i on i.id = g.integration_id
  left join calendar c on c.account_id = g.id and not c.deleting
  where g.application_id = $1 and (g.email = any($2::text[]) or g.id = any($3::uuid[]))
  order by g.id, c.id`;

// If the owner of a calendar has declined an event, the time is free. An event that only came by
// mail takes no time until its owner responds `yes` or `maybe`: anyone can send an invitation.
const ASKED = `
  asked as materialized (
    select c.id as calendar_id, c.account_id, coalesce(c.timezone, 'UTC') as zone, c.is_emailed as mailed, 2 * (w.number - 1) as place,
      jsonb_build_array(jsonb_build_object('email', g.email, 'status', 'no')) as declined,
      jsonb_build_array(jsonb_build_object('email', g.email, 'status', 'maybe')) as unsure,
      jsonb_build_array(jsonb_build_object('email', g.email, 'status', 'yes')) as accepted
    from unnest($1::uuid[]) with ordinality w(id, number) join calendar c on c.id = w.id join "grant" g on g.id = c.account_id
    where c.account_id = any($2::uuid[]))`;
const ATTENDED = `
  not e.participants @> a.declined and (not a.mailed or e.participants @> a.accepted or e.participants @> a.unsure)`;
const TENTATIVE = `(e.status = 'tentative' or e.participants @> a.unsure)`;

/**
 * Events of up to a week. Longer ones have an index of their own; no other event that began more
 * than a week before the range can reach into it.
 */
const SHORT = `
  recurrence is null and ${SHORT_TIME}
  and starts_at < $4 and starts_at > $3::timestamptz - interval '7 days' and ends_at > $3`;
// `offset 0` keeps the planner from merging this subquery: it cannot estimate how few rows there
// are.
const longWhere = (condition: string): string => `
  (select * from event where calendar_id = a.calendar_id and ends_at - starts_at > interval '7 days'
     and busy and status <> 'cancelled' and starts_at < $4 and ${condition} offset 0)`;
const SHOWN = `
  a.place + ${TENTATIVE}::int as place, e.starts_at, e.ends_at, e.id, e.capacity,
  case when e.capacity > 0 then jsonb_array_length(e.participants) end as taken`;
const SECONDS = (column: string): string => `date_part('epoch', ${column})::bigint`;

// Events without a `no` or `maybe` response and without a capacity are read from a covering index
// alone. The other events are few.
const SINGLES = `
  with ${ASKED},
  others as (
    select ${SHOWN} from asked a join event e on e.calendar_id = a.calendar_id
    where ${SHORT} and ${ANSWERED_OR_GROUP} and ${ATTENDED}
    union all
    select ${SHOWN} from asked a join event e on e.calendar_id = a.calendar_id
    where a.mailed and ${SHORT} and not ${ANSWERED_OR_GROUP} and ${ATTENDED}
    union all
    select ${SHOWN} from asked a cross join lateral ${longWhere('recurrence is null and ends_at > $3')} e
    where ${ATTENDED}
    limit ${MOST_EVENTS + 1}),
  found as (
    select a.place + (e.status = 'tentative')::int as place, e.starts_at, e.ends_at
    from asked a join event e on e.calendar_id = a.calendar_id
    where not a.mailed and ${SHORT} and not ${ANSWERED_OR_GROUP}
    union all
    select place, starts_at, ends_at from others where (taken < capacity) is not true
    limit ${MOST_EVENTS + 1})
  select coalesce(json_agg(place), '[]') as places, coalesce(json_agg(${SECONDS('starts_at')}), '[]') as starts,
    coalesce(json_agg(${SECONDS('ends_at')}), '[]') as ends,
    (select coalesce(json_agg(json_build_object('place', place, 'eventId', id, 'taken', taken, 'capacity', capacity,
       'start', ${SECONDS('starts_at')}, 'end', ${SECONDS('ends_at')})), '[]') from others where taken < capacity) as groups
  from found`;

const SERIES_COLUMNS = `
  a.place + ${TENTATIVE}::int as place, e.id as "eventId", e.capacity,
  case when e.capacity > 0 then jsonb_array_length(e.participants) else 0 end as taken,
  e.when_value::text as "when", e.recurrence::text as recurrence, a.zone,
  (select json_agg(date_part('epoch', i.original_start) * 1000) from event i
   where i.master_event_id = e.id and i.account_id = a.account_id and not i.released
     and i.original_start < $4::timestamptz + interval '2 days'
     and i.original_start > $3::timestamptz - (e.ends_at - e.starts_at) - interval '2 days') as replaced`;

/** Instances of a series may begin up to a day away from their UTC date. */
const SERIES = `
  with ${ASKED}
  select ${SERIES_COLUMNS} from asked a join event e on e.calendar_id = a.calendar_id
  where recurrence is not null and ${SHORT_TIME} and starts_at < $4 and ${ATTENDED}
    and ${LAST_DAY} >= to_char(($3::timestamptz - interval '9 days') at time zone 'UTC', 'YYYYMMDD')
  union all
  select ${SERIES_COLUMNS} from asked a cross join lateral ${longWhere('recurrence is not null')} e
  where ${ATTENDED}
  limit ${MOST_SERIES + 1}`;

const LAST_MEETINGS = `
  select p.email, max(date_part('epoch', e.starts_at)::bigint) as at
  from event e
  join "grant" g on g.id = e.account_id
  cross join lateral (
    select one ->> 'email' as email from jsonb_array_elements(e.participants) one
    where one ->> 'email' = any($3::text[])
    union all
    select g.email where not exists (
      select 1 from jsonb_array_elements(e.participants) one where one ->> 'email' = any($3::text[]))) p
  where e.account_id = any($1::uuid[]) and e.event_collection_id = $2 and e.status <> 'cancelled'
  group by p.email`;

/** Reads busy times. Never reads titles or other details of events. */
@Injectable()
export class BusyRepository {
  constructor(private readonly database: Database) {}

  /** Calendars of the application's accounts that have one of the addresses or ids. */
  listCalendars(
    applicationId: string,
    emails: readonly string[],
    accountIds: readonly string[],
  ): Promise<KnownCalendar[]> {
    return this.database.query<KnownCalendar>(CALENDARS, [applicationId, emails, accountIds]);
  }

  /**
   * Single events that overlap the range.
   * @throws {TooManyEventsError}
   */
  async listSingles(query: BusyQuery): Promise<{ times: BusyTimes; groups: BusyGroup[] }> {
    const [row] = await this.database.query<BusyTimes & { groups: BusyGroup[] }>(
      SINGLES,
      valuesOf(query),
    );
    const { groups = [], places = [], starts = [], ends = [] } = row ?? {};
    if (places.length + groups.length > MOST_EVENTS)
      throw new TooManyEventsError(MOST_EVENTS, 'events in this range');
    return { times: { places, starts, ends }, groups };
  }

  /**
   * Series that begin before the range ends and do not end long before the range begins.
   * @throws {TooManyEventsError}
   */
  async listSeries(query: BusyQuery): Promise<BusySeries[]> {
    const series = await this.database.query<BusySeries>(SERIES, valuesOf(query));
    if (series.length > MOST_SERIES) throw new TooManyEventsError(MOST_SERIES, 'recurring events');
    return series;
  }

  /**
   * Start of the latest meeting of a collection for each address, in Unix seconds; addresses
   * without a meeting are absent. A meeting counts for those of the addresses that are
   * participants, or for its account if none is.
   */
  async lastMeetings(
    accountIds: readonly string[],
    collectionId: string,
    emails: readonly string[],
  ): Promise<Map<string, number>> {
    const rows = await this.database.query<{ email: string; at: number }>(LAST_MEETINGS, [
      accountIds,
      collectionId,
      emails,
    ]);
    return new Map(rows.map(({ email, at }) => [email, at]));
  }
}

const valuesOf = ({ calendarIds, accountIds, range }: BusyQuery): unknown[] => [
  calendarIds,
  accountIds,
  fromUnixSeconds(range.start),
  fromUnixSeconds(range.end),
];
