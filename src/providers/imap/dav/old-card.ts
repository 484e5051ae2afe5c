import { contentLines, splitLine } from '../../../formats/ical/content-lines.ts';
import { decodeCharset } from '../../../formats/mime/reading/charset.ts';
import { decodeTransfer } from '../../../formats/mime/reading/transfer-encoding.ts';

/*
 * vCard 2.1, which old phones and Outlook write. It differs from version 3 in its parameters
 * without a name, in quoted-printable and charsets for single values, and in its line folds.
 * Runs in worker threads.
 */

const VERSION = /^VERSION\s*:\s*2\.1\s*$/im;
/** Values whose parts are separated by semicolons. */
const STRUCTURED = ['n', 'adr', 'org'];
/** Words for places of a value, and for encodings that change nothing. */
const PLACES = /^(?:value=)?(?:url|uri|cid|content-id)$/i;
const NEUTRAL = /^(?:encoding=)?(?:7bit|8bit)$|^(?:value=)?inline$/i;
const ENCODED = /^(?:encoding=)?(quoted-printable|base64|b)$/i;
const BASE64_LINE = /^[A-Za-z0-9+/=]+$/;

interface OldParameters {
  encoding: 'quoted-printable' | 'base64' | null;
  charset: string;
  /** As version 3 writes them. */
  kept: string;
}

/**
 * A card of version 2.1 as a card of version 3 (RFC 2426), with everything that it says. Other
 * cards stay as they are. Never throws.
 */
export function asVersion3(text: string): string {
  if (!VERSION.test(text)) return text;
  const lines = contentLines(text);
  const written: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const parts = splitLine(lines[at]?.raw ?? '');
    if (!parts) {
      written.push(lines[at]?.raw ?? '');
      continue;
    }
    const { encoding, charset, kept } = readParameters(parts.parameters);
    const pieces = [parts.value];
    const goesOn = (next: string) =>
      encoding === 'quoted-printable'
        ? (pieces.at(-1) ?? '').endsWith('=')
        : encoding === 'base64' && BASE64_LINE.test(next);
    for (let next = lines[at + 1]; next && goesOn(next.raw); next = lines[at + 1]) {
      pieces.push(next.raw);
      at += 1;
    }
    const value = pieces.join('\r\n');
    const isText = encoding === 'quoted-printable';
    const plain = isText
      ? decoded(parts.name, value, charset)
      : value.replaceAll(/\r?\n[ \t]?/g, '');
    const modern =
      parts.name === 'version' ? '3.0' : isText ? plain : withEscapes(parts.name, plain);
    written.push(`${parts.name.toUpperCase()}${kept}:${modern}`);
  }
  return `${written.join('\r\n')}\r\n`;
}

function readParameters(parameters: string): OldParameters {
  const read: OldParameters = { encoding: null, charset: '', kept: '' };
  for (const parameter of parameters.split(';').map((one) => one.trim())) {
    const [, encoding] = ENCODED.exec(parameter) ?? [];
    const [, charset] = /^charset="?([^"]*)"?$/i.exec(parameter) ?? [];
    if (encoding) read.encoding = /^q/i.test(encoding) ? 'quoted-printable' : 'base64';
    else if (charset !== undefined) read.charset = charset;
    else if (PLACES.test(parameter)) read.kept += ';VALUE=uri';
    else if (parameter !== '' && !NEUTRAL.test(parameter))
      read.kept += parameter.includes('=') ? `;${parameter}` : `;TYPE=${parameter}`;
  }
  if (read.encoding === 'base64') read.kept += ';ENCODING=b';
  return read;
}

/** An encoded semicolon belongs to the text; one that is not encoded separates parts. */
function decoded(name: string, value: string, charset: string): string {
  const parts = STRUCTURED.includes(name) ? value.split(/(?<!\\);/) : [value];
  return parts
    .map((part) => {
      const bytes = decodeTransfer(Buffer.from(part), 'quoted-printable');
      const { text } = decodeCharset(bytes, charset);
      return escaped(text.replaceAll(/\r?\n[ \t]/g, ''));
    })
    .join(';');
}

const escaped = (text: string): string =>
  text
    .replaceAll('\\;', ';')
    .replaceAll(/[\\;,]/g, '\\$&')
    .replaceAll(/\r\n?|\n/g, '\\n');

/** Version 2.1 has no lists of values, so a comma is part of a name. */
const withEscapes = (name: string, value: string): string =>
  STRUCTURED.includes(name) ? value.replaceAll(/(?<!\\),/g, '\\,') : value;
