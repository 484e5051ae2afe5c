import { FIELD, type LexemeOf } from '../../formats/text/lexemes.ts';
import type { Term, TextMatch } from './search-query.ts';
import type { Word } from '../../formats/text/words.ts';

/*
 * Converts terms to the text of a `tsquery`. Lexemes are quoted and contain neither quotes nor
 * backslashes (`tokensOf`), so PostgreSQL accepts the text for any query.
 */

const quoted = (lexeme: string, prefix: boolean) => `'${lexeme}'${prefix ? ':*' : ''}`;

/**
 * `exact`: the term as the user meant it. `loose`: ignores the order of words, which the index does
 * not know, and so may match more messages.
 */
export type Strictness = 'exact' | 'loose';

/**
 * The `tsquery` of a group of text terms, one of which must match.
 * @param lexemeOf the form of the lexemes in the documents or the index
 * @returns `null` if, loosely, any message may match
 */
export function groupText(
  lexemeOf: LexemeOf,
  group: readonly Term[],
  strictness: Strictness = 'exact',
): string | null {
  const texts: string[] = [];
  for (const { negated, match } of group) {
    if (match.kind !== 'text') continue;
    if (negated && strictness === 'loose' && hasOrder(match)) return null;
    texts.push(`${negated ? '!' : ''}(${matchText(lexemeOf, match, strictness)})`);
  }
  return `(${texts.join(' | ')})`;
}

/** True if the order of words matters. */
export function hasOrder({ tokens, phrase }: TextMatch): boolean {
  const joined = tokens.some(
    ({ address, wholes, words }) => !address && wholes.length > 0 && words.length > 1,
  );
  return joined || (phrase && tokens.flatMap(({ words }) => words).length > 1);
}

function matchText(
  lexemeOf: LexemeOf,
  { field, tokens, phrase, prefix }: TextMatch,
  strictness: Strictness,
): string {
  const between = strictness === 'exact' ? ' <-> ' : ' & ';
  const inOrder = (words: readonly Word[], last: boolean) => {
    const texts = words.map(({ folded }, index) =>
      quoted(lexemeOf(field, folded), last && index === words.length - 1),
    );
    return `(${texts.join(between)})`;
  };
  if (phrase && tokens.length > 1)
    return inOrder(
      tokens.flatMap(({ words }) => words),
      false,
    );
  const texts = tokens.map(({ words, wholes: [whole], address }, index) => {
    const last = prefix && index === tokens.length - 1;
    if (whole === undefined && phrase) return inOrder(words, false);
    if (whole === undefined)
      return words
        .map(({ folded }, at) => quoted(lexemeOf(field, folded), last && at === words.length - 1))
        .join(' & ');
    // An address is stored as a whole, so nothing else is needed. A compound word may also be part
    // of a longer one.
    const asWhole = quoted(lexemeOf(field, whole), last);
    return address || words.length < 2 ? asWhole : `(${asWhole} | ${inOrder(words, last)})`;
  });
  return texts.join(' & ');
}

/**
 * The `tsquery` for ranking: every requested word, also in its original spelling, which ranks
 * higher. `null` if the query has no words.
 */
export function rankText(lexemeOf: LexemeOf, groups: readonly (readonly Term[])[]): string | null {
  const lexemes = new Set<string>();
  for (const { negated, match } of groups.flat()) {
    if (negated || match.kind !== 'text') continue;
    for (const [index, token] of match.tokens.entries()) {
      const last = index === match.tokens.length - 1;
      for (const { folded, exact } of token.words) {
        lexemes.add(quoted(lexemeOf(match.field, folded), false));
        if (exact !== null) lexemes.add(quoted(lexemeOf(FIELD.exact, exact), false));
      }
      for (const whole of token.wholes.slice(0, 1))
        lexemes.add(quoted(lexemeOf(match.field, whole), false));
      const end = token.wholes[0] ?? token.words.at(-1)?.folded;
      if (match.prefix && last && end !== undefined)
        lexemes.add(quoted(lexemeOf(match.field, end), true));
    }
  }
  return lexemes.size === 0 ? null : [...lexemes].join(' | ');
}
