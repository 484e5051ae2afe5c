import type { Plan } from '../applications/plan.ts';
import type { Sql } from '../database/sql.ts';

/**
 * Lets one connection, renewal or removal of an application's accounts happen at a time, until the transaction ends:
 * this is what makes the quickstart rule and re-authentication exact. Other uses of the application go on.
 */
export async function lockApplication(sql: Sql, applicationId: string): Promise<{ plan: Plan }> {
  const [application] = await sql.query<{ plan: Plan }>(
    'select plan from application where id = $1 for no key update',
    [applicationId],
  );
  if (!application) throw new Error(`application ${applicationId} is gone`);
  return application;
}
