import { isId } from '../../platform/base/ids/ids.ts';
import type { Sql } from '../../platform/database/sql.ts';

/** A message that was sent through the outbox. Clients already know its ids. */
export interface SentByUs {
  messageIdHeader: string;
  messageId: string;
  threadId: string;
  metadata: Record<string, string> | null;
  /** Whether the mirror has a message with this id. */
  mirrored: boolean;
  /** The provider's id of the sender's copy; `null` if the provider did not name it. */
  storedProviderId: string | null;
}

/**
 * Key of a sender's copy that its provider has named. It cannot be a Message-ID, which begins with
 * an angle bracket.
 */
export const storedCopyKey = (providerId: string): string => `copy:${providerId}`;

const SENT = `
  with sent as (
    select id from outbox_message
    where id = any($2::uuid[]) and account_id = $1 and message_id_header = any($3::text[])
    union
    select id from outbox_message where account_id = $1 and message_id_header = any($3::text[]) and foreign_header
    union
    select id from outbox_message where account_id = $1 and stored_provider_id = any($4::text[]))
  select o.message_id_header as "messageIdHeader", s.message_id as "messageId", s.thread_id as "threadId",
    o.content -> 'metadata' as metadata, o.stored_provider_id as "storedProviderId", exists (select 1 from message m where m.id = s.message_id) as mirrored
  from sent join outbox_message o using (id) join job_status s using (id)
  where s.message_id is not null and s.thread_id is not null
  order by s.status <> 'failed', o.id`;

/**
 * Finds messages that were sent from here. Most of their Message-IDs begin with the id of the row;
 * some were chosen by the sender. If the provider named the sender's copy, the message is found by
 * that name too, because the provider may have changed the Message-ID.
 * @param copies provider ids of messages that may be such copies
 * @returns messages by Message-ID and by `storedCopyKey`
 */
export async function sentByUs(
  sql: Sql,
  accountId: string,
  headers: readonly string[],
  copies: readonly string[] = [],
): Promise<Map<string, SentByUs>> {
  const ids = headers.map((header) => header.slice(1, 37)).filter(isId);
  if (headers.length + copies.length === 0) return new Map();
  const rows = await sql.query<SentByUs>(SENT, [accountId, ids, headers, copies]);
  return new Map(
    rows.flatMap((row): [string, SentByUs][] => [
      [row.messageIdHeader, row],
      ...(row.storedProviderId === null
        ? []
        : [[storedCopyKey(row.storedProviderId), row] as [string, SentByUs]]),
    ]),
  );
}
