import type { Sql } from '../../platform/database/sql.ts';

const keyed = (table: string) => `
  delete from ${table} where id = any(array(select id from ${table} where application_id = $1 limit $2)) returning 1`;
const whole = (table: string) => `
  delete from ${table} where $2 > 0 and application_id = $1 returning 1`;

const STATEMENTS = [
  ...[
    'sandbox_message',
    'sandbox_event',
    'sandbox_contact',
    'sandbox_calendar',
    'sandbox_folder',
  ].map(keyed),
  // One row for each mailbox.
  ...['sandbox_mailbox', 'sandbox_address_book'].map(whole),
];

/**
 * Deletes the sandbox mailboxes of an application: at most `most` rows of each table.
 * @returns how many it deleted; 0 if none is left
 */
export async function deleteSandboxOf(
  sql: Sql,
  applicationId: string,
  most: number,
): Promise<number> {
  for (const text of STATEMENTS) {
    const { length } = await sql.query(text, [applicationId, most]);
    if (length > 0) return length;
  }
  return 0;
}
