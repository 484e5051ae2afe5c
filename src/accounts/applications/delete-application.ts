import type { Sql } from '../../platform/database/sql.ts';

/**
 * Deletes an application whose accounts and webhooks are gone, with its integrations, sign-ins and
 * services. Does nothing if it does not exist. Runs in the caller's transaction.
 * @throws if it still has accounts: they have to be removed one by one
 */
export async function deleteApplication(sql: Sql, applicationId: string): Promise<void> {
  await sql.query('select from application where id = $1 for update', [applicationId]);
  const left = await sql.query('select from "grant" where application_id = $1 limit 1', [
    applicationId,
  ]);
  if (left.length > 0) throw new Error(`application ${applicationId} still has accounts`);
  await sql.query('delete from application where id = $1', [applicationId]);
}
