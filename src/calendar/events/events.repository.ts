import { Injectable } from '@nestjs/common';
import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { type Listing, runListing } from '../../platform/database/listing.ts';
import { addMetadataCondition } from '../../platform/database/metadata-filter.ts';
import { ReadDatabase } from '../../platform/database/replicas/read-database.ts';
import { Database } from '../../platform/database/sql.ts';
import { RECORD_FIELDS, selected } from './event-columns.ts';
import type { EventFilter, EventQuery } from './event-query.ts';
import type { EventRecord } from './event-record.ts';
import { readInstanceId } from './recurrence/instances.ts';
import type { Event } from './event.entity.ts';
import type { RowOf, NotNull } from '../../platform/database/rows/row-of.ts';

const COLUMNS = selected(RECORD_FIELDS);

/**
 * The length of JSON, which PostgreSQL only knows after it has written it out. JSON that is stored
 * with at most 2 kB, and not compressed, counts as nothing: measuring it takes a tenth of the time
 * of a page.
 */
const jsonBytes = (column: string) =>
  `case when pg_column_size(${column}) > 2000 or pg_column_compression(${column}) is not null
    then octet_length(${column}::text) else 0 end`;

/** Size of an event in bytes. Reminders and participants can have megabytes. */
const BYTES = [
  ...['title', 'description', 'location'].map((text) => `octet_length(e.${text})`),
  ...['notifications', 'participants', 'recurrence'].map((json) => jsonBytes(`e.${json}`)),
].join(' + ');

/** The events of a calendar that is being deleted are not shown. All of them are cancelled. */
const SHOWN = `not exists (select 1 from calendar d where d.id = e.calendar_id and d.deleting)`;

const FIND = `
  select ${COLUMNS} from event e where e.id = $1 and e.account_id = $2 and (e.status <> 'cancelled' or ${SHOWN})`;

const LISTED = {
  columns: COLUMNS,
  from: 'event e',
  id: 'e.id',
  bytes: BYTES,
  orderBy: 'e.starts_at, e.id',
};

/** A recurring event, with everything needed to compute its instances. */
export interface SeriesRecord
  extends Omit<EventRecord, 'recurrence'>, NotNull<RowOf<Event, 'recurrence'>> {
  /** Zone of all-day events: the calendar's zone, or UTC if it has none. */
  zone: string;
  /**
   * Original starts of the instances that were changed or cancelled on their own, in Unix
   * milliseconds.
   */
  replaced: number[];
}

const SERIES_COLUMNS = `
  coalesce((select c.timezone from calendar c where c.id = e.calendar_id), 'UTC') as zone,
  (select coalesce(array_agg((extract(epoch from i.original_start) * 1000)::float8), '{}')
   from event i where i.account_id = e.account_id and i.master_event_id = e.id and i.original_start is not null
     and not i.released) as replaced`;

const FIND_SERIES = `
  select ${COLUMNS}, ${SERIES_COLUMNS} from event e
  where e.id = $1 and e.account_id = $2 and e.recurrence is not null and (e.status <> 'cancelled' or ${SHOWN})`;
const FIND_INSTANCE = `
  select ${COLUMNS}, e.released from event e
  where e.account_id = $1 and e.master_event_id = $2 and e.original_start = $3
    and (e.status <> 'cancelled' or ${SHOWN})
  order by e.released, e.updated_at desc limit 1`;

/** Limit for one request. No known account has that many series. */
const MOST_SERIES = 2_000;

class TooManySeriesError extends InvalidInputError {
  constructor() {
    super(
      `expand_recurring: more than ${MOST_SERIES} recurring events match; narrow the list with calendar_id or another filter`,
    );
  }
}

/**
 * When an account moves to another mailbox, the change log records these events as deleted. Their
 * rows are deleted together with their calendars.
 */
export const EVENTS_OF_ACCOUNT: AccountListener = {
  visibleObjects: [
    `select id, 'event' as object from event where account_id = $1 and status <> 'cancelled'`,
  ],
};

@Injectable()
export class EventsRepository {
  constructor(
    private readonly database: Database,
    private readonly reads: ReadDatabase,
  ) {}

  async find(accountId: string, id: string): Promise<EventRecord | undefined> {
    return (await this.database.query<EventRecord>(FIND, [id, accountId]))[0];
  }

  /**
   * Events that take place once: single events, and instances that were changed on their own.
   * Ordered by start, at most `most`.
   */
  async listSingle(accountId: string, filter: EventFilter, most: number): Promise<EventRecord[]> {
    const conditions = new Conditions();
    conditions.add(`e.account_id = ${conditions.value(accountId)} and e.recurrence is null`);
    addFilters(conditions, filter);
    addTimeFilters(conditions, filter);
    const listing = await runListing<EventRecord>(this.reads, {
      ...LISTED,
      conditions,
      page: { limit: most, offset: 0 },
    });
    return listing.view === 'items' ? listing.items : [];
  }

  /**
   * Series that begin before an instant, with everything needed to compute their instances.
   * @throws {InvalidInputError} if more than 2,000 series match
   */
  async listSeries(accountId: string, filter: EventFilter, before: Date): Promise<SeriesRecord[]> {
    const conditions = new Conditions();
    conditions.add(`e.account_id = ${conditions.value(accountId)} and e.recurrence is not null`);
    conditions.add(`e.starts_at < ${conditions.value(before)}`);
    addFilters(conditions, filter);
    const listing = await runListing<SeriesRecord>(this.reads, {
      ...LISTED,
      columns: `${COLUMNS}, ${SERIES_COLUMNS}`,
      conditions,
      page: { limit: MOST_SERIES + 1, offset: 0 },
    });
    const series = listing.view === 'items' ? listing.items : [];
    if (series.length > MOST_SERIES) throw new TooManySeriesError();
    return series;
  }

