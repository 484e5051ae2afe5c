import { nearestName } from '../../base/text/nearest-name.ts';

/** The client chooses the names, which can be many and long. */
export const MOST_NAMES = 10;
const LONGEST_NAME = 40;

/** What a name in a request stands for: a parameter of the query, or a field of the body. */
export type NameKind = 'query parameter' | 'field';

/** A name that a request contains and its endpoint does not know. */
export interface UnknownName {
  kind: NameKind;
  /** Names and indexes that lead to the object of a field; empty for a parameter. */
  place: readonly string[];
  name: string;
  /** The names that the endpoint knows in this place. */
  known: readonly string[];
}

/** A name as a header and an error text can show it. */
const encoded = (name: string): string =>
  encodeURIComponent(name.slice(0, LONGEST_NAME).toWellFormed());

/** `participants.0.emial` */
export const shownName = ({ place, name }: UnknownName): string =>
  [...place, encoded(name)].join('.');

/** `unred (did you mean unread?)` */
function withNearest(unknown: UnknownName): string {
  const nearest = nearestName(unknown.name, unknown.known);
  const shown = shownName(unknown);
  return nearest === undefined ? shown : `${shown} (did you mean ${nearest}?)`;
}

/** Whether a known name resembles the unknown one. */
export const isMisspelt = ({ name, known }: UnknownName): boolean =>
  nearestName(name, known) !== undefined;

const KINDS: readonly NameKind[] = ['query parameter', 'field'];

/** The unknown names of each kind that occurs, with a text that lists them. */
const byKind = (names: readonly UnknownName[]) =>
  KINDS.map((kind) => ({ kind, names: names.filter((name) => name.kind === kind) }))
    .filter((group) => group.names.length > 0)
    .map((group) => ({ ...group, text: group.names.map(withNearest).join(', ') }));

/** Value of the header `Warning` (RFC 7234 5.5): one warning for each kind of names. */
export function warningOf(names: readonly UnknownName[]): string {
  return byKind(names)
    .map(({ kind, text }) => `299 - "Unknown ${kind}s were ignored: ${text}"`)
    .join(', ');
}

/** What is known in the places of the unknown names, each place once. */
function knownTexts(kind: NameKind, names: readonly UnknownName[]): string[] {
  const places = new Map(names.map(({ place, known }) => [place.join('.'), known]));
  return [...places].map(([place, known]) => {
    if (known.length > 0) return `known ${place ? `in ${place}` : 'here'}: ${known.join(', ')}`;
    return kind === 'field'
      ? 'this endpoint knows no fields'
      : 'this endpoint has no query parameters';
  });
}

/** Error text for a request that is refused: the unknown names, and those that are known. */
export function refusalOf(names: readonly UnknownName[]): string {
  return byKind(names)
    .map(
      ({ kind, names: group, text }) =>
        `Unknown ${kind}s: ${[text, ...knownTexts(kind, group)].join('; ')}`,
    )
    .join('. ');
}
