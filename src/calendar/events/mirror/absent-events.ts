import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import { hasOpenWrite } from '../../../accounts/provider-writes/open-writes.ts';

/**
 * SQL of the provider id under which a listing has an event. With a partial listing, the ids of
 * instances count; otherwise those of series and single events.
 */
const listedId = (partial: string) => `
  case when ${partial} then e.provider_id else coalesce(e.master_provider_id, e.provider_id) end`;

// An excluded start counts if its series still takes place.
const ABSENT = `
  select distinct k.id
  from event e
  left join event m on m.id = e.master_event_id
  cross join lateral (select ${listedId('$4')} as id) k
  where e.calendar_id = $1 and k.id is not null
    and (e.status <> 'cancelled' or ($4 and not e.released and m.status <> 'cancelled'))
    and greatest(e.updated_at, e.provider_seen_at) <= $3 and not ${hasOpenWrite('e.id', 'e.master_event_id')}
    and not exists (select 1 from unnest($2::text[]) p(id) where p.id = k.id)
  order by 1 limit $5`;

/** A full listing of a calendar. */
export interface EventListing {
  /** See `EventChanges.present`. */
  present: readonly string[];
  /** See `EventChanges.partial`. */
  partial: boolean;
  beganAt: Date;
}

/**
 * Provider ids of mirrored events that a full listing does not contain. Events with an open
 * provider write, and those that changed after the listing began, are left out.
 */
export async function absentEvents(
  sql: Sql,
  calendarId: string,
  { present, partial, beganAt }: EventListing,
  limit: number,
): Promise<string[]> {
  const wanted = [calendarId, present, beganAt, partial, limit];
  return idsOf(await sql.query<{ id: string }>(ABSENT, wanted));
}

const PRESENT = `
  select coalesce(array_agg(k.id order by k.id) filter (where k.alive), '{}') as ids,
    (count(distinct p.id) filter (where k.id is null))::int as unstored
  from unnest($2::text[]) p(id)
  left join (
    select e.id, e.status <> 'cancelled' as alive, ${listedId('$3')} as listed_id from event e
    where e.calendar_id = $1) k on k.listed_id = p.id`;

/**
 * The mirrored events of a full listing that are not cancelled.
 * @returns also how many ids of the listing no mirrored event has
 */
export async function presentEvents(
  sql: Sql,
  calendarId: string,
  { present, partial }: Omit<EventListing, 'beganAt'>,
): Promise<{ ids: string[]; unstored: number }> {
  const [row] = await sql.query<{ ids: string[]; unstored: number }>(PRESENT, [
    calendarId,
    present,
    partial,
  ]);
  return row ?? { ids: [], unstored: present.length };
}
