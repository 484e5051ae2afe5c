import { columnsOf, type Sql } from '../../../platform/database/sql.ts';

/** Most events of a message. A calendar file may contain hundreds. */
const MOST_EVENTS = 25;

const STORE = `
  update message m set event_ids = x.ids
  from (
    select l.message_id, (array_agg(l.event_id order by l.place))[1:${MOST_EVENTS}] as ids
    from (
      select message_id, event_id, min(place) as place
      from unnest($2::uuid[], $3::uuid[]) with ordinality x(message_id, event_id, place)
      group by message_id, event_id) l
    group by l.message_id) x
  where m.id = x.message_id and m.account_id = $1`;

/**
 * Stores which events came with messages, in the transaction that stores the messages. Of more than
 * 25 events of a message the first are stored.
 * @param links may contain duplicates
 */
export async function storeEventIds(
  sql: Sql,
  accountId: string,
  links: readonly { messageId: string; eventId: string }[],
): Promise<void> {
  if (links.length === 0) return;
  await sql.query(STORE, [accountId, ...columnsOf(links, 'messageId', 'eventId')]);
}
