import type { Sql } from '../../platform/database/sql.ts';
import { type GrantMove, moveGrants } from './grant-moves.ts';

/** Credentials that were refused for good: `reason` is the provider's words, `settingsSealed` what was refused. */
export type CredentialsRefusal = Pick<GrantMove, 'accountId' | 'settingsSealed'> & {
  reason: string;
};

/**
 * The provider refused credentials for good: the grants become `invalid` until their users authenticate again. In the
 * caller's transaction; grants that are already invalid are left alone.
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
