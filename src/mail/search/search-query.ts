import { storable } from '../../platform/base/text/storable.ts';
import { type Field, FIELD } from '../../formats/text/lexemes.ts';
import { type Token, tokensOf } from '../../formats/text/words.ts';

/**
 * A parsed search query (docs/search.md). Every group must match; a group matches if one of its
 * terms does.
 */
export interface SearchQuery {
  groups: Term[][];
}

/** One condition. If `negated`, the message must not match it. */
export interface Term {
  negated: boolean;
  match: Match;
}

export type Match = TextMatch | StateMatch;

/** Words, in any field or in one field. */
export interface TextMatch {
  kind: 'text';
  field: Field;
  tokens: readonly Token[];
  /** True if the words must be adjacent and in this order. */
  phrase: boolean;
  /** True if the last word may be the beginning of a longer word. */
  prefix: boolean;
}

/** Conditions on the state of a message instead of its words. */
export type StateMatch =
  | { kind: 'flag'; flag: 'unread' | 'starred' | 'attachment' | 'draft'; value: boolean }
  /** From an instant on (inclusive), or before one (exclusive). */
  | { kind: 'from'; at: Date }
  | { kind: 'before'; at: Date }
  /** Name, display name or id of a folder. */
  | { kind: 'folder'; name: string }
  | { kind: 'anything' };

/** Maximum length of a folder name, in UTF-16 units. */
const LONGEST_NAME = 255;
/** Further words are ignored. */
const MOST_WORDS = 64;
/**
 * Minimum length of a word's beginning, without and with `*`. Shorter ones match too many words.
 */
const SHORTEST_PREFIX = 3;
const SHORTEST_ASKED_PREFIX = 2;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

const TEXT_OPERATORS: Readonly<Record<string, Field>> = {
  from: FIELD.from,
  to: FIELD.to,
  cc: FIELD.cc,
  bcc: FIELD.bcc,
  subject: FIELD.subject,
  filename: FIELD.filename,
};

const flag = (name: 'unread' | 'starred' | 'attachment' | 'draft', value = true): StateMatch => {
  return { kind: 'flag', flag: name, value };
};
const STATES: Readonly<Record<string, StateMatch>> = {
  'is:unread': flag('unread'),
  'is:read': flag('unread', false),
  'is:starred': flag('starred'),
  'is:unstarred': flag('starred', false),
  'is:flagged': flag('starred'),
  'is:draft': flag('draft'),
  'has:attachment': flag('attachment'),
  'has:attachments': flag('attachment'),
  'in:anywhere': { kind: 'anything' },
};

/** A piece of a query as the user wrote it. */
interface Piece {
  negated: boolean;
  /** Operator in lower case; `null` if there is none. */
  operator: string | null;
  value: string;
  quoted: boolean;
  whole: string;
}

