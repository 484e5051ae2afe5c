import { SCOPES_FOR } from '../../auth/scopes.ts';
import type { Sql } from '../../database/sql.ts';
import { scopesAllow, wants } from './matching.ts';

/** `dedupe` of the event `message.created` of a message. */
export const createdKey = (messageId: string): string => `message:${messageId}:created`;

// A filter by folders or domains is decided by the event itself, so a webhook with such a filter
// does not want an event of which only the trigger and the account are known.
const WANTED_SINCE = `
  select min(w.subscribed_at) as since
  from webhook w cross join (select $1::uuid as application_id, $2::uuid as account_id, 'message.created' as type,
    null::uuid[] as folders, null::text[] as from_domains) e
  where w.application_id = $1 and w.state <> 'inactive' and ${wants('w', 'e')}
    and ${scopesAllow('$2::uuid', '$3::text')}`;

/**
 * Since when a webhook wants each `message.created` of an account, whatever the message; `null` if
 * none does, or if the scopes of the account do not allow it.
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
