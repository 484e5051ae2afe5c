import { ForbiddenError, InvalidInputError } from '../platform/base/errors/domain-error.ts';
import type { Scope } from '../platform/auth/scopes.ts';
import { DELTA_TYPES, type DeltaType, mayRead } from '../platform/changes/delta-types.ts';
import type { DeltaPage } from './deltas.service.ts';
import type { DeltaQuery, DeltasView } from './deltas.schema.ts';

/**
 * The object types a query asks for, limited to those the scopes allow. A type that the query
 * includes by name must be allowed.
 * @throws {InvalidInputError} if the query both includes and excludes types
 * @throws {ForbiddenError} if the scopes do not allow an included type
 */
export function toTypes(
  query: Pick<DeltaQuery, 'include_types' | 'includeTypes' | 'exclude_types' | 'excluded_types'>,
  scopes: readonly Scope[] | null,
): DeltaType[] {
  const included = [...(query.include_types ?? []), ...(query.includeTypes ?? [])];
  const excluded = [...(query.exclude_types ?? []), ...(query.excluded_types ?? [])];
  if (included.length > 0 && excluded.length > 0)
    throw new InvalidInputError('include_types and exclude_types must not be given together');
  const hidden = included.find((type) => !mayRead(scopes, type));
  if (hidden)
    throw new ForbiddenError(
      'scope.missing',
      `include_types: the account has granted no scope for ${hidden}`,
    );
  return DELTA_TYPES.filter(
    (type) =>
      (included.length === 0 || included.includes(type)) &&
      !excluded.includes(type) &&
      mayRead(scopes, type),
  );
}

export function toDeltasView({ start, end, deltas }: DeltaPage): DeltasView {
  return {
    cursor_start: start,
    cursor_end: end,
    deltas: deltas.map(({ attributes, ...delta }) => ({
      ...delta,
      ...(attributes ? { attributes: { ...attributes } } : {}),
    })),
  };
}
