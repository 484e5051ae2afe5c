import { isWithin, restrict, type Scope } from '../../platform/auth/scopes.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { Connector } from '../../providers/port/connector.ts';

/**
 * The scopes an account gets that asks for `asked` (undefined: as they are; null: none of its own). Where its provider has only
 * some, its accounts always have scopes of their own: an integration's, or all, would be more.
 * @throws {InvalidInputError} for one the provider does not have
 */
export function offeredScopes(
  { name, scopes }: Pick<Connector, 'name' | 'scopes'>,
  asked: readonly Scope[] | null | undefined,
): readonly Scope[] | null | undefined {
  if (!scopes) return asked;
  const missing = (asked ?? []).filter((scope) => !scopes.includes(scope));
  if (missing.length > 0) {
    throw new InvalidInputError(
      `scopes: ${missing.join(', ')}: accounts of ${name} have only ${scopes.join(', ')}`,
      { betaType: 'grant.scopes_conflict' },
    );
  }
  return asked ?? (scopes as readonly Scope[]);
}

/**
 * Checks the scopes a request names against the most its application lets a sign-in grant.
 * @param allowed `allowed_scopes` of the application; null: every scope
 * @param asked null or undefined: the request names none
 * @throws {InvalidInputError} naming the scopes that are too many
 */
export function assertAllowedScopes(
  allowed: readonly string[] | null | undefined,
  asked: readonly Scope[] | null | undefined,
): void {
  const most = (allowed ?? null) as readonly Scope[] | null;
  const tooMany = (asked ?? []).filter((scope) => !isWithin([scope], most));
  if (tooMany.length === 0 || most === null) return;
  throw new InvalidInputError(
    `scopes: ${tooMany.join(', ')}: a sign-in to this application may grant only ${most.join(', ')} (its allowed_scopes)`,
    { betaType: 'grant.scopes_conflict' },
  );
}

/**
 * What a sign-in grants: the scopes that apply to the account, as far as its application lets a sign-in grant them.
 * @param allowed `allowed_scopes` of the application; null: every scope
 * @param applying the account's own scopes, else its integration's; null: every scope
 * @throws {InvalidInputError} when nothing is left
 */
export function grantableScopes(
  allowed: readonly string[] | null | undefined,
  applying: readonly string[] | null | undefined,
): Scope[] | null {
  const granted = restrict(
    (applying ?? null) as Scope[] | null,
    (allowed ?? null) as Scope[] | null,
  );
  if (granted?.length !== 0) return granted;
  throw new InvalidInputError(
    `scopes: none is left: a sign-in to this application may grant only ${(allowed ?? []).join(', ')} (its allowed_scopes)`,
    { betaType: 'grant.scopes_conflict' },
  );
}
