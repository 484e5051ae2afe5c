/** A header of a message or of a part, unfolded. */
export interface Header {
  name: string;
  value: string;
}

/** A part of a MIME message. */
export interface MimePart {
  /** Numbered as Gmail does: empty for the message itself, then `0`, `1`, `1.0`. */
  partId: string;
  headers: Header[];
  /** In lower case. */
  mimeType: string;
  /** Empty for a part that is no attachment. */
  filename: string;
  /** Decoded; empty for a multipart. */
  content: Buffer;
  parts: MimePart[];
}

/** Parses a message. What is malformed is taken as text, as a mailbox does. */
export function parsedMime(raw: Buffer): MimePart {
  return part(raw.toString('latin1'), '');
}

/** Only the headers of a message, in their order. */
export function headersOf(raw: Buffer): Header[] {
  return headers(split(raw.toString('latin1'))[0]);
}

/** Value of the first header with this name; null for none. */
export function headerValue(headers: readonly Header[], name: string): string | null {
  const wanted = name.toLowerCase();
  return headers.find((header) => header.name.toLowerCase() === wanted)?.value ?? null;
}

/** Addresses in a header's value, in lower case and without names. */
export function addressesIn(value: string | null): string[] {
  const text = (value ?? '').replace(/"(\\.|[^"\\])*"/g, '');
  return [...text.matchAll(/[^\s<>,;:"()]+@[^\s<>,;:"()]+/g)].map(([one]) => one.toLowerCase());
}

/** Message-IDs in a header's value, with their angle brackets. */
export function messageIdsIn(value: string | null): string[] {
  return (value ?? '').match(/<[^<>\s]+>/g) ?? [];
}

/** Removes all headers with this name from a message. */
export function withoutHeader(raw: Buffer, name: string): Buffer {
  const [head, body, gap] = split(raw.toString('latin1'));
  const wanted = `${name.toLowerCase()}:`;
  const kept = fields(head).filter((field) => !field.toLowerCase().startsWith(wanted));
  return Buffer.from(kept.join('') + gap + body, 'latin1');
}

/** Puts a header before all others. */
export function withHeader(raw: Buffer, name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from(`${name}: ${value}\r\n`), raw]);
}

/** Head with its last line break, body, and the empty line between them. */
function split(text: string): [head: string, body: string, gap: string] {
  const match = /\r?\n(\r?\n)/.exec(text);
  if (/^\r?\n/.test(text)) return ['', text.replace(/^\r?\n/, ''), '\r\n'];
  if (!match) return [text.endsWith('\n') ? text : `${text}\r\n`, '', '\r\n'];
  const [whole, gap = '\r\n'] = match;
  const end = match.index + whole.length;
  return [text.slice(0, end - gap.length), text.slice(end), gap];
}

/** Fields with their continuation lines and line breaks. */
function fields(head: string): string[] {
  return head.match(/[^\r\n][^\n]*\n(?:[ \t][^\n]*\n)*/g) ?? [];
}

function headers(head: string): Header[] {
  return fields(head).flatMap((field) => {
    const colon = field.indexOf(':');
    if (colon <= 0) return [];
    const value = field
      .slice(colon + 1)
      .replace(/\r?\n(?=[ \t])/g, '')
      .trim();
    return [{ name: field.slice(0, colon).trim(), value: decodedWords(utf8(value)) }];
  });
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}

function decodedWords(value: string): string {
  return value
    .replace(/(\?=)\s+(?==\?)/g, '$1')
    .replace(/=\?([^?*]+)(?:\*[^?]*)?\?([bq])\?([^?]*)\?=/gi, (_all, charset, kind, text) => {
      const quoted = String(text).replaceAll('_', ' ');
      const bytes = /b/i.test(String(kind))
        ? Buffer.from(String(text), 'base64')
        : fromQuotedPrintable(quoted);
      return decoded(bytes, String(charset));
    });
}

function decoded(bytes: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch (error) {
    if (error instanceof RangeError) return bytes.toString('latin1');
    throw error;
  }
}

function fromQuotedPrintable(text: string): Buffer {
  const plain = text
    .replace(/[ \t]+(?=\r?\n)/g, '')
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9a-f]{2})/gi, (_all, hex) =>
      String.fromCharCode(Number.parseInt(String(hex), 16)),
    );
  return Buffer.from(plain, 'latin1');
}

function parameter(value: string, name: string): string {
  const expression = new RegExp(`;\\s*${name}\\*?=(?:"((?:\\\\.|[^"\\\\])*)"|([^;\\s]+))`, 'i');
  const [, quoted, plain] = expression.exec(value) ?? [];
  const text = (quoted ?? plain ?? '').replace(/\\(.)/g, '$1');
  const extended = /^utf-8'[^']*'(.*)$/i.exec(text)?.[1];
  return extended === undefined ? text : decodeURIComponent(extended);
}

function part(text: string, partId: string): MimePart {
  const [head, body] = split(text);
  const own = headers(head);
  const type = headerValue(own, 'content-type') ?? 'text/plain';
  const mimeType = (/^[^;\s]+/.exec(type)?.[0] ?? 'text/plain').toLowerCase();
  const disposition = headerValue(own, 'content-disposition') ?? '';
  const filename = parameter(disposition, 'filename') || parameter(type, 'name');
  const common = { partId, headers: own, mimeType, filename };
  const boundary = parameter(type, 'boundary');
  if (!mimeType.startsWith('multipart/') || !boundary)
    return { ...common, content: content(own, body), parts: [] };
  const prefix = partId === '' ? '' : `${partId}.`;
  const parts = pieces(body, boundary).map((piece, index) => part(piece, `${prefix}${index}`));
  return { ...common, content: Buffer.alloc(0), parts };
}

/** The texts between the lines of a boundary. */
export function pieces(body: string, boundary: string): string[] {
  const escaped = boundary.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const [, ...rest] = `\r\n${body}`.split(new RegExp(`\\r?\\n--${escaped}(?=--|[ \\t]*\\r?\\n)`));
  return rest.filter((one) => !one.startsWith('--')).map((one) => one.replace(/^[ \t]*\r?\n/, ''));
}

function content(own: Header[], body: string): Buffer {
  const encoding = (headerValue(own, 'content-transfer-encoding') ?? '').toLowerCase();
  if (encoding === 'base64') return Buffer.from(body, 'base64');
  if (encoding === 'quoted-printable') return fromQuotedPrintable(body);
  return Buffer.from(body, 'latin1');
}
