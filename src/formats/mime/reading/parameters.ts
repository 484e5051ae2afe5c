import { decodeCharset } from './charset.ts';
import { decodeWords } from './encoded-words.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** A header field with parameters, such as Content-Type. */
export interface StructuredValue {
  /** The value without its parameters, in lower case; empty if there is none. */
  value: string;
  /** By name in lower case. The first of several parameters with the same name counts. */
  parameters: ReadonlyMap<string, string>;
}

/** The rest of a longer field is ignored. In UTF-16 units. */
const LONGEST_FIELD = 64 * 1024;
/** Names of files may contain blanks even without quotes. */
const NAMES = /^(?:file)?name\*?(?:\d+\*?)?$/;
const PARAMETER =
  /(?<![\w.*'%-])([\w.'%-][\w.*'%-]{0,79})\s{0,20}=\s{0,20}(?:"((?:[^"\\]|\\.)*)(?:"|\\?$)|([^;\s,]*))/gs;

/** Reads a field with parameters (RFC 2045 section 5.1, RFC 2231), however badly it is written. */
export function readStructured(field: string): StructuredValue {
  const text = field.slice(0, LONGEST_FIELD);
  const value = (/^[^;,]*/.exec(withoutComments(text))?.[0] ?? '').trim();
  const [word = ''] = value.replaceAll('"', '').split(/\s/, 1);
  const isParameter = word.includes('=');
  return { value: isParameter ? '' : word.toLowerCase(), parameters: joined(parametersOf(text)) };
}

/** Comments in front of the parameters; parentheses in parameters may belong to names of files. */
function withoutComments(text: string): string {
  const head = /^[^;]*/.exec(text)?.[0] ?? '';
  return head.replaceAll(/\([^()]*\)/g, ' ');
}

function parametersOf(text: string): Map<string, string> {
  const found = new Map<string, string>();
  PARAMETER.lastIndex = 0;
  for (let match = PARAMETER.exec(text); match; match = PARAMETER.exec(text)) {
    const [, name = '', quoted, word = ''] = match;
    const key = name.toLowerCase();
    let value = quoted?.replaceAll(/\\(.)/gs, '$1') ?? word;
    if (quoted === undefined && NAMES.test(key)) {
      const end = text.indexOf(';', PARAMETER.lastIndex);
      const start = PARAMETER.lastIndex - word.length;
      PARAMETER.lastIndex = end === -1 ? text.length : end;
      value = text.slice(start, PARAMETER.lastIndex).trim();
    }
    if (!found.has(key)) found.set(key, value);
  }
  return found;
}

interface Piece {
  order: number;
  value: string;
  isEncoded: boolean;
}

/** Joins and decodes parameters that are written in pieces or with a charset (RFC 2231). */
function joined(parameters: ReadonlyMap<string, string>): Map<string, string> {
  const whole = new Map<string, string>();
  const pieces = new Map<string, Piece[]>();
  for (const [key, value] of parameters) {
    const [, name = '', number = '', star] = /^([^*]+)\*(\d*)(\*?)$/.exec(key) ?? [];
    if (name === '') whole.set(key, value);
    else {
      const piece = { order: Number(number), value, isEncoded: star === '*' || number === '' };
      pieces.set(name, [...(pieces.get(name)?.slice(0, MOST_PIECES) ?? []), piece]);
    }
  }
  for (const [name, list] of pieces) whole.set(name, decodePieces(list));
  return whole;
}

/** More pieces of one parameter are ignored. */
const MOST_PIECES = 500;

function decodePieces(pieces: readonly Piece[]): string {
  const sorted = pieces.toSorted((a, b) => a.order - b.order);
  const [first] = sorted;
  const [, charset = '', rest] =
    (first?.isEncoded && /^([^']*)'[^']*'(.*)$/s.exec(first.value)) || [];
  const bytes = sorted.map(({ value, isEncoded }, index) => {
    const text = index === 0 && rest !== undefined ? rest : value;
    return isEncoded ? percentDecoded(text) : Buffer.from(text);
  });
  return decodeCharset(Buffer.concat(bytes), charset).text;
}

function percentDecoded(text: string): Buffer {
  const latin1 = Buffer.from(text).toString('latin1');
  const decoded = latin1.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => {
    return String.fromCharCode(Number.parseInt(hex, 16));
  });
  return Buffer.from(decoded, 'latin1');
}

/** The name of a file in parameters, decoded; empty if it has none. */
export function fileNameOf(parameters: ReadonlyMap<string, string>, name: string): string {
  return decodeWords(parameters.get(name) ?? '').trim();
}
