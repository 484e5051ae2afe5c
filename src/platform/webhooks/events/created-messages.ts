import { SCOPES_FOR } from '../../auth/scopes.ts';
import type { Sql } from '../../database/sql.ts';
import { scopesAllow, wants } from './matching.ts';

/** `dedupe` of the event `message.created` of a message. */
export const createdKey = (messageId: string): string => `message:${messageId}:created`;

const IS_CREATED = `e.type = 'message.created' and e.dedupe like 'message:%:created'`;

/** SQL of the day in UTC on which the message of an event `message.created` was received. */
export const receivedDay = (event: string): string => `
  (to_timestamp((convert_from(${event}.body, 'UTF8')::jsonb #>> '{deltas,0,object_data,attributes,received_date}')::float8)
   at time zone 'UTC')::date`;

const ANNOUNCED = `
  select * from (
    select split_part(e.dedupe, ':', 2) as id, ${receivedDay('e')}::text as day, e.created_at as at
    from webhook_event e where e.account_id = $1 and e.created_at >= $2 and ${IS_CREATED}) m
  where day between $3 and $4`;

/**
 * Messages that stored events announce as new, with the days on which they were received and the
 * times of the events.
 * @param from day in UTC, as `2026-11-28`; events stored before it are not read
 */
export function announcedMessages(
  sql: Sql,
  accountId: string,
  { from, to }: { from: string; to: string },
): Promise<{ id: string; day: string; at: Date }[]> {
  return sql.query(ANNOUNCED, [accountId, new Date(`${from}T00:00:00Z`), from, to]);
}

// The filters of a webhook are decided by the event itself, so a webhook with filters does not
// want an event of which only the trigger is known.
const WANTED_SINCE = `
  select min(w.subscribed_at) as since
  from webhook w cross join (select $1::uuid as application_id, $2::uuid as account_id, 'message.created' as type,
    null::uuid[] as folders, null::text[] as from_domains) e
  where w.application_id = $1 and w.state <> 'inactive' and ${wants('w', 'e')}
    and ${scopesAllow('$2::uuid', '$3::text')}`;

/**
 * Since when a webhook wants `message.created` of an account; `null` if none does, or if the scopes
 * of the account do not allow it.
 */
export async function createdWantedSince(
  sql: Sql,
  applicationId: string,
  accountId: string,
): Promise<Date | null> {
  const [row] = await sql.query<{ since: Date | null }>(WANTED_SINCE, [
    applicationId,
    accountId,
    SCOPES_FOR.mailWebhooks.join(','),
  ]);
  return row?.since ?? null;
}

const WITHOUT = `
  select m.id from unnest($1::uuid[]) m(id)
  where not exists (select 1 from webhook_event e where e.dedupe = 'message:' || m.id || ':created')`;

/** Those of the messages that have no stored event `message.created`. */
export async function withoutCreated(
  sql: Sql,
  messageIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (messageIds.length === 0) return new Set();
  return new Set((await sql.query<{ id: string }>(WITHOUT, [messageIds])).map(({ id }) => id));
}
