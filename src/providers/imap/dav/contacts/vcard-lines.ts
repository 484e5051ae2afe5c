import { type LineParts, splitLine } from '../../../../formats/ical/content-lines.ts';
import { decodeCharset } from '../../../../formats/mime/reading/charset.ts';
import { decodeTransfer } from '../../../../formats/mime/reading/transfer-encoding.ts';

/*
 * Prepares the lines of cards for the library, which knows version 3 and 4. Phones export version
 * 2.1 (versit consortium, 1996), and programs write such lines into cards of version 3, too.
 */

const QUOTED_PRINTABLE = /^[^:\r\n]*;(?:ENCODING=)?QUOTED-PRINTABLE[;:]/i;

/** Joins the lines of values in quoted-printable: each but the last ends with `=`. */
export function joinSoftBreaks(text: string): string {
  if (!/QUOTED-PRINTABLE/i.test(text)) return text;
  const lines: string[][] = [];
  let isOpen = false;
  for (const line of text.split(/\r?\n/)) {
    const joinsNext: boolean = line.endsWith('=') && (isOpen || QUOTED_PRINTABLE.test(line));
    const piece = (isOpen ? line.replace(/^[ \t]/, '') : line).slice(0, joinsNext ? -1 : undefined);
    if (isOpen) lines.at(-1)?.push(piece);
    else lines.push([piece]);
    isOpen = joinsNext;
  }
  return lines.map((pieces) => pieces.join('')).join('\r\n');
}

const ENCODINGS = ['QUOTED-PRINTABLE', 'BASE64', 'B', '8BIT', '7BIT'];
/** Properties whose values have parts, divided by semicolons. */
const STRUCTURED = /(?:^|\.)(?:n|adr|org|gender|clientpidmap)$/;

/**
 * The line in the form that the library reads correctly: parameters have names, and the value is
 * decoded (RFC 2426 section 5). A semicolon is escaped only where it would divide parts (RFC 2426
 * section 4).
 */
export function libraryForm(line: string): string {
  const parts = splitLine(line);
  if (!parts) return line;
  const isStructured = STRUCTURED.test(parts.name);
  const coded = QUOTED_PRINTABLE.test(line);
  const { parameters, charset } = namedParameters(parts, coded);
  const value = coded ? decoded(parts.value, charset, isStructured) : parts.value;
  if (!isStructured && value.includes('\\;')) return lineOf(parts, parameters, plain(value));
  return parameters === parts.parameters && !coded ? line : lineOf(parts, parameters, value);
}

const lineOf = ({ name }: LineParts, parameters: string, value: string): string =>
  `${name}${parameters}:${value}`;

const plain = (value: string): string =>
  value.replaceAll(/\\(\\|;)/g, (escape, char: string) => (char === ';' ? ';' : escape));

/** Parameters with names. Those of a value that is decoded are left out. */
function namedParameters(
  { parameters }: LineParts,
  coded: boolean,
): { parameters: string; charset: string } {
  if (parameters === '' || parameters.includes('"')) return { parameters, charset: '' };
  const given = parameters.slice(1).split(';');
  const all = given.map((one) => {
    const bare = ENCODINGS.includes(one.toUpperCase()) ? 'ENCODING' : 'TYPE';
    return one.includes('=') ? one : `${bare}=${one}`;
  });
  const charset = all.find((one) => /^CHARSET=/i.test(one))?.slice('CHARSET='.length) ?? '';
  const kept = coded ? all.filter((one) => !/^(?:ENCODING|CHARSET)=/i.test(one)) : all;
  return { parameters: kept.map((one) => `;${one}`).join(''), charset };
}

function decoded(value: string, charset: string, isStructured: boolean): string {
  if (!isStructured) return escaped(textOf(value, charset), /[\\,]/g);
  const parts = value.split(/(?<!\\);/);
  return parts.map((part) => escaped(textOf(part, charset), /[\\;,]/g)).join(';');
}

function textOf(coded: string, charset: string): string {
  const bytes = Buffer.from(coded.replaceAll(/\\([;,\\])/g, '$1'));
  return decodeCharset(decodeTransfer(bytes, 'quoted-printable'), charset).text;
}

const escaped = (text: string, special: RegExp): string =>
  text.replaceAll(special, '\\$&').replaceAll(/\r\n?|\n/g, '\\n');
