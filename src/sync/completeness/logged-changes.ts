import type { ChangeObject } from '../../platform/changes/change-log.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { CONTACTS } from '../audit/listed-collections.ts';
import { isNotStored } from '../audit/lost-objects.ts';

/** Kinds of objects whose changes are logged and have events, named as in deltas. */
export const LOGGED_OBJECTS = [
  'message',
  'draft',
  'thread',
  'folder',
  'label',
  'calendar',
  'event',
  'contact',
] as const satisfies readonly ChangeObject[];

/** Changes of one kind of object on one day, by the change log, and what the mirror has of them. */
export interface LoggedChanges {
  /** In UTC, as `2026-11-28`. */
  day: string;
  object: (typeof LOGGED_OBJECTS)[number];
  created: number;
  updated: number;
  deleted: number;
  /**
   * Objects that were last created or changed on this day, after the last audit began, and are not
   * stored any more.
   */
  missing: number;
  missingIds: string[];
}

const number = (event: string) => `(count(*) filter (where l.event = '${event}'))::int`;

// An audit repairs what is lost, under another id, and then logs the old id as deleted. So entries
// from before it are no news. The audit of a mailbox repairs folders and threads, too.
const AUDITED = `
  (case when l.object = 'contact' then (select audited_at from audited_collection where account_id = $1 and collection = '${CONTACTS}')
    when l.object in ('event', 'calendar') then (select min(audited_at) from audited_collection
      where account_id = $1 and collection <> '${CONTACTS}')
    else (select max(audited_at) from audited_day where account_id = $1) end)`;

// Files are changed with their message, and no webhook reports them. A draft that is sent is
// deleted and becomes a message with the same id, so the last entry of an id counts, whatever its
// kind.
const CHANGES = `
  with logged as materialized (
    select c.seq, (c.at at time zone 'UTC')::date as day, c.object, c.object_id, c.event, c.at from change c
    where c.account_id = $1 and c.object <> 'file' and c.at >= $2::date::timestamp at time zone 'UTC'),
  gone as materialized (select l.* from logged l where l.event <> 'delete' and ${isNotStored('l.object_id')}
      and l.at > coalesce(${AUDITED}, '-infinity')),
  latest as (
    select distinct on (l.object_id) l.* from logged l
    where l.object_id in (select object_id from gone) order by l.object_id, l.seq desc),
  missing as materialized (select day, object, object_id from latest where event <> 'delete')
  select l.day::text as day, l.object, ${number('create')} as created, ${number('modify')} as updated,
    ${number('delete')} as deleted,
    (select count(*)::int from missing m where m.day = l.day and m.object = l.object) as missing,
    array(select m.object_id from missing m where m.day = l.day and m.object = l.object
          order by m.object_id limit $3) as "missingIds"
  from logged l group by l.day, l.object order by l.day, l.object`;

/**
 * Counts the changes of an account since the beginning of a day, and names objects that are lost:
 * the log has no deletion of them, and no table has them.
 * @param from day in UTC, as `2026-11-28`
 * @param limit most ids of each day and kind
 */
export function loggedChanges(
  sql: Sql,
  accountId: string,
  from: string,
  limit: number,
): Promise<LoggedChanges[]> {
  return sql.query(CHANGES, [accountId, from, limit]);
}
