import { storable } from '../../platform/base/text/storable.ts';
import { type Field, FIELD } from '../../formats/text/search-document.ts';
import { type Token, tokensOf } from '../../formats/text/words.ts';

/** What a search asks for (docs/search.md): every group has to hold, of a group one term. */
export interface SearchQuery {
  groups: Term[][];
}

/** One thing that is asked for, or, negated, that must not be. */
export interface Term {
  negated: boolean;
  match: Match;
}

export type Match = TextMatch | StateMatch;

/** Words, in any place or in one. */
export interface TextMatch {
  kind: 'text';
  field: Field;
  tokens: readonly Token[];
  /** In this order, next to each other. */
  phrase: boolean;
  /** The last word may go on. */
  prefix: boolean;
}

/** What words do not say. */
export type StateMatch =
  | { kind: 'flag'; flag: 'unread' | 'starred' | 'attachment' | 'draft'; value: boolean }
  /** Half-open: from an instant on, or before one. */
  | { kind: 'from'; at: Date }
  | { kind: 'before'; at: Date }
  /** Name, display name or id. */
  | { kind: 'folder'; name: string }
  | { kind: 'anything' };

/** UTF-16 units of the name of a folder. */
const LONGEST_NAME = 255;
/** Words beyond these are not looked at. */
const MOST_WORDS = 64;
/** Shorter beginnings would be those of too many words: without `*`, and with it. */
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

/** A piece of a query as it was written. */
interface Piece {
  negated: boolean;
  /** Lower case; null: none. */
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
 * Reads a query. Any text is one: what is no operator is words.
 * @param now what ages are counted from
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
  // What is no operator of ours is text with a colon in it.
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

/** The beginning of a day in UTC, or an instant in Unix seconds; undefined for what is neither. */
function instantOf(text: string): Date | undefined {
  // A year alone is a year to whoever writes it.
  if (/^\d{4}$/.test(text)) return instantOf(`${text}-01-01`);
  if (SECONDS.test(text) && Number(text) <= LAST_SECOND) return new Date(Number(text) * 1000);
  const [, year = '', month = '', day = ''] = DAY.exec(text) ?? [];
  const at = new Date(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}T00:00:00Z`);
  // 2026-02-30 is no day.
  return Number.isNaN(at.getTime()) || at.getUTCDate() !== Number(day) || year === '0000'
    ? undefined
    : at;
}

/** 0001-01-01T00:00:00Z: before it PostgreSQL writes years in another way. */
const FIRST_MS = -62_135_596_800_000;
const DAYS: Readonly<Record<string, number>> = { d: 1, w: 7, m: 30, y: 365 };

/** `3d`, `2w`, `6m`, `1y` before now. */
function agoOf(text: string, now: Date): Date | undefined {
  const [, count = '', unit = ''] = /^(\d{1,4})([dwmy])$/i.exec(text) ?? [];
  const days = DAYS[unit.toLowerCase()];
  if (days === undefined) return undefined;
  return new Date(Math.max(FIRST_MS, now.getTime() - Number(count) * days * 86_400_000));
}