const PIECE = /(-)?(?:([a-z_]{2,20}):)?(?:["“”„]([^"“”„]*)["“”„]?|(\S+))/giu;

function piecesOf(query: string): Piece[] {
  return [...query.matchAll(PIECE)].map(([whole, minus, operator, quoted, plain]) => ({
    negated: minus !== undefined,
    operator: operator?.toLowerCase() ?? null,
    value: quoted ?? plain ?? '',
    quoted: quoted !== undefined,
    whole: minus === undefined ? whole : whole.slice(1),
  }));
}

/**
 * Parses a query. Any text is valid: everything that is not an operator is read as words.
 * @param now time that ages such as `3d` are subtracted from
 */
export function parseSearchQuery(query: string, now: Date): SearchQuery {
  const pieces = piecesOf(query);
  const goesOn = /\S$/u.test(query);
  const groups: Term[][] = [];
  let [words, joins] = [0, false];
  for (const [index, piece] of pieces.entries()) {
    if (isOr(piece) && groups.length > 0 && index < pieces.length - 1) {
      joins = true;
      continue;
    }
    const match = stateOf(piece, now) ?? textOf(piece, goesOn && index === pieces.length - 1);
    if (!match) continue;
    words +=
      match.kind === 'text' ? match.tokens.reduce((sum, token) => sum + token.words.length, 0) : 1;
    if (words > MOST_WORDS && groups.length > 0) break;
    const term = { negated: piece.negated, match };
    if (joins) groups.at(-1)?.push(term);
    else groups.push([term]);
    joins = false;
  }
  return { groups };
}

const isOr = ({ whole, negated, quoted }: Piece) => whole === 'OR' && !negated && !quoted;

function textOf(piece: Piece, last: boolean): TextMatch | undefined {
  const { operator, value, quoted, whole, negated } = piece;
  const field = TEXT_OPERATORS[operator ?? ''];
  const named = field !== undefined && tokensOf(value).length > 0;
  // An unknown operator is text that contains a colon.
  const text = quoted && (named || operator === null) ? value : named ? value : whole;
  const tokens = cutWords(tokensOf(text));
  if (tokens.length === 0) return undefined;
  const asked = !quoted && text.endsWith('*');
  const least = asked ? SHORTEST_ASKED_PREFIX : SHORTEST_PREFIX;
  const end = tokens.at(-1)?.wholes[0] ?? tokens.at(-1)?.words.at(-1)?.folded ?? '';
  const prefix =
    (asked || (last && !quoted && !negated)) && (end.length >= least || UNSPACED.test(end));
  return { kind: 'text', field: named ? field : FIELD.any, tokens, phrase: quoted, prefix };
}

function cutWords(tokens: readonly Token[]): Token[] {
  const kept: Token[] = [];
  let left = MOST_WORDS;
  for (const token of tokens) {
    if (left <= 0) break;
    kept.push(token.words.length > left ? { ...token, words: token.words.slice(0, left) } : token);
    left -= token.words.length;
  }
  return kept;
}

function stateOf({ operator, value }: Piece, now: Date): StateMatch | undefined {
  if (operator === null || value === '') return undefined;
  const known = STATES[`${operator}:${value.toLowerCase()}`];
  if (known) return known;
  switch (operator) {
    case 'in':
    case 'label':
      return { kind: 'folder', name: storable(value, LONGEST_NAME) };
    case 'after':
    case 'newer':
      return spanOf('from', instantOf(value));
    case 'before':
    case 'older':
      return spanOf('before', instantOf(value));
    case 'newer_than':
      return spanOf('from', agoOf(value, now));
    case 'older_than':
      return spanOf('before', agoOf(value, now));
    default:
      return undefined;
  }
}

const spanOf = (kind: 'from' | 'before', at: Date | undefined): StateMatch | undefined =>
  at && { kind, at };

const DAY = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})$/;
const SECONDS = /^\d{1,12}$/;
/** 9999-12-31T23:59:59Z. */
const LAST_SECOND = 253_402_300_799;

/** The beginning of a day in UTC, or an instant in Unix seconds. `undefined` for any other text. */
function instantOf(text: string): Date | undefined {
  // Four digits mean a year, not seconds.
  if (/^\d{4}$/.test(text)) return instantOf(`${text}-01-01`);
  if (SECONDS.test(text) && Number(text) <= LAST_SECOND) return new Date(Number(text) * 1000);
  const [, year = '', month = '', day = ''] = DAY.exec(text) ?? [];
  const at = new Date(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}T00:00:00Z`);
  // Refuses days that do not exist, such as 2026-02-30.
  return Number.isNaN(at.getTime()) || at.getUTCDate() !== Number(day) || year === '0000'
    ? undefined
    : at;
}

/** 0001-01-01T00:00:00Z. PostgreSQL writes earlier years in another format. */
const FIRST_MS = -62_135_596_800_000;
const DAYS: Readonly<Record<string, number>> = { d: 1, w: 7, m: 30, y: 365 };

/** The time `3d`, `2w`, `6m` or `1y` before now. */
function agoOf(text: string, now: Date): Date | undefined {
  const [, count = '', unit = ''] = /^(\d{1,4})([dwmy])$/i.exec(text) ?? [];
  const days = DAYS[unit.toLowerCase()];
  if (days === undefined) return undefined;
  return new Date(Math.max(FIRST_MS, now.getTime() - Number(count) * days * 86_400_000));
}
