import type { Plan } from '../../platform/auth/plan.ts';
import type { Sql } from '../../platform/database/sql.ts';

/** The settings of an application that matter when an account is connected. */
export interface LockedApplication {
  plan: Plan;
  /** All scopes that a sign-in may grant; `null` if it may grant every scope. */
  allowedScopes: string[] | null;
  /**
   * Lifetime in seconds of tokens created by a sign-in; `null` if they work until they are revoked.
   */
  tokenLifetime: number | null;
  /** Whether a sign-in revokes the earlier tokens of its account. */
  revokesOlderTokens: boolean;
  /** Whether the operator has suspended it: no account may be connected. */
  suspended: boolean;
}

/**
 * Locks the application's row until the transaction ends. Connections, renewals and removals of its
 * accounts then run one at a time, which makes the quickstart limit and re-authentication exact.
 * Other uses of the application do not wait.
 */
export async function lockApplication(sql: Sql, applicationId: string): Promise<LockedApplication> {
  const [application] = await sql.query<LockedApplication>(
    `select plan, allowed_scopes as "allowedScopes", token_lifetime as "tokenLifetime",
       revokes_older_tokens as "revokesOlderTokens", suspended_at is not null as suspended
     from application where id = $1 for no key update`,
    [applicationId],
  );
  if (!application) throw new Error(`application ${applicationId} has been deleted`);
  return application;
}
