import type { Sql } from '../../platform/database/sql.ts';
import { type GrantStateChange, moveGrants } from './moves/grant-moves.ts';

/**
 * Credentials that were refused permanently. `reason` is the provider's message, `settingsSealed`
 * identifies the refused settings.
 */
export type CredentialsRefusal = Pick<GrantStateChange, 'accountId' | 'settingsSealed'> & {
  reason: string;
};

/**
 * Makes grants `invalid` until their users authenticate again, because the provider refused the
 * credentials permanently. Subscribers get `account.invalid`. Grants that are already invalid, or
 * whose user has authenticated again since, do not change. Runs in the caller's transaction.
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
