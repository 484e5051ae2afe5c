import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { ListPosition } from './kit/table.ts';
import type { FilterValues, Filter } from './kit/filters.ts';

/** Query or form of a request, as the parser gives it. */
export type Fields = Readonly<Record<string, unknown>>;

const LONGEST = 300;

/** The text of a field without surrounding spaces; `undefined` if it is empty or not a text. */
export function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' ? value.trim().slice(0, LONGEST) || undefined : undefined;
}

/** The operator's reason (`reasonField`); `null` if there is none. */
export const reasonIn = (fields: Fields): string | null => textIn(fields, 'reason') ?? null;

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

/**
 * Like `choiceIn`, for actions that cannot be undone: a JSON body can have a value that is no text,
 * and such a value is not taken for an empty one.
 * @throws {InvalidInputError} for any other value, naming the list
 */
export function strictChoiceIn<T extends string>(
  fields: Fields,
  name: string,
  choices: readonly T[],
): T | undefined {
  const value = fields[name];
  if (value !== undefined && typeof value !== 'string')
    throw new InvalidInputError(`${name}: must be a text, one of ${choices.join(', ')}`);
  return choiceIn(fields, name, choices);
}

/** The values of a filter form. Unknown fields of the address are left out. */
export const filterIn = (fields: Fields, filters: readonly Filter[]): FilterValues =>
  Object.fromEntries(filters.map(({ name }) => [name, textIn(fields, name)]));

/** Digits of the number of an item in a list. */
const LONGEST_POSITION = 9;

/**
 * The page of a list that an address asks for. `from` is only shown: its token alone decides what
 * the page has.
 */
export function positionIn(fields: Fields): ListPosition {
  const token = fields['page_token'];
  const pageToken = typeof token === 'string' && token !== '' ? token : undefined;
  const from = textIn(fields, 'from') ?? '';
  const isNumber = pageToken !== undefined && /^[1-9]\d*$/.test(from);
  return { pageToken, from: isNumber && from.length <= LONGEST_POSITION ? Number(from) : 1 };
}
