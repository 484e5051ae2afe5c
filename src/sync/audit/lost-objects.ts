import { dedupeKey } from '../../platform/changes/usual-webhooks.ts';
import {
  type ChangeObject,
  type ChangeRecord,
  recordChanges,
} from '../../platform/changes/change-log.ts';
import type { ChangeOwner } from '../../platform/changes/object-change.ts';
import { CHANGE_RETENTION_MS } from '../../platform/changes/prune-changes.ts';
import type { Change } from '../../platform/changes/change.entity.ts';
import type { NotNull, RowOf } from '../../platform/database/rows/row-of.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { CONTACTS } from './listed-collections.ts';

/*
 * Objects that clients may know and that no table has any more, although the change log has no
 * deletion of them. An audit stores such an object again under a new id, because only the provider
 * still knows it, and then reports the old id as deleted (ADR 0173).
 */

/** Kinds of objects that the audit of a mailbox stores again. */
export const LOST_OF_MAILBOX = ['message', 'draft', 'thread', 'folder', 'label'] as const;
/** Kinds of objects that the audit of calendars stores again, and that of the address book. */
export const LOST_OF_CALENDARS = ['calendar', 'event'] as const;
export const LOST_OF_BOOK = ['contact'] as const;

type LostKind = (typeof LOST_OF_MAILBOX | typeof LOST_OF_CALENDARS | typeof LOST_OF_BOOK)[number];

const TABLES = ['message', 'thread', 'folder', 'calendar', 'event', 'contact'] as const;

/**
 * SQL condition: no table has an object of the account `$1`.
 * @param id SQL of its id
 */
export const isNotStored = (id: string): string =>
  TABLES.map(
    (table) => `not exists (select 1 from "${table}" o where o.id = ${id} and o.account_id = $1)`,
  ).join(' and ');

// A draft that is sent is deleted and becomes a message with the same id, so the last entry of an
// id counts, whatever its kind. An audit that is older than the log proves nothing: a deletion may
// have left the log.
const LOST = `
  with logged as materialized (
    select distinct object_id as id from change
    where account_id = $1 and event <> 'delete' and object = any($2::text[])),
  listed as materialized (
    select l.id, case when a.collection = '${CONTACTS}' then 'contact' else 'event' end as object
    from audited_collection a cross join unnest(a.object_ids) l(id)
    where a.account_id = $1 and a.collection = any($3::text[])
      and a.audited_at > now() - interval '${CHANGE_RETENTION_MS} milliseconds'),
  gone as materialized (
    select k.id from (select id from logged union select id from listed) k where ${isNotStored('k.id')}),
  entries as materialized (
    select c.object_id as id, c.seq, c.object, c.event, c.folders, c.from_domains from change c
    where c.account_id = $1 and exists (select 1 from gone) and c.object_id in (select id from gone)),
  latest as (select distinct on (id) id, object, event from entries order by id, seq desc),
  filtered as (
    select distinct on (id) id, folders, from_domains from entries
    where folders is not null or from_domains is not null order by id, seq desc)
  select g.id as "objectId", coalesce(l.object, k.object) as kind, coalesce(f.folders, '{}') as folders,
    coalesce(f.from_domains, '{}') as "fromDomains"
  from gone g left join latest l using (id) left join listed k using (id) left join filtered f using (id)
  where l.event is distinct from 'delete' order by g.id`;

/** What filters of webhooks compare is empty if the log never had it. */
interface LostObject extends NotNull<RowOf<Change, 'objectId' | 'folders' | 'fromDomains'>> {
  kind: LostKind;
}

/** Changes that are recorded together. */
const BATCH = 1_000;

/**
 * Records a deletion, with its webhook, for each lost object of an account. Call it when the audit
 * has stored again what the provider still has.
 * @param kinds objects of these kinds that the change log names
 * @param collections objects that the last audit has listed in these calendars, or in `CONTACTS`,
 *   count as well: an object may be older than the log
 * @returns how many objects are lost
 */
export async function reportLost(
  sql: Sql,
  { applicationId, accountId, at }: ChangeOwner,
  { kinds, collections }: { kinds: readonly LostKind[]; collections: readonly string[] },
): Promise<number> {
  const lost = await sql.query<LostObject>(LOST, [accountId, kinds, collections]);
  const owner = { applicationId, accountId, at };
  const changes = lost.map((one) => deletion(owner, one));
  for (let from = 0; from < changes.length; from += BATCH)
    await recordChanges(sql, changes.slice(from, from + BATCH));
  return changes.length;
}

/** The rest of a lost object is unknown, so that its webhook has no attributes. */
function deletion(
  owner: ChangeOwner,
  { objectId, kind: object, folders, fromDomains }: LostObject,
) {
  const trigger = `${object}.deleted` as const satisfies `${ChangeObject}.deleted`;
  const isFolder = object === 'folder' || object === 'label';
  return {
    ...owner,
    object,
    objectId,
    event: 'delete',
    webhook: {
      trigger,
      dedupe: dedupeKey(trigger, objectId),
      folders: isFolder ? [objectId] : folders,
      fromDomains,
    },
  } satisfies ChangeRecord;
}
