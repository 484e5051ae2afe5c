/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** Removes a transfer encoding from bytes that arrive in pieces. */
export interface TransferDecoder {
  /** Returns what the piece adds to the decoded bytes. */
  update(piece: Uint8Array): Buffer;
  /** Returns what is left once all pieces were given. */
  end(): Buffer;
}

/** The encodings of RFC 2045 section 6 that change bytes; `identity` stands for all others. */
export type TransferEncoding = 'base64' | 'quoted-printable' | 'identity';

/** The encoding that a Content-Transfer-Encoding field names, however it is written. */
export function transferEncodingOf(field: string): TransferEncoding {
  const name = field.toLowerCase();
  if (name.includes('base64')) return 'base64';
  return /quoted.?printable/.test(name) ? 'quoted-printable' : 'identity';
}

/** Whether an encoding is known: of an unknown one, the bytes are kept as they are. */
export function isKnownEncoding(field: string): boolean {
  return (
    transferEncodingOf(field) !== 'identity' ||
    /^[\s"]*(?:|7-?bits?|8-?bits?|binary|none|identity)[\s";]*(?:\(.*)?$/i.test(field)
  );
}

/** A decoder whose output does not depend on where the pieces are cut. Never throws. */
export function transferDecoder(encoding: TransferEncoding): TransferDecoder {
  if (encoding === 'base64') return new Base64Decoder();
  if (encoding === 'quoted-printable') return new QuotedPrintableDecoder();
  return { update: bufferOf, end: () => Buffer.alloc(0) };
}

/** Large contents are decoded in pieces, which need less memory. Bytes. */
const PIECE_BYTES = 1024 * 1024;

/** Decodes the whole content of a part. */
export function decodeTransfer(bytes: Uint8Array, encoding: TransferEncoding): Buffer {
  if (encoding === 'identity') return bufferOf(bytes);
  const decoder = transferDecoder(encoding);
  const decoded: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    decoded.push(decoder.update(bytes.subarray(at, at + PIECE_BYTES)));
  return Buffer.concat([...decoded, decoder.end()]);
}

/** The same bytes as a `Buffer`. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** More encoded texts in one part are not separated. */
const MOST_TEXTS = 10_000;

/** The end of a line that ends an encoded text, and such an end that may still follow. */
const PADDED_LINE = /=[ \t\r]{0,100}\n/g;
const MAYBE_PADDED = /=[ \t\r]{0,100}$/;
/** A longer line behind the end of an encoded text is judged by its beginning. */
const JUDGED_LENGTH = 1_000;

/**
 * RFC 2045 section 6.8. Foreign characters are ignored. Several encoded texts may follow each
 * other; other text behind the last one, such as the footer of a mailing list, is left out.
 */
class Base64Decoder implements TransferDecoder {
  /** Text that cannot be judged before more of it is known. */
  #held = '';
  /** Characters that are not four yet. */
  #rest = '';
  #isBehindText = false;
  #hasEnded = false;

  update(piece: Uint8Array): Buffer {
    return this.#decode(this.#take(this.#held + bufferOf(piece).toString('latin1'), false));
  }

  end(): Buffer {
    const decoded = this.#decode(this.#take(this.#held, true));
    return Buffer.concat([decoded, Buffer.from(this.#rest, 'base64')]);
  }

  /** The encoded text at the beginning. What cannot be judged yet is held. */
  #take(text: string, isEnd: boolean): string {
    this.#held = '';
    for (let at = 0; !this.#hasEnded; at = PADDED_LINE.lastIndex) {
      if (this.#isBehindText) {
        const isMore = isEncoded(text, at, isEnd);
        if (isMore !== true) {
          this.#hasEnded = isMore === false;
          this.#held = isMore === null ? text.slice(at).trimStart() : '';
          return text.slice(0, at);
        }
      }
      PADDED_LINE.lastIndex = at;
      this.#isBehindText = PADDED_LINE.test(text);
      if (this.#isBehindText) continue;
      const [open = ''] = (isEnd ? null : MAYBE_PADDED.exec(text.slice(at))) ?? [];
      this.#held = open;
      return text.slice(0, text.length - open.length);
    }
    return '';
  }

  #decode(encoded: string): Buffer {
    const added = encoded.replaceAll(/[^A-Za-z0-9+/=]+/g, '');
    const text = this.#rest + added.replaceAll(/={2,}/g, '=');
    const padded = text.split('=', MOST_TEXTS);
    const texts = padded.length < MOST_TEXTS ? padded : [text.replaceAll('=', '')];
    const last = texts.pop() ?? '';
    const end = last.length & ~3;
    this.#rest = last.slice(end);
    return Buffer.concat([...texts, last.slice(0, end)].map((one) => Buffer.from(one, 'base64')));
  }
}

const NEXT_LINE = /\s*([^\n]*)/y;

/** Whether the next line is base64; `null` if too little of it is known. */
function isEncoded(text: string, at: number, isEnd: boolean): boolean | null {
  NEXT_LINE.lastIndex = at;
  const judged = NEXT_LINE.exec(text)?.[1]?.slice(0, JUDGED_LENGTH) ?? '';
  if (/[^A-Za-z0-9+/=\s]/.test(judged)) return false;
  const isKnown = isEnd || NEXT_LINE.lastIndex < text.length || judged.length === JUDGED_LENGTH;
  return isKnown ? true : null;
}

const EQUALS = 0x3d;
const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
/** What may stand between a text and the end of its line. */
const BLANKS: ReadonlySet<number> = new Set([SPACE, TAB, CR]);

/** RFC 2045 section 6.7. Invalid sequences are kept as they are. */
class QuotedPrintableDecoder implements TransferDecoder {
  #rest = Buffer.alloc(0);

  update(piece: Uint8Array): Buffer {
    const bytes = this.#rest.length === 0 ? bufferOf(piece) : Buffer.concat([this.#rest, piece]);
    // The line that is not complete yet waits: blanks at the end of a line have no meaning.
    const complete = bytes.lastIndexOf(LF) + 1;
    const end = complete > 0 || bytes.length < LONGEST_LINE ? complete : beforeSequence(bytes);
    this.#rest = Buffer.from(bytes.subarray(end));
    return decodeLines(bytes.subarray(0, end));
  }

  end(): Buffer {
    const rest = decodeLines(this.#rest);
    this.#rest = Buffer.alloc(0);
    return rest;
  }
}

/** A longer line is decoded in pieces, so that it does not fill the memory. Bytes. */
const LONGEST_LINE = 1024 * 1024;

function decodeLines(bytes: Uint8Array): Buffer {
  const decoded = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at] ?? 0;
    if (byte === EQUALS) {
      const next = afterBlanks(bytes, at + 1);
      const brk = lineBreak(bytes, next);
      const value = hexOf(bytes[at + 1], bytes[at + 2]);
      if (brk > 0 || next === bytes.length) at = next + brk;
      else {
        decoded[length++] = value ?? EQUALS;
        at += value === null ? 1 : 3;
      }
    } else if (byte === SPACE || byte === TAB) {
      const next = afterBlanks(bytes, at);
      if (lineBreak(bytes, next) === 0 && next < bytes.length)
        for (let blank = at; blank < next; blank += 1) decoded[length++] = bytes[blank] ?? SPACE;
      at = next;
    } else {
      decoded[length++] = byte;
      at += 1;
    }
  }
  return decoded.subarray(0, length);
}

/** Most blanks that wait for what follows a cut. More are taken for the end of a line. */
const MOST_BLANKS = 1_000;

/** Where bytes can be cut without cutting a sequence such as `=3D`, or blanks from a line break. */
function beforeSequence(bytes: Uint8Array): number {
  let end = bytes.length;
  while (end > bytes.length - MOST_BLANKS && BLANKS.has(bytes[end - 1] ?? 0)) end -= 1;
  const open = bytes.lastIndexOf(EQUALS, end - 1);
  return open > end - 3 ? open : end;
}

function afterBlanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === SPACE || bytes[at] === TAB) at += 1;
  return at;
}

/** Length of the line break at a position; 0 if there is none. */
function lineBreak(bytes: Uint8Array, at: number): number {
  if (bytes[at] === LF) return 1;
  return bytes[at] === CR && bytes[at + 1] === LF ? 2 : 0;
}

function hexOf(high: number | undefined, low: number | undefined): number | null {
  const pair = String.fromCharCode(high ?? 0, low ?? 0);
  return /^[0-9a-f]{2}$/i.test(pair) ? Number.parseInt(pair, 16) : null;
}
