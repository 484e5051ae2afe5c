import type { Sql } from '../../../platform/database/sql.ts';
import type { ChangeRecord } from '../../../platform/changes/change-log.ts';
import { objectChange } from '../../../platform/changes/object-change.ts';
import type { RemoteEvent } from '../../../providers/port/connector.ts';

/** The account and calendar that adopt the events, and the time of the change. */
export interface AdoptingCalendar {
  account: { accountId: string; applicationId: string };
  calendar: { id: string };
  at: Date;
}

// Adopted events keep their ids and the mail they came by. From now on they belong to the
// provider's calendar.
const ADOPT = `
  with given as (
    select distinct on (x.provider_id) x.* from jsonb_to_recordset($3::jsonb)
      x(provider_id text, ical_uid text, master_provider_id text, original_start double precision, organizer text)
    where not exists (select 1 from event o where o.account_id = $1 and o.provider_id = x.provider_id)),
  mailed as (
    select distinct on (x.provider_id) e.id, x.provider_id, x.master_provider_id
    from given x join event e on e.account_id = $1 and e.ical_uid = x.ical_uid
      and e.original_start is not distinct from to_timestamp(x.original_start)
      and (x.organizer is null or lower(e.organizer_email) = lower(x.organizer))
    join calendar c on c.id = e.calendar_id and c.is_emailed
    order by x.provider_id, e.id)
  update event e set calendar_id = $2, provider_id = m.provider_id, master_provider_id = m.master_provider_id,
    read_only = false
  from mailed m where e.id = m.id
  returning e.id`;

// Deletes mailed instances whose series was adopted, but which the provider does not list as
// separate instances.
const DROP = `
  delete from event e using calendar c, event s
  where e.account_id = $1 and e.ical_uid = any($2::text[]) and e.original_start is not null and c.id = e.calendar_id
    and c.is_emailed and s.id = e.master_event_id and s.calendar_id <> c.id
  returning e.id`;

/**
 * Moves events that came by mail into a calendar of the provider, if that calendar now has the same
 * events. The user or the mail server has added them there; they keep their ids (ADR 0044). Call it
 * in the transaction that mirrors the calendar, before the events of the calendar are compared.
 * @returns change log records for the moved and deleted events; subscribers are not notified
 */
export async function adoptMailed(
  sql: Sql,
  { account, calendar, at }: AdoptingCalendar,
  events: readonly RemoteEvent[],
): Promise<ChangeRecord[]> {
  if (events.length === 0) return [];
  const { accountId, applicationId } = account;
  const rows = events.map((event) => ({
    provider_id: event.providerId,
    ical_uid: event.icalUid,
    master_provider_id: event.masterProviderId,
    original_start: event.originalStartTime,
    organizer: event.organizer?.email ?? null,
  }));
  const adopted = await sql.query<{ id: string }>(ADOPT, [
    accountId,
    calendar.id,
    JSON.stringify(rows),
  ]);
  if (adopted.length === 0) return [];
  const uids = [...new Set(events.map(({ icalUid }) => icalUid))];
  const dropped = await sql.query<{ id: string }>(DROP, [accountId, uids]);
  const owner = { applicationId, accountId, at };
  return [
    ...adopted.map(({ id }) => objectChange('event', owner, id, 'updated', null)),
    ...dropped.map(({ id }) => objectChange('event', owner, id, 'deleted', null)),
  ];
}
