import { z } from 'zod';
import { nearestName } from '../base/text/nearest-name.ts';

type Issue = z.core.$ZodRawIssue;

/** Error texts repeat names from the request, which can be long and many. */
const SHOWN_NAMES = 3;
const SHOWN_CHARACTERS = 60;

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const cut = (name: string): string => name.slice(0, SHOWN_CHARACTERS).toWellFormed();

/**
 * The error text for names that an object does not have.
 * @param known the names that it has
 */
export function unknownNamesText(names: readonly string[], known: readonly string[]): string {
  const shown = names.slice(0, SHOWN_NAMES).map((name) => {
    const nearest = nearestName(name, known);
    return nearest === undefined ? cut(name) : `${cut(name)} (did you mean ${nearest}?)`;
  });
  const allowed = known.length > 0 ? `; allowed: ${known.join(', ')}` : '';
  return `must not contain ${shown.join(', ')}${allowed}`;
}

/** The `error` of a strict object, which names the fields that the object does not have. */
export function unknownNamesError(known: readonly string[]) {
  return (issue: Issue): string | undefined =>
    issue.code === 'unrecognized_keys' ? unknownNamesText(issue.keys, known) : undefined;
}

function tooBig(issue: Extract<Issue, { code: 'too_big' }>): string {
  const { origin, maximum } = issue;
  if (origin === 'string') return `must not be longer than ${maximum} characters`;
  if (origin === 'array' || origin === 'set') return `must not have more than ${maximum} entries`;
  return issue.inclusive === false ? `must be less than ${maximum}` : `must be at most ${maximum}`;
}

function tooSmall(issue: Extract<Issue, { code: 'too_small' }>): string {
  const { origin, minimum } = issue;
  const isSized = origin === 'string' || origin === 'array' || origin === 'set';
  if (isSized && minimum === 1) return 'must not be empty';
  if (origin === 'string') return `must have at least ${minimum} characters`;
  if (isSized) return `must have at least ${minimum} entries`;
  return issue.inclusive === false
    ? `must be greater than ${minimum}`
    : `must be at least ${minimum}`;
}

/**
 * The text of the choice that the value was nearest to, which has the right type; otherwise the
 * types of all choices.
 */
function noChoice({ errors }: Extract<Issue, { code: 'invalid_union' }>): string | undefined {
  const first = errors.flatMap((issues) => issues.slice(0, 1));
  const near = first.find(({ code }) => code !== 'invalid_type' && code !== 'invalid_value');
  if (near) return near.path.length > 0 ? undefined : near.message;
  const types = first.map((issue) =>
    issue.code === 'invalid_type' ? TYPES[issue.expected] : undefined,
  );
  if (types.length === 0 || types.includes(undefined)) return undefined;
  return `must be ${[...new Set(types)].join(' or ')}`;
}

/**
 * Text of an error for which a schema has no text of its own.
 * @returns `undefined` for zod's text
 */
function textOf(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'too_big':
      return tooBig(issue);
    case 'too_small':
      return tooSmall(issue);
    case 'invalid_key':
      // Zod's text does not say what is wrong with the key, which is the last part of the path.
      return issue.issues[0]?.message;
    case 'unrecognized_keys':
      return unknownNamesText(issue.keys, []);
    case 'invalid_union':
      return noChoice(issue);
    default:
      return undefined;
  }
}

/** Makes the texts of zod's errors name what is allowed, in the words of this program. */
export function useErrorTexts(): void {
  z.config({ customError: textOf });
}
