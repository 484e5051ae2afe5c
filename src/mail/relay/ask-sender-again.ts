import type { Sql } from '../../platform/database/sql.ts';

/**
 * An account is connected again: its application's mailing service is asked anew, unless it takes mail from the account
 * already. Also when the account had been removed from the service.
 */
export async function askSenderAgain(sql: Sql, accountId: string): Promise<void> {
  await sql.query(
    `delete from relay_sender
     where account_id = $1 and (removed_at is not null or not (domain_verified or sender_verified))`,
    [accountId],
  );
}
