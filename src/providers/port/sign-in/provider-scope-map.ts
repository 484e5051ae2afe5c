import { type Scope, SCOPES } from '../../../platform/auth/scopes.ts';

/** The scopes of one provider, and what they mean here. */
export interface ProviderScopeMap {
  /** Identify the user; always asked for. */
  readonly identity: readonly string[];
  /** The provider's scopes that each scope here needs. */
  readonly needed: Readonly<Record<Scope, readonly string[]>>;
  /**
   * Scopes that are asked for only if a request names them, because most users cannot allow them.
   */
  readonly onlyIfNamed: readonly Scope[];
  /** The scopes here that each scope of the provider covers. */
  readonly covers: Readonly<Record<string, readonly Scope[]>>;
  /** Pairs of a scope and the broader ones with which it is not asked for. */
  readonly contained: Readonly<Record<string, readonly string[]>>;
}

/**
 * The provider's scopes to ask for.
 * @param scopes `null` for every scope
 */
export function neededScopes(map: ProviderScopeMap, scopes: readonly Scope[] | null): string[] {
  const asked = scopes ?? SCOPES.filter((scope) => !map.onlyIfNamed.includes(scope));
  const needed = [...new Set(asked.flatMap((scope) => map.needed[scope]))];
  const broadest = needed.filter(
    (name) => !map.contained[name]?.some((broader) => needed.includes(broader)),
  );
  return [...map.identity, ...broadest];
}

/** The scopes here that the provider's scopes cover, in the order of `SCOPES`. */
export function coveredScopes(map: ProviderScopeMap, granted: readonly string[]): Scope[] {
  const covered = new Set(granted.flatMap((name) => map.covers[name] ?? []));
  return SCOPES.filter((scope) => covered.has(scope));
}
