import type { Sql } from '../../platform/database/sql.ts';

const DELETE = 'delete from sms_message where account_id = any($1::uuid[])';

/** Deletes text messages that `SMS_GATEWAY=recording` stored for these accounts. */
export async function deleteRecordedTexts(sql: Sql, accountIds: readonly string[]): Promise<void> {
  await sql.query(DELETE, [accountIds]);
}
