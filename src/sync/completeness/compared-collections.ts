import { CHANGE_RETENTION_MS } from '../../platform/changes/prune-changes.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { CONTACTS } from '../audit/listed-collections.ts';

/** A calendar or address book, as its last audit has seen it at the provider, and its mirror. */
export interface ComparedCollection {
  object: 'event' | 'contact';
  /** `null` for the address book. */
  calendarId: string | null;
  /** When the listing of the last audit began; `null` if there was none in the last 14 days. */
  auditedAt: Date | null;
  /** Objects that the provider listed then; `null` without an audit. */
  provider: number | null;
  /** Of these, objects that could not be stored here. */
  unstored: number;
  /** Objects that the mirror has now and the provider knows. */
  mirror: number;
  /** Of these, objects that the audit did not list and that came or changed after it. */
  sinceAudit: number;
  /** Listed objects that the mirror does not have any more, although it logged no deletion. */
  missing: number;
  missingIds: string[];
  /** Objects that were in the mirror before the audit, and that the provider did not list. */
  surplus: number;
  surplusIds: string[];
}

// Deletions are known as far back as the change log reaches, so an earlier audit proves nothing. A
// changed object may have been moved from another collection, so ids are compared in all of them.
const COMPARE = `
  with audited as materialized (
    select collection, object_ids, unstored, audited_at from audited_collection
    where account_id = $1 and audited_at > now() - interval '${CHANGE_RETENTION_MS} milliseconds'),
  listed as materialized (
    select a.collection, l.id from audited a cross join unnest(a.object_ids) l(id)),
  mirrored as materialized (
    select e.id, e.calendar_id::text as collection, greatest(e.created_at, e.updated_at, e.provider_seen_at) as touched
    from event e join calendar c on c.id = e.calendar_id and c.provider_id is not null
    where e.account_id = $1 and e.provider_id is not null and e.status <> 'cancelled'
    union all
    select id, '${CONTACTS}', greatest(created_at, updated_at, provider_seen_at) from contact
    where account_id = $1 and source = 'address_book' and provider_id is not null and not deleting),
  gone as materialized (
    select l.collection, l.id from listed l left join mirrored m using (id)
    where m.id is null and not exists (select from event e where e.id = l.id)
      and not exists (select from contact c where c.id = l.id)),
  missing as materialized (
    select g.* from gone g
    where g.id not in (select object_id from change where account_id = $1 and event = 'delete'
                         and object in ('event', 'contact') and exists (select from gone))),
  unlisted as materialized (
    select m.collection, m.id, m.touched <= a.audited_at as is_surplus
    from mirrored m join audited a using (collection) left join listed l on l.id = m.id where l.id is null),
  collections as (
    select id::text as collection from calendar where account_id = $1 and provider_id is not null and not deleting
    union select collection from audited
    union select collection from mirrored)
  select case when k.collection = '${CONTACTS}' then 'contact' else 'event' end as object,
    nullif(k.collection, '${CONTACTS}') as "calendarId", a.audited_at as "auditedAt",
    cardinality(a.object_ids) + a.unstored as provider, coalesce(a.unstored, 0) as unstored,
    (select count(*)::int from mirrored m where m.collection = k.collection) as mirror,
    (select count(*)::int from unlisted u where u.collection = k.collection and not is_surplus) as "sinceAudit",
    (select count(*)::int from missing m where m.collection = k.collection) as missing,
    array(select m.id from missing m where m.collection = k.collection order by m.id limit $2) as "missingIds",
    (select count(*)::int from unlisted u where u.collection = k.collection and is_surplus) as surplus,
    array(select u.id from unlisted u where u.collection = k.collection and is_surplus order by u.id limit $2) as "surplusIds"
  from collections k left join audited a using (collection) order by object desc, k.collection`;

/**
 * Compares the calendars and the address book of an account with what audits have seen of them at
 * the provider.
 * @param limit most ids of each kind of difference and collection
 */
export function compareCollections(
  sql: Sql,
  accountId: string,
  limit: number,
): Promise<ComparedCollection[]> {
  return sql.query(COMPARE, [accountId, limit]);
}
