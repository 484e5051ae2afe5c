import type { Sql } from '../../platform/database/sql.ts';
import { type GrantStateChange, moveGrants } from './grant-moves.ts';

/**
 * Credentials that were refused permanently. `reason` is the provider's message, `settingsSealed`
 * identifies the refused settings.
 */
export type CredentialsRefusal = Pick<GrantStateChange, 'accountId' | 'settingsSealed'> & {
  reason: string;
};

/**
 * Makes grants `invalid` until their users authenticate again, because the provider refused the
 * credentials permanently. Runs in the caller's transaction. Grants that are already invalid do not
 * change.
 */
export function markGrantsInvalid(
  sql: Sql,
  refusals: readonly CredentialsRefusal[],
  at: Date,
): Promise<void> {
  return moveGrants(
    sql,
    refusals.map((refusal) => ({ ...refusal, status: 'invalid' as const })),
    at,
  );
}
