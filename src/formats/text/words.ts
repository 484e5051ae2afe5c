/*
 * Splits text of any language into words, in the same way for stored messages and for queries
 * (docs/search.md). Imported by the worker thread that parses messages, so it may import only files
 * whose types Node itself can strip.
 */

/** A word in the forms in which it is compared. */
export interface Word {
  /** Lower case, without accents and ligatures. */
  folded: string;
  /** Lower case, otherwise as written; `null` if equal to `folded`. */
  exact: string | null;
}

/**
 * Characters that belong together between spaces and most punctuation: a word, an address,
 * `e-mail`, `report_v2.pdf`.
 */
export interface Token {
  words: Word[];
  /**
   * The whole token, folded, and each part that can be searched as one (`mail.example.test` and
   * `example.test` in `bo@mail.example.test`). Empty for a plain word.
   */
  wholes: string[];
  address: boolean;
}

/** Longest word in UTF-16 units. Longer words are cut, in documents and in queries. */
export const LONGEST_WORD = 64;
/**
 * Most pieces of a compound token. A token with more pieces is searchable only by its first pieces
 * and as a whole.
 */
const MOST_PIECES = 20;

/** Letters that Unicode normalization does not decompose. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ŧ: 't',
  ς: 'σ',
};
const LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu');

/**
 * Invisible characters: soft hyphens, joiners, direction marks, variation selectors, and the marks
 * that make emoji of digits.
 */
const INVISIBLE =
  /\u034f|[\u20d0-\u20ff]|[\ufe00-\ufe0f]|[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/gu;
const TOKEN = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:[.\-_@+][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*/gu;
/** The same pattern for ASCII text, which is most of the work. */
const ASCII_TOKEN = /[a-z0-9]+(?:[.\-_@+][a-z0-9]+)*/g;
const ASCII = /^[\0-\x7f]*$/;
const JOINT = /[.\-_@+]/;
/** Scripts written without spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const PLAIN = /^[a-z0-9]*$/;
/**
 * Removes marks only from Latin and Greek letters, where they are accents. In other scripts they
 * are part of the letter (й, が, ि).
 */
const ACCENTS = /([\p{Script=Latin}\p{Script=Greek}])[\u0300-\u036f]+/gu;
/** Marks that writers may omit: Russian ё, Hebrew points, Arabic vowel signs and lengthening. */
const OPTIONAL =
  /(?<=е)\u0308|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]/gu;

const segmenter = new Intl.Segmenter('und', { granularity: 'word' });

/** @param lower one word, in NFKC and lower case */
function fold(lower: string): Word {
  const text = cut(lower);
  if (PLAIN.test(text)) return { folded: text, exact: null };
  const folded = cut(
    text
      .replace(LETTER, (letter) => LETTERS[letter] ?? letter)
      .normalize('NFD')
      .replace(ACCENTS, '$1')
      .replace(OPTIONAL, '')
      .normalize('NFC'),
  );
  // A word that consists only of marks stays unchanged.
  return folded === text || folded === '' ? { folded: text, exact: null } : { folded, exact: text };
}

const cut = (text: string): string =>
  text.length <= LONGEST_WORD ? text : text.slice(0, LONGEST_WORD).toWellFormed();

function wordsOf(piece: string): Word[] {
  if (PLAIN.test(piece) || !UNSPACED.test(piece)) return [fold(piece)];
  return [...segmenter.segment(piece)]
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => fold(segment));
}

function tokenOf(whole: string): Token {
  if (!JOINT.test(whole)) return { words: wordsOf(whole), wholes: [], address: false };
  const pieces = whole.split(JOINT);
  const at = whole.lastIndexOf('@');
  const address = at !== -1;
  // The last label of a domain, such as `test` or `com`, is not indexed as a word: it distinguishes
  // nothing.
  const named = address && pieces.length > 2 ? pieces.slice(0, -1) : pieces;
  const words = named.slice(0, MOST_PIECES).flatMap(wordsOf);
  if (pieces.length > MOST_PIECES) return { words, wholes: [fold(whole).folded], address };
  const local = whole.slice(0, Math.max(at, 0));
  const wholes = [
    whole,
    ...(JOINT.test(local) ? [local] : []),
    ...endsOf(address ? whole.slice(at + 1) : whole),
  ];
  return { words, wholes: [...new Set(wholes.map((text) => fold(text).folded))], address };
}

/** A dotted name and its suffixes that contain a dot: `a.b.test` has the suffix `b.test`. */
function endsOf(name: string): string[] {
  const ends: string[] = [];
  for (let rest = name; rest.includes('.'); rest = rest.slice(rest.indexOf('.') + 1))
    ends.push(rest);
  return ends;
}

/**
 * The words of a text, in order. Emoji and punctuation are skipped.
 * @param text of any length and content
 */
export function tokensOf(text: string): Token[] {
  const known = new Map<string, Token>();
  return piecesOf(text).map((piece) => {
    let token = known.get(piece);
    if (!token) known.set(piece, (token = tokenOf(piece)));
    return token;
  });
}

function piecesOf(text: string): string[] {
  if (ASCII.test(text)) return text.toLowerCase().match(ASCII_TOKEN) ?? [];
  const plain = text.replace(INVISIBLE, '').normalize('NFKC').toLowerCase();
  return plain.replaceAll('\u2010', '-').match(TOKEN) ?? [];
}
