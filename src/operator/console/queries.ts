import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { FilterValues, Filter } from './kit/filters.ts';

/** Query or form of a request, as the parser gives it. */
export type Fields = Readonly<Record<string, unknown>>;

const LONGEST = 300;

/** The text of a field without surrounding spaces; `undefined` if it is empty or not a text. */
export function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' ? value.trim().slice(0, LONGEST) || undefined : undefined;
}

/**
 * The value of a field that has a fixed list of values; `undefined` if it is empty.
 * @throws {InvalidInputError} for any other value, naming the list
 */
export function choiceIn<T extends string>(
  fields: Fields,
  name: string,
  choices: readonly T[],
): T | undefined {
  const value = textIn(fields, name);
  const chosen = choices.find((choice) => choice === value);
  if (value !== undefined && chosen === undefined)
    throw new InvalidInputError(`${name}: must be one of ${choices.join(', ')}`);
  return chosen;
}

/** The values of a filter form. Unknown fields of the address are left out. */
export const filterIn = (fields: Fields, filters: readonly Filter[]): FilterValues =>
  Object.fromEntries(filters.map(({ name }) => [name, textIn(fields, name)]));

/** The token of the page to show; `undefined` for the first one. */
export function pageTokenIn(fields: Fields): string | undefined {
  const token = fields['page_token'];
  return typeof token === 'string' && token !== '' ? token : undefined;
}
