import type { Scope } from '../auth/scopes.ts';
import { InvalidInputError } from '../common/errors/domain-error.ts';
import type { Connector } from '../providers/connector.ts';

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
