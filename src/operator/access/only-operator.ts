import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import type { ListedOperator } from './operators.service.ts';

/**
 * The name of the operator that is meant if none is named.
 * @throws {NotFoundError} if there is no operator yet
 * @throws {InvalidInputError} if there are several
 */
export function onlyOperator(all: readonly Pick<ListedOperator, 'name'>[]): string {
  const [first, ...others] = all;
  if (!first)
    throw new NotFoundError('operator', '(there is none: carillon operator create <name>)');
  if (others.length === 0) return first.name;
  throw new InvalidInputError(`name: one of ${all.map(({ name }) => name).join(', ')}`);
}
