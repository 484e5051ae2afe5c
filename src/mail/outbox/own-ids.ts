import { storable } from '../../platform/base/text/storable.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { isGeneratedId } from '../composing/generated-ids.ts';
import type { OutboxMessage } from './outbox-message.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

const CHOSEN = `
  select message_id_header as "messageIdHeader" from outbox_message
  where account_id = $1 and foreign_header and message_id_header = any($2::text[])`;

/**
 * Those of the Message-IDs that belong to messages of the account that were sent from here. They
 * were generated here, or the sender of the message chose them. Servers make up neither.
 * @param messageIds with angle brackets
 * @param mailDomain `MAIL_DOMAIN`
 */
export async function ownIdsAmong(
  sql: Sql,
  accountId: string,
  messageIds: readonly string[],
  mailDomain: string,
): Promise<ReadonlySet<string>> {
  const generated = messageIds.filter(isGeneratedId(mailDomain));
  const others = messageIds.filter((id) => !generated.includes(id));
  if (others.length === 0) return new Set(generated);
  const values = [accountId, others.map((id) => storable(id))];
  const chosen = await sql.query<RowOf<OutboxMessage, 'messageIdHeader'>>(CHOSEN, values);
  return new Set([...generated, ...chosen.map(({ messageIdHeader }) => messageIdHeader)]);
}
