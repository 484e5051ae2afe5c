/*
 * Words of any language, the same for what is stored and for what is asked (docs/search.md). Imported by the thread that
 * parses messages: only what Node itself can strip of types.
 */

/** A word as it is compared. */
export interface Word {
  /** Lower case, without accents and ligatures. */
  folded: string;
  /** Lower case, as it was written; null: the same. */
  exact: string | null;
}

/** What stands together between spaces and most punctuation: a word, an address, `e-mail`, `report_v2.pdf`. */
export interface Token {
  words: Word[];
  /**
   * The whole, folded, and every part of it that is looked for as one (`mail.example.test` and `example.test` in
   * `bo@mail.example.test`). Empty for a plain word.
   */
  wholes: string[];
  address: boolean;
}

/** UTF-16 units; longer words are cut, on both sides. */
export const LONGEST_WORD = 64;
/** So many pieces are a word made of others; what has more is no word. */
const MOST_PIECES = 20;

/** Letters that no decomposition takes apart. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ħ: 'h', ı: 'i', ŧ: 't', ς: 'σ',
}; // prettier-ignore
const LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu');

/** Invisible: soft hyphens, joiners, marks of direction, variation selectors; and what makes emoji of digits. */
const INVISIBLE =
  /\u034f|[\u20d0-\u20ff]|[\ufe00-\ufe0f]|[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/gu;
const TOKEN = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:[.\-_@+][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*/gu;
/** The same for texts that are ASCII, which is most of the work. */
const ASCII_TOKEN = /[a-z0-9]+(?:[.\-_@+][a-z0-9]+)*/g;
const ASCII = /^[\0-\x7f]*$/;
const JOINT = /[.\-_@+]/;
/** Written without spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const PLAIN = /^[a-z0-9]*$/;
/** Only where a mark is an accent: in other scripts it is part of the letter (й, が, ि). */
const ACCENTS = /([\p{Script=Latin}\p{Script=Greek}])[\u0300-\u036f]+/gu;
/** Russian ё, points of Hebrew, vowel signs and lengthening of Arabic: written or left out as one likes. */
const OPTIONAL =
  /(?<=е)\u0308|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]/gu;

const segmenter = new Intl.Segmenter('und', { granularity: 'word' });

/** @param lower of one word, NFKC and lower case */
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
  // A word of nothing but marks stays what it is.
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
  // The last label of a domain says nothing: `test`, `com`.
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

/** A dotted name, and what follows each of its dots while a dot is left: `a.b.test` has the end `b.test`. */
function endsOf(name: string): string[] {
  const ends: string[] = [];
  for (let rest = name; rest.includes('.'); rest = rest.slice(rest.indexOf('.') + 1))
    ends.push(rest);
  return ends;
}

/**
 * The words of a text, in order. Emoji and punctuation are none.
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
