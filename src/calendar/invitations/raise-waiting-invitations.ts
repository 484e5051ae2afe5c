import type { Sql } from '../../platform/database/sql.ts';

/** Invitations of an event whose mails are not made yet tell of a later revision: SEQUENCE becomes greater by so much. */
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
