import { isWithin, restrict, type Scope } from '../../../platform/auth/scopes.ts';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import type { Connector } from '../../../providers/port/connector.ts';

/**
 * The scopes to store for an account that requests `asked`. If the provider supports only some
 * scopes, its accounts always get scopes of their own, because the integration's scopes could
 * exceed the supported ones.
 * @param asked `undefined` keeps the current scopes; `null` requests no scopes of the account's
 *   own
 * @throws {InvalidInputError} for a scope that the provider does not support
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
 * The scopes that were asked for and that the user has not allowed at the provider, without those
 * that a broader one of them contains.
 * @param wanted the scopes that apply otherwise; `null` for every scope
 * @param covered see `VerifiedCredentials.covered`
 */
export function missingScopes(
  { oauth }: Pick<Connector, 'oauth'>,
  wanted: readonly Scope[] | null,
  covered: readonly Scope[] | null | undefined,
): Scope[] {
  if (!oauth || !covered) return [];
  const asked = oauth.covered(oauth.scopesFor(wanted, { integration: null, own: null }));
  const missing = (restrict(wanted, asked) ?? []).filter((scope) => !isWithin([scope], covered));
  return missing.filter(
    (scope) => !missing.some((other) => other !== scope && isWithin([scope], [other])),
  );
}

/**
 * Checks that a request names only scopes that its application lets a sign-in grant.
 * @param allowed `allowed_scopes` of the application; `null` for every scope
 * @param asked `null` or `undefined` if the request names no scopes
 * @throws {InvalidInputError} naming the scopes that are not allowed
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
 * The scopes that a sign-in grants: the scopes of the account, limited to those that its
 * application lets a sign-in grant.
 * @param allowed `allowed_scopes` of the application; `null` for every scope
 * @param applying the account's own scopes, else those of its integration; `null` for every scope
 * @throws {InvalidInputError} if no scope remains
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
