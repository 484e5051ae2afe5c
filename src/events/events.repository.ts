import { Injectable } from '@nestjs/common';
import { isId } from '../common/ids/ids.ts';
import { fromUnixSeconds } from '../common/time/unix-seconds.ts';
import { Conditions } from '../database/conditions.ts';
import { type Listing, runListing } from '../database/listing.ts';
import { addMetadataCondition, metadataFilter } from '../database/metadata-filter.ts';
import { Database } from '../database/sql.ts';
import type { EventRecord } from './event-record.ts';
import type { ListEventsQuery } from './events.schema.ts';

const COLUMNS = `
  e.id, e.account_id as "accountId", e.calendar_id as "calendarId", e.ical_uid as "icalUid", e.title, e.description,
  e.location, e.when_value as "when", e.starts_at as "startsAt", e.ends_at as "endsAt", e.busy,
  e.read_only as "readOnly", e.status, e.visibility, e.hide_participants as "hideParticipants", e.participants,
  e.organizer_email as "organizerEmail", e.organizer_name as "organizerName", e.recurrence, e.conferencing,
  e.reminders, e.notifications, e.metadata, e.customer_event_id as "customerEventId",
  e.event_collection_id as "eventCollectionId", e.capacity, e.round_robin_order as "roundRobinOrder",
  e.updated_at as "updatedAt"`;

/** Reminders and participants can hold megabytes; the length of JSON is only known when it is read. */
const BYTES = `
  octet_length(e.description) + octet_length(e.notifications::text) + octet_length(e.participants::text)
  + coalesce(octet_length(e.recurrence::text), 0)`;

const FIND = `select ${COLUMNS} from event e where e.id = $1 and e.account_id = $2`;

/** What the provider needs to know of an event, and where in the provider it belongs. */
export interface EventAtProvider extends EventRecord {
  providerId: string | null;
  calendarProviderId: string | null;
  /** When the writes of its calendar that are still open will be through at the earliest; null: there are none. */
  calendarBusyUntil: Date | null;
}

// One statement, so that a calendar without an id at the provider and without open writes has failed for good.
const FIND_AT_PROVIDER = `
  select ${COLUMNS}, e.provider_id as "providerId", c.provider_id as "calendarProviderId",
    (select max(greatest(j.run_at, now())) from provider_job j where j.object_id = c.id) as "calendarBusyUntil"
  from event e join calendar c on c.id = e.calendar_id
  where e.id = $1 and e.account_id = $2`;

/** Reading events. */
@Injectable()
export class EventsRepository {
  constructor(private readonly database: Database) {}

  async find(accountId: string, id: string): Promise<EventRecord | undefined> {
    const [row] = await this.database.query<EventRecord>(FIND, [id, accountId]);
    return row;
  }

  async findAtProvider(accountId: string, id: string): Promise<EventAtProvider | undefined> {
    const [row] = await this.database.query<EventAtProvider>(FIND_AT_PROVIDER, [id, accountId]);
    return row;
  }

  /** By start, earliest first. */
  list(accountId: string, query: ListEventsQuery): Promise<Listing<EventRecord>> {
    const conditions = new Conditions();
    conditions.add(`e.account_id = ${conditions.value(accountId)}`);
    addFilters(conditions, query);
    return runListing<EventRecord>(this.database, {
      columns: COLUMNS,
      from: 'event e',
      id: 'e.id',
      bytes: BYTES,
      orderBy: 'e.starts_at, e.id',
      conditions,
      page: query,
      view: query.view,
    });
  }
}

/** Every filter that was given has to hold; comparisons of times are strict (api facts 7.3). */
function addFilters(conditions: Conditions, query: ListEventsQuery): void {
  if (!query.show_cancelled) conditions.add(`e.status <> 'cancelled'`);
  for (const [column, id] of [
    ['e.calendar_id', query.calendar_id],
    ['e.id', query.event_id],
  ] as const) {
    if (id !== undefined) conditions.add(isId(id) ? `${column} = ${conditions.value(id)}` : 'false');
  }
  for (const column of ['title', 'description', 'location'] as const) {
    const part = query[column];
    if (part !== undefined) conditions.add(`e.${column} ilike ${conditions.value(containing(part))}`);
  }
  if (query.participants !== undefined) {
    const value = conditions.value(query.participants);
    conditions.add(
      `exists (select 1 from jsonb_array_elements(e.participants) p
               where lower(${value}) in (lower(p ->> 'email'), lower(p ->> 'name'), p ->> 'status', p ->> 'phone_number'))`,
    );
  }
  if (query.busy !== undefined) conditions.add(`e.busy = ${conditions.value(query.busy)}`);
  if (query.customer_event_id !== undefined)
    conditions.add(`e.customer_event_id = ${conditions.value(query.customer_event_id)}`);
  for (const [comparison, seconds] of [
    ['e.starts_at <', query.starts_before],
    ['e.starts_at >', query.starts_after],
    ['e.ends_at <', query.ends_before],
    ['e.ends_at >', query.ends_after],
    ['e.updated_at <', query.updated_at_before],
    // Clients see whole seconds: after a second means from the next one on.
    ['e.updated_at >=', query.updated_at_after === undefined ? undefined : query.updated_at_after + 1],
  ] as const) {
    if (seconds !== undefined) conditions.add(`${comparison} ${conditions.value(fromUnixSeconds(seconds))}`);
  }
  const metadata = metadataFilter(query);
  if (metadata) addMetadataCondition(conditions, 'e.metadata', metadata);
}

/** A LIKE pattern for texts that contain this one, whatever signs it has. */
function containing(part: string): string {
  return `%${part.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
}
