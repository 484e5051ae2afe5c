import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import { hasOpenWrite } from '../../../accounts/provider-writes/open-writes.ts';

// With a partial listing, the ids of instances count; otherwise those of series and single events.
// An excluded start counts if its series still takes place.
const ABSENT = `
  select distinct k.id
  from event e
  left join event m on m.id = e.master_event_id
  cross join lateral (
    select case when $4 then e.provider_id else coalesce(e.master_provider_id, e.provider_id) end as id) k
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