  async findSeries(accountId: string, id: string): Promise<SeriesRecord | undefined> {
    return (await this.database.query<SeriesRecord>(FIND_SERIES, [id, accountId]))[0];
  }

  /**
   * The row of an instance that was changed on its own. A row that counts is preferred to one that
   * is `released`.
   * @param originalStart when the instance would have begun without the change
   */
  async findInstance(
    accountId: string,
    masterId: string,
    originalStart: Date,
  ): Promise<(EventRecord & { released: boolean }) | undefined> {
    const key = [accountId, masterId, originalStart];
    return (
      await this.database.query<EventRecord & RowOf<Event, 'released'>>(FIND_INSTANCE, key)
    )[0];
  }

  /**
   * Returns those of the given events that the account has, in no particular order.
   * @param options.listed true to leave out cancelled and released events; default: false
   * @throws {PageTooLargeError}
   */
  async findMany(
    accountId: string,
    ids: readonly string[],
    { listed = false } = {},
  ): Promise<EventRecord[]> {
    const conditions = new Conditions();
    conditions.add(`e.account_id = ${conditions.value(accountId)}`);
    conditions.add(`e.id = any(${conditions.value(ids)}::uuid[])`);
    if (listed) conditions.add(`e.status <> 'cancelled' and not e.released`);
    const page = { limit: ids.length, offset: 0 };
    const listing = await runListing<EventRecord>(this.database, { ...LISTED, conditions, page });
    return listing.view === 'items' ? listing.items : [];
  }

  /** Lists events by start, earliest first. A recurring event appears once. */
  list(accountId: string, query: EventQuery): Promise<Listing<EventRecord>> {
    const conditions = new Conditions();
    conditions.add(`e.account_id = ${conditions.value(accountId)}`);
    addFilters(conditions, query);
    addTimeFilters(conditions, query);
    return runListing<EventRecord>(this.reads, {
      ...LISTED,
      conditions,
      page: query,
      view: query.view,
    });
  }
}

/** Adds a condition for every filter that is given. Comparisons of times are strict. */
function addFilters(conditions: Conditions, filter: EventFilter): void {
  conditions.add(`(e.status <> 'cancelled' or (${SHOWN} and ${cancelledToShow(filter)}))`);
  const { calendarId, eventId, updatedAfter } = filter;
  if (calendarId !== undefined)
    conditions.add(isId(calendarId) ? `e.calendar_id = ${conditions.value(calendarId)}` : 'false');
  if (eventId !== undefined) addIdFilter(conditions, eventId);
  for (const column of ['title', 'description', 'location'] as const) {
    const part = filter[column];
    if (part !== undefined)
      conditions.add(`e.${column} ilike ${conditions.value(containing(part))}`);
  }
  if (filter.participant !== undefined) {
    const value = conditions.value(filter.participant);
    conditions.add(
      `exists (select 1 from jsonb_array_elements(e.participants) p
               where lower(${value}) in (lower(p ->> 'email'), lower(p ->> 'name'), p ->> 'status', p ->> 'phone_number'))`,
    );
  }
  if (filter.busy !== undefined) conditions.add(`e.busy = ${conditions.value(filter.busy)}`);
  if (filter.customerEventId !== undefined)
    conditions.add(`e.customer_event_id = ${conditions.value(filter.customerEventId)}`);
  addComparisons(conditions, [
    ['e.updated_at <', filter.updatedBefore],
    // Clients see whole seconds, so "after a second" means from the next second on.
    ['e.updated_at >=', updatedAfter && new Date(updatedAfter.getTime() + 1000)],
  ]);
  if (filter.metadata) addMetadataCondition(conditions, 'e.metadata', filter.metadata);
}

/** SQL condition: which cancelled events are listed. */
function cancelledToShow({ showCancelled, expandRecurring }: EventFilter): string {
  if (showCancelled) return 'true';
  // Clients that expand the rules themselves need to know which instances do not take place.
  return expandRecurring ? 'false' : '(e.master_event_id is not null and not e.released)';
}

/** Matches an event by its id, or a changed instance by the id it had before the change. */
function addIdFilter(conditions: Conditions, id: string): void {
  const name = isId(id) ? undefined : readInstanceId(id);
  if (isId(id)) conditions.add(`e.id = ${conditions.value(id)}`);
  else if (!name) conditions.add('false');
  else
    conditions.add(
      `e.master_event_id = ${conditions.value(name.masterId)} and e.original_start = ${conditions.value(new Date(name.startMs))} and not e.released`,
    );
}

/**
 * Filters events by their own start and end. A list that expands series checks each instance
 * separately.
 */
function addTimeFilters(conditions: Conditions, filter: EventFilter): void {
  addComparisons(conditions, [
    ['e.starts_at <', filter.startsBefore],
    ['e.starts_at >', filter.startsAfter],
    ['e.ends_at <', filter.endsBefore],
    ['e.ends_at >', filter.endsAfter],
  ]);
}

function addComparisons(
  conditions: Conditions,
  comparisons: readonly (readonly [comparison: string, instant: Date | undefined])[],
): void {
  for (const [comparison, instant] of comparisons) {
    if (instant) conditions.add(`${comparison} ${conditions.value(instant)}`);
  }
}

/** A LIKE pattern for texts that contain `part`; wildcards in `part` are escaped. */
function containing(part: string): string {
  return `%${part.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
}
