import { isUtf8 } from 'node:buffer';
import { decodeCharset } from '../mime/reading/charset.ts';

/** A line of a calendar file or an address card. */
export interface ContentLine {
  /** As in the file, with its folds, without the line end after it. */
  raw: string;
  /** Unfolded (RFC 5545 3.1). */
  text: string;
}

/** Splits a file into its lines. Empty lines are left out. */
export function contentLines(text: string): ContentLine[] {
  const lines: ContentLine[] = [];
  for (let from = 0; from < text.length;) {
    let end = lineEnd(text, from);
    const pieces = [text.slice(from, withoutReturn(text, from, end))];
    while (text[end + 1] === ' ' || text[end + 1] === '\t') {
      const next = lineEnd(text, end + 1);
      pieces.push(text.slice(end + 2, withoutReturn(text, end + 2, next)));
      end = next;
    }
    const raw = text.slice(from, withoutReturn(text, from, end));
    if (raw.trim() !== '') lines.push({ raw, text: pieces.join('') });
    from = end + 1;
  }
  return lines;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

function withoutReturn(text: string, from: number, end: number): number {
  return end > from && text[end - 1] === '\r' ? end - 1 : end;
}

/** A content line in its parts (RFC 5545 3.1). */
export interface LineParts {
  /** Lower case. */
  name: string;
  /** With the semicolon before the first; empty if there are none. */
  parameters: string;
  value: string;
}

/** Quoted parameter values may contain colons. */
const PARTS = /^([^:;]+)((?:;(?:[^":]|"[^"]*")*)?):(.*)$/s;

/** The parts of an unfolded line; `null` if it is no content line. */
export function splitLine(text: string): LineParts | null {
  const [, name, parameters = '', value = ''] = PARTS.exec(text) ?? [];
  return name === undefined ? null : { name: name.trim().toLowerCase(), parameters, value };
}

/** A byte that ends a line fold, and those that can begin or continue a character of UTF-8. */
const [LF, CR, SPACE, TAB] = [0x0a, 0x0d, 0x20, 0x09];
const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0xc0) === 0x80;
const lengthOf = (lead: number): number =>
  lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;

/**
 * Removes line folds inside characters of UTF-8. Old programs fold after 75 octets, wherever that
 * is (RFC 5545 3.1): the octets must be joined before they are decoded. Other folds stay.
 */
export function joinFoldedCharacters(bytes: Buffer): Buffer {
  const kept: Buffer[] = [];
  let from = 0;
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    const next = bytes[at + 1];
    if ((next !== SPACE && next !== TAB) || !isContinuation(bytes[at + 2])) continue;
    const end = bytes[at - 1] === CR ? at - 1 : at;
    if (!isCutOff(bytes, end)) continue;
    kept.push(bytes.subarray(from, end));
    from = at + 2;
  }
  return from === 0 ? bytes : Buffer.concat([...kept, bytes.subarray(from)]);
}

/**
 * Calendar files and cards as they must be: in UTF-8 (RFC 5545 3.1.4, RFC 6350 3.1), with folds
 * only between characters. Lines in another charset are read in the likeliest one: they may be
 * written back.
 */
export function utf8Lines(bytes: Buffer): Buffer {
  const joined = joinFoldedCharacters(bytes);
  if (isUtf8(joined)) return joined;
  const lines: Buffer[] = [];
  for (let from = 0; from < joined.length;) {
    const end = joined.indexOf(LF, from);
    const next = end === -1 ? joined.length : end + 1;
    const line = joined.subarray(from, next);
    lines.push(isUtf8(line) ? line : Buffer.from(decodeCharset(line, 'utf-8').text));
    from = next;
  }
  return Buffer.concat(lines);
}

/** Whether the character before `end` lacks octets. */
function isCutOff(bytes: Buffer, end: number): boolean {
  for (let back = 1; back <= 3 && back <= end; back += 1) {
    const byte = bytes[end - back]!;
    if (!isContinuation(byte)) return lengthOf(byte) > back;
  }
  return false;
}
