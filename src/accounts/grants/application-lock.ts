import type { Plan } from '../../platform/auth/plan.ts';
import type { Sql } from '../../platform/database/sql.ts';

/** What connecting an account has to know of its application. */
export interface LockedApplication {
  plan: Plan;
  /** The most that a sign-in may grant; null: every scope. */
  allowedScopes: string[] | null;
  /** Seconds that tokens made by a sign-in work; null: until they are revoked. */
  tokenLifetime: number | null;
  /** Whether a sign-in revokes the tokens its account had before. */
  revokesOlderTokens: boolean;
}

/**
 * Lets one connection, renewal or removal of an application's accounts happen at a time, until the transaction ends:
 * this is what makes the quickstart rule and re-authentication exact. Other uses of the application go on.
 */
export async function lockApplication(sql: Sql, applicationId: string): Promise<LockedApplication> {
  const [application] = await sql.query<LockedApplication>(
    `select plan, allowed_scopes as "allowedScopes", token_lifetime as "tokenLifetime",
       revokes_older_tokens as "revokesOlderTokens"
     from application where id = $1 for no key update`,
    [applicationId],
  );
  if (!application) throw new Error(`application ${applicationId} is gone`);
  return application;
}
