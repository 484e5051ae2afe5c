import { decodeCharset } from './charset.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** A field of a header. */
export interface HeaderField {
  /** As it is written. */
  name: string;
  /** Unfolded, in Unicode; encoded words are still encoded. */
  value: string;
}

/** More fields of one header are ignored. */
const MOST_FIELDS = 10_000;
const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;

/** Where a header ends, with its empty line, and where the content begins. */
export interface HeaderEnd {
  end: number;
  content: number;
}

/**
 * Finds the empty line that ends a header.
 * @param most longest header in bytes; the rest of a longer one is in neither
 * @param isAfter whether the line at a position belongs to neither header nor content, so that the
 * header ends without an empty line and the content is empty. Default: no line does
 */
export function headerEndOf(
  bytes: Buffer,
  start: number,
  most: number,
  isAfter: (line: number) => boolean = () => false,
): HeaderEnd {
  const limit = Math.min(bytes.length, start + most);
  for (let line = start; line < bytes.length;) {
    const length = bytes[line] === CR && bytes[line + 1] === LF ? 2 : bytes[line] === LF ? 1 : 0;
    if (length > 0) return { end: Math.min(line + length, limit), content: line + length };
    if (isAfter(line)) return { end: Math.min(line, limit), content: line };
    const next = bytes.indexOf(LF, line);
    if (next === -1) break;
    line = next + 1;
  }
  return { end: limit, content: bytes.length };
}

/** The fields of a header, in order. A line without a colon is no field. Never throws. */
export function headerFields(header: Buffer): HeaderField[] {
  const raw = rawFields(header);
  const hint = charsetOf(raw);
  return raw.flatMap((bytes) => {
    const colon = bytes.indexOf(':');
    if (colon <= 0) return [];
    const name = bytes.toString('latin1', 0, colon).replace(/^[ \t]+|[ \t]+$/g, '');
    const { text } = decodeCharset(bytes.subarray(colon + 1), '', { other: hint });
    return [
      {
        name,
        value: text
          .replaceAll(/\r?\n(?=[ \t])/g, '')
          .replaceAll(/[\r\n]+/g, ' ')
          .trim(),
      },
    ];
  });
}

/**
 * The text of a header as it is written: fields that are not UTF-8 are read in the charset that
 * their message names, or else in the likeliest.
 */
export function headerText(header: Buffer): string {
  const raw = rawFields(header);
  const other = charsetOf(raw);
  return raw.map((bytes) => decodeCharset(bytes, '', { other }).text).join('');
}

/** First value of a field; empty if there is none. */
export function valueOf(fields: readonly HeaderField[], name: string): string {
  return fields.find((field) => field.name.toLowerCase() === name)?.value ?? '';
}

/** All values of a field, in order. */
export function valuesOf(fields: readonly HeaderField[], name: string): string[] {
  return fields.flatMap((field) => (field.name.toLowerCase() === name ? [field.value] : []));
}

/** The bytes of each field, with their line ends. */
function rawFields(header: Buffer): Buffer[] {
  const fields: Buffer[] = [];
  for (let start = 0; start < header.length && fields.length < MOST_FIELDS;) {
    let end = start;
    do {
      const next = header.indexOf(LF, end);
      end = next === -1 ? header.length : next + 1;
    } while (end < header.length && (header[end] === SPACE || header[end] === TAB));
    fields.push(header.subarray(start, end));
    start = end;
  }
  return fields;
}

/** Programs that write a header without encoding it write it in the charset of the text. */
function charsetOf(fields: readonly Buffer[]): string {
  const type = fields.find((field) =>
    /^content-type[ \t]*:/i.test(field.toString('latin1', 0, 20)),
  );
  const value = type?.toString('latin1', 0, 2_000) ?? '';
  return /[;\s]charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(value)?.[1] ?? '';
}
