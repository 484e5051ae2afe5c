import { Injectable } from '@nestjs/common';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import type { Scope } from '../../platform/auth/scopes.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { findIcsInstances, ICS_COLUMNS, ICS_FROM, type IcsRow } from '../events/ics/ics-rows.ts';
import type { CalendarFeed } from './calendar-feed.entity.ts';
import type { Calendar } from '../calendars/calendar.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A calendar with the properties its feed shows. */
export interface FeedCalendar extends RowOf<
  Calendar,
  'accountId' | 'name' | 'description' | 'timezone'
> {
  calendarId: string;
  /** Changes whenever anything changes that the feed shows. */
  state: string;
}

/** Whether a calendar may still be published. */
export interface FeedAccess {
  /** Whether the operator has suspended the application. */
  suspended: boolean;
  /** Scopes of the grant, or else of its integration; `null` = every scope. */
  asked: Scope[] | null;
  /** Scopes that the user has agreed to; `null` = every scope. */
  agreed: Scope[] | null;
}

/** Start position of a page: behind this event. */
export interface FeedPosition {
  startsAt: Date;
  id: string;
}

/** Events of a calendar ordered by start, with the changed instances of each series. */
export interface FeedPage {
  events: IcsRow[];
  instances: Map<string, IcsRow[]>;
  /** Position of the next page; `null` if there are no more events. */
  next: FeedPosition | null;
}

const PAGE = 200;

const REPLACE = `
  insert into calendar_feed (id, account_id, calendar_id, hash, created_at) values ($1, $2, $3, $4, $5)
  on conflict (calendar_id) do update set hash = excluded.hash, created_at = excluded.created_at`;
const FIND =
  'select created_at as "createdAt" from calendar_feed where account_id = $1 and calendar_id = $2';
const REMOVE = 'delete from calendar_feed where account_id = $1 and calendar_id = $2 returning 1';

const ACCESS_COLUMNS =
  'a.suspended_at is not null as suspended, coalesce(g.scope, i.scope) as asked, g.granted_scope as agreed';
const ACCESS_FROM = `
  calendar_feed f
    join calendar c on c.id = f.calendar_id and not c.deleting
    join "grant" g on g.id = c.account_id and g.billing_state <> 'cancelled'
    join application a on a.id = g.application_id
    left join integration i on i.id = g.integration_id`;
const ACCESS_WHERE =
  'f.hash = $1 and (g.proof is not null or not coalesce(i.require_proven_address, false))';

const OPEN = `
  select c.id as "calendarId", c.account_id as "accountId", c.name, c.description, c.timezone,
    concat_ws('/', c.id, c.updated_at, s.events, s.changed, s.versions) as state, ${ACCESS_COLUMNS}
  from ${ACCESS_FROM}
    cross join lateral (
      select count(*) as events, max(e.updated_at) as changed, sum(e.version + e.sequence) as versions
      from event e where e.calendar_id = c.id) s
  where ${ACCESS_WHERE}`;
const ACCESS = `select ${ACCESS_COLUMNS} from ${ACCESS_FROM} where ${ACCESS_WHERE}`;

const EVENTS = `
  select ${ICS_COLUMNS} ${ICS_FROM}
  where e.calendar_id = $1 and e.account_id = $2 and e.status <> 'cancelled' and e.master_event_id is null
    and (e.ends_at >= $3 or e.recurrence is not null)
    and ($4::timestamptz is null or (e.starts_at, e.id) > ($4, $5::uuid))
  order by e.starts_at, e.id limit ${PAGE}`;

/** The account that owns a calendar. */
export type FeedOwner = Pick<AccountPrincipal, 'accountId' | 'applicationId'>;

function record(
  sql: Sql,
  { accountId, applicationId }: FeedOwner,
  calendarId: string,
  action: string,
): Promise<void> {
  const target = { type: 'calendar', id: calendarId };
  return recordAudit(sql, { action, target, applicationId, accountId });
}

@Injectable()
export class FeedsRepository {
  constructor(private readonly database: Database) {}

  /** Gives a calendar a new secret, which replaces the old one. */
  async replace(owner: FeedOwner, calendarId: string, hash: Buffer, at: Date): Promise<void> {
    await this.database.transaction(async (sql) => {
      await sql.query(REPLACE, [newId(), owner.accountId, calendarId, hash, at]);
      await record(sql, owner, calendarId, 'calendar-feed.create');
    });
  }

  async find(accountId: string, calendarId: string): Promise<{ createdAt: Date } | undefined> {
    return (
      await this.database.query<RowOf<CalendarFeed, 'createdAt'>>(FIND, [accountId, calendarId])
    )[0];
  }

  async remove(owner: FeedOwner, calendarId: string): Promise<void> {
    await this.database.transaction(async (sql) => {
      const removed = await sql.query(REMOVE, [owner.accountId, calendarId]);
      if (removed.length > 0) await record(sql, owner, calendarId, 'calendar-feed.remove');
    });
  }

  /** The calendar with this hash of the secret; `undefined` if there is none. */
  async open(hash: Buffer): Promise<(FeedCalendar & FeedAccess) | undefined> {
    return (await this.database.query<FeedCalendar & FeedAccess>(OPEN, [hash]))[0];
  }

  /** Who publishes at this hash of the secret; `undefined` if nobody does any more. */
  async access(hash: Buffer): Promise<FeedAccess | undefined> {
    return (await this.database.query<FeedAccess>(ACCESS, [hash]))[0];
  }

  /** A page of series and of events that end at or after `since`. */
  async page(
    { calendarId, accountId }: FeedCalendar,
    since: Date,
    after: FeedPosition | null,
  ): Promise<FeedPage> {
    const events = await this.database.query<IcsRow>(EVENTS, [
      calendarId,
      accountId,
      since,
      after?.startsAt ?? null,
      after?.id ?? null,
    ]);
    const series = events.filter(({ recurrence }) => recurrence !== null).map(({ id }) => id);
    const instances = await findIcsInstances(this.database, accountId, series);
    const last = events.length < PAGE ? undefined : events.at(-1);
    return {
      events,
      instances: Map.groupBy(instances, ({ masterEventId }) => masterEventId ?? ''),
      next: last ? { startsAt: last.startsAt, id: last.id } : null,
    };
  }
}
