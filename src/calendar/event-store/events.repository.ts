import { Injectable } from '@nestjs/common';
import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { type Listing, runListing } from '../../platform/database/listing.ts';
import { addMetadataCondition } from '../../platform/database/metadata-filter.ts';
import { Database } from '../../platform/database/sql.ts';
import { RECORD_FIELDS, selected } from './event-columns.ts';
import type { EventFilter, EventQuery } from './event-query.ts';
import type { EventRecord } from './event-record.ts';
import type { Recurrence } from './event-values.ts';
import { readInstanceId } from './recurrence/instances.ts';

const COLUMNS = selected(RECORD_FIELDS);

/** Reminders and participants can hold megabytes; the length of JSON is only known when it is read. */
const BYTES = `
  octet_length(e.title) + octet_length(e.description) + octet_length(e.location) + octet_length(e.notifications::text) + octet_length(e.participants::text)
  + coalesce(octet_length(e.recurrence::text), 0)`;

const FIND = `select ${COLUMNS} from event e where e.id = $1 and e.account_id = $2`;

const LISTED = {
  columns: COLUMNS,
  from: 'event e',
  id: 'e.id',
  bytes: BYTES,
  orderBy: 'e.starts_at, e.id',
};

/** A recurring event, with what is needed to tell its times. */
export interface SeriesRecord extends EventRecord {
  recurrence: Recurrence;
  /** Of all-day events: the calendar's, or UTC. */
  zone: string;
  /** When instances would have begun that were changed or cancelled by themselves; Unix milliseconds. */
  replaced: number[];
}

const SERIES_COLUMNS = `
  coalesce((select c.timezone from calendar c where c.id = e.calendar_id), 'UTC') as zone,
  (select coalesce(array_agg((extract(epoch from i.original_start) * 1000)::float8), '{}')
   from event i where i.account_id = e.account_id and i.master_event_id = e.id and i.original_start is not null
     and not i.released) as replaced`;

const FIND_SERIES = `
  select ${COLUMNS}, ${SERIES_COLUMNS} from event e where e.id = $1 and e.account_id = $2 and e.recurrence is not null`;
const FIND_INSTANCE = `
  select ${COLUMNS}, e.released from event e
  where e.account_id = $1 and e.master_event_id = $2 and e.original_start = $3
  order by e.released, e.updated_at desc limit 1`;

/** More than anybody has, and than one request should work out. */
const MOST_SERIES = 2_000;

class TooManySeriesError extends InvalidInputError {
  constructor() {
    super(
      `expand_recurring: more than ${MOST_SERIES} recurring events match; narrow it by calendar_id or another filter`,
    );
  }
}

/** They are deleted with their calendars. */
export const EVENTS_OF_ACCOUNT: AccountListener = {
  shown: [
    `select id, 'event' as object from event where account_id = $1 and status <> 'cancelled'`,
  ],
};

@Injectable()
export class EventsRepository {
  constructor(private readonly database: Database) {}

  async find(accountId: string, id: string): Promise<EventRecord | undefined> {
    return (await this.database.query<EventRecord>(FIND, [id, accountId]))[0];
  }

  /** What takes place once: single events, and instances of series that were changed by themselves. By start. */
  async listSingle(accountId: string, filter: EventFilter, most: number): Promise<EventRecord[]> {
    const conditions = new Conditions();
    conditions.add(`e.account_id = ${conditions.value(accountId)} and e.recurrence is null`);
    addFilters(conditions, filter);
    addTimeFilters(conditions, filter);
    const listing = await runListing<EventRecord>(this.database, {
      ...LISTED,
      conditions,
      page: { limit: most, offset: 0 },
    });
    return listing.view === 'items' ? listing.items : [];
  }

  /** Series that begin before an instant, with what they do not tell of themselves. */
  async listSeries(accountId: string, filter: EventFilter, before: Date): Promise<SeriesRecord[]> {
    const conditions = new Conditions();
    conditions.add(`e.account_id = ${conditions.value(accountId)} and e.recurrence is not null`);
    conditions.add(`e.starts_at < ${conditions.value(before)}`);
    addFilters(conditions, filter);
    const listing = await runListing<SeriesRecord>(this.database, {
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
   * The instance of a series that was changed by itself; rather one that stands for it than one that is over (`released`).
   * @param originalStart when it would have begun
   */
  async findInstance(
    accountId: string,
    masterId: string,
    originalStart: Date,
  ): Promise<(EventRecord & { released: boolean }) | undefined> {
    const key = [accountId, masterId, originalStart];
    return (await this.database.query<EventRecord & { released: boolean }>(FIND_INSTANCE, key))[0];
  }

  /** Those that the account has, in no order. @throws {PageTooLargeError} */
  async findMany(accountId: string, ids: readonly string[]): Promise<EventRecord[]> {
    const conditions = new Conditions();
    conditions.add(`e.account_id = ${conditions.value(accountId)}`);
    conditions.add(`e.id = any(${conditions.value(ids)}::uuid[])`);
    const page = { limit: ids.length, offset: 0 };
    const listing = await runListing<EventRecord>(this.database, { ...LISTED, conditions, page });
    return listing.view === 'items' ? listing.items : [];
  }

  /** By start, earliest first. */
  list(accountId: string, query: EventQuery): Promise<Listing<EventRecord>> {
    const conditions = new Conditions();
    conditions.add(`e.account_id = ${conditions.value(accountId)}`);
    addFilters(conditions, query);
    addTimeFilters(conditions, query);
    return runListing<EventRecord>(this.database, {
      ...LISTED,
      conditions,
      page: query,
      view: query.view,
    });
  }
}

/** Every filter that was given has to hold; comparisons of times are strict (api facts 7.3). */
function addFilters(conditions: Conditions, filter: EventFilter): void {
  if (!filter.showCancelled) {
    // Who works out instances by the rules needs to know of those that do not take place.
    const needed = filter.expandRecurring
      ? ''
      : ' or (e.master_event_id is not null and not e.released)';
    conditions.add(`(e.status <> 'cancelled'${needed})`);
  }
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
    // Clients see whole seconds: after a second means from the next one on.
    ['e.updated_at >=', updatedAfter && new Date(updatedAfter.getTime() + 1000)],
  ]);
  if (filter.metadata) addMetadataCondition(conditions, 'e.metadata', filter.metadata);
}

/** An event by its id; also an instance that was changed by itself, by the id it had before. */
function addIdFilter(conditions: Conditions, id: string): void {
  const name = isId(id) ? undefined : readInstanceId(id);
  if (isId(id)) conditions.add(`e.id = ${conditions.value(id)}`);
  else if (!name) conditions.add('false');
  else
    conditions.add(
      `e.master_event_id = ${conditions.value(name.masterId)} and e.original_start = ${conditions.value(new Date(name.startMs))} and not e.released`,
    );
}

/** When an event takes place: of a series that is when each of its instances does. */
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

/** A LIKE pattern for texts that contain this one, whatever signs it has. */
function containing(part: string): string {
  return `%${part.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
}
