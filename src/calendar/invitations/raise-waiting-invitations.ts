import type { Sql } from '../../platform/database/sql.ts';

/** Adds `by` to the SEQUENCE of an event's invitations whose mails are not made yet. */
export async function raiseWaitingInvitations(
  sql: Sql,
  eventId: string,
  by: number,
): Promise<void> {
  await sql.query(
    'update invitation set sequence = sequence + $2 where event_id = $1 and content is not null',
    [eventId, by],
  );
}
