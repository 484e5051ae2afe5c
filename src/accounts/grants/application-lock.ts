import type { Sql } from '../../platform/database/sql.ts';
import type { Application } from '../applications/application.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** The settings of an application that matter when an account is connected. */
export interface LockedApplication extends RowOf<
  Application,
  'plan' | 'allowedScopes' | 'tokenLifetime' | 'revokesOlderTokens'
> {
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
