import { CODE_PAGES } from './code-pages.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** A decoded text. */
export interface DecodedText {
  text: string;
  /** False if the charset is unknown or the bytes do not fit it, so that the text is a guess. */
  certain: boolean;
}

/** Hints for texts that do not name their charset, or name a wrong one. */
export interface CharsetHints {
  /** Whether the text is HTML, which may name its charset itself. Default false. */
  html?: boolean;
  /** Charset of another part of the message, used before anything is guessed. Default: none. */
  other?: string;
  /** Whether the text was cut off, maybe inside of a character. Default false. */
  isCut?: boolean;
}

/** Labels that name no charset, or one of which valid UTF-8 text is still UTF-8. */
const NO_CHARSET =
  /^(?:|(?:us-?)?ascii|ansi_x3\.4-19(?:68|86)|iso646-us|646|utf-?8|unicode-1-1-utf-8|cp65001|utf8mb4|unknown(?:-8bit)?|x-unknown|default|none|binary|[78]-?bit|_?charset_?|undefined|null)$/;

/** Labels by their usual variants; `TextDecoder` knows the names on the right. */
const ALIASES: Readonly<Record<string, string>> = {
  '932': 'shift_jis', '936': 'gbk', '949': 'euc-kr', '950': 'big5', '874': 'windows-874', '866': 'ibm866',
  '51932': 'euc-jp', '50220': 'iso-2022-jp', '50221': 'iso-2022-jp', '50222': 'iso-2022-jp', '51949': 'euc-kr',
  '54936': 'gb18030', '20866': 'koi8-r', '21866': 'koi8-u', '28605': 'iso-8859-15', '1200': 'utf-16le', '1201': 'utf-16be',
  iso2022jp1: 'iso-2022-jp', iso2022jp2: 'iso-2022-jp', iso2022jpms: 'iso-2022-jp', junet: 'iso-2022-jp', mskanji: 'shift_jis',
  shiftjis: 'shift_jis', windows31j: 'shift_jis', eucjp: 'euc-jp', euckr: 'euc-kr', uhc: 'euc-kr', ksc5601: 'euc-kr',
  ksc56011987: 'euc-kr', euccn: 'gbk', gb2312: 'gbk', big5hkscs: 'big5', tis620: 'windows-874', latin1: 'iso-8859-1',
  latin2: 'iso-8859-2', latin9: 'iso-8859-15', iso88598i: 'iso-8859-8', iso88598e: 'iso-8859-8', macroman: 'macintosh',
  maccyrillic: 'x-mac-cyrillic', utf16: 'utf-16le', iso10646ucs2: 'utf-16le',
}; // oxfmt-ignore

/** Most bytes of an HTML text in which its charset is looked for (HTML standard, 13.2.3.2). */
const PRESCAN_BYTES = 1_024;
const UTF8 = new TextDecoder('utf-8', { fatal: true });
const LENIENT_UTF8 = new TextDecoder('utf-8');
const ESCAPE = 0x1b;
/** Stands for bytes that do not fit a charset. */
const REPLACEMENT = '\ufffd';
/** Bytes of a character in UTF-8. */
const LONGEST_CHARACTER = 4;

/**
 * Decodes text. Valid UTF-8 that is not pure ASCII is UTF-8, unless another charset is named. With
 * an unknown charset or bytes that do not fit, the most readable guess is returned. Never throws.
 * @param label the name of the charset as it is written in the message; empty if there is none
 */
export function decodeCharset(
  bytes: Uint8Array,
  label: string,
  hints: CharsetHints = {},
): DecodedText {
  const marked = byMark(bytes);
  if (marked !== null) return { text: marked, certain: true };
  const name = label
    .trim()
    .toLowerCase()
    .replace(/^["']|["']$/g, '');
  if (!NO_CHARSET.test(name)) return byLabel(bytes, name, hints);
  const inside = hints.html === true ? charsetInHtml(bytes) : '';
  // These charsets have only ASCII bytes, so they look like valid UTF-8.
  const sevenBit =
    NO_CHARSET.test(inside) || !/^(?:iso-?2022|hz|utf-?7)/.test(inside) ? escapesOf(bytes) : inside;
  const escaped = sevenBit === '' ? null : decodeNamed(bytes, sevenBit);
  if (escaped !== null) return { text: escaped, certain: isWhole(escaped, hints) };
  const utf8 = asUtf8(bytes, hints.isCut === true);
  if (utf8 !== null) return { text: utf8, certain: true };
  const own = NO_CHARSET.test(inside) ? null : decodeNamed(bytes, inside);
  if (own !== null) return { text: own, certain: isWhole(own, hints) };
  if (isMostlyUtf8(bytes)) return { text: LENIENT_UTF8.decode(bytes), certain: false };
  return { text: guess(bytes, hints), certain: false };
}

/** Text whose charset is named, maybe wrongly: programs send UTF-8 under every name. */
function byLabel(bytes: Uint8Array, name: string, hints: CharsetHints): DecodedText {
  const named = decodeNamed(bytes, name);
  const isPlain = isAscii(bytes);
  // Each line break and each blank of UTF-16 contains a zero.
  const isDoubtful = /^utf-?16/.test(name) && !bytes.includes(0);
  if (named !== null && isWhole(named, hints) && (isPlain || !isDoubtful))
    return { text: named, certain: true };
  if (named === null) {
    const unnamed = decodeCharset(bytes, '', hints);
    return { text: unnamed.text, certain: isPlain && !bytes.includes(ESCAPE) };
  }
  const utf8 = asUtf8(bytes, hints.isCut === true);
  // Charsets of seven bits have only ASCII bytes, so they look like valid UTF-8.
  const text = isPlain ? named : (utf8 ?? named);
  return { text, certain: utf8 === null && isWhole(named, hints) };
}

/** Whether all bytes fitted the charset. The last character of a text that was cut off may not. */
function isWhole(text: string, { isCut = false }: CharsetHints): boolean {
  const broken = text.indexOf(REPLACEMENT);
  return broken === -1 || (isCut && broken === text.length - 1);
}

/** Text after a byte order mark; `null` if there is none. */
function byMark(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  if (bytes[0] !== 0xef || bytes[1] !== 0xbb || bytes[2] !== 0xbf) return null;
  return LENIENT_UTF8.decode(bytes);
}

/**
 * Bytes as UTF-8; `null` if they are not.
 * @param isCut whether the last character may be incomplete
 */
function asUtf8(bytes: Uint8Array, isCut: boolean): string | null {
  for (let missing = 0; missing <= (isCut ? LONGEST_CHARACTER - 1 : 0); missing += 1) {
    try {
      return UTF8.decode(bytes.subarray(0, bytes.length - missing));
    } catch {
      // Not UTF-8, or the last character is incomplete.
    }
  }
  return null;
}

function isAscii(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte < 0x80);
}

/**
 * Whether most characters outside of ASCII are valid: then single bytes are broken, not the name.
 */
function isMostlyUtf8(bytes: Uint8Array): boolean {
  const text = LENIENT_UTF8.decode(bytes);
  const broken = text.match(/\ufffd/g)?.length ?? 0;
  const whole = text.match(/[^\0-\x7f\ufffd]/gu)?.length ?? 0;
  return whole > broken;
}

/** Name of a charset that shows itself by escape sequences (RFC 1468, RFC 1557); empty if none. */
function escapesOf(bytes: Uint8Array): string {
  if (!bytes.includes(ESCAPE)) return '';
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  if (text.includes('\x1b$)C')) return 'iso-2022-kr';
  return text.includes('\x1b$B') || text.includes('\x1b$@') ? 'iso-2022-jp' : '';
}

/** The charset that an HTML text names itself, in lower case; empty if none. */
function charsetInHtml(bytes: Uint8Array): string {
  const head = latin1(bytes.subarray(0, PRESCAN_BYTES));
  const [, name = ''] =
    /<meta\b[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(head) ?? [];
  return name.toLowerCase();
}

/** @returns `null` if the charset is unknown */
function decodeNamed(bytes: Uint8Array, name: string): string | null {
  const plain = name.replace(/^(?:x-ms-|x-|cs(?=i|s|e|k|u|w|b))/, '').replace(/[\s._-]+/g, '');
  if (/^(?:unicode11)?utf7(?:imap)?$/.test(plain) || plain === 'cp65000') return decodeUtf7(bytes);
  if (plain === 'iso2022kr') return decodeShifted(bytes);
  if (/^hz(?:gb2312)?$/.test(plain)) return decodeHz(bytes);
  const [, page = ''] =
    /^(?:cp|ibm|dos|windows|ms|oem|codepage)?(\d{3,5})(?:multilingual)?$/.exec(plain) ?? [];
  const table = Object.hasOwn(CODE_PAGES, page) ? CODE_PAGES[page] : undefined;
  if (table !== undefined) return decodeTable(bytes, table);
  const alias = [page, plain].find((one) => Object.hasOwn(ALIASES, one)) ?? '';
  for (const candidate of [
    name,
    ALIASES[alias],
    plain,
    name.replaceAll('_', '-'),
    page && `windows-${page}`,
  ]) {
    const decoder = decoderOf(candidate ?? '');
    if (decoder?.encoding === 'iso-2022-jp') return decoder.decode(withoutUselessEscapes(bytes));
    if (decoder) return decoder.decode(bytes);
  }
  return null;
}

type Decoder = InstanceType<typeof TextDecoder>;
const decoders = new Map<string, Decoder | null>();
/** Names of charsets come from strangers: only so many are remembered. */
const MOST_DECODERS = 200;

function decoderOf(name: string): Decoder | null {
  if (name === '' || name.length > 40) return null;
  const known = decoders.get(name);
  if (known !== undefined) return known;
  let decoder: Decoder | null = null;
  try {
    decoder = new TextDecoder(name);
  } catch {
    // Unknown: `null` says so.
  }
  if (decoders.size < MOST_DECODERS) decoders.set(name, decoder);
  return decoder;
}

function decodeTable(bytes: Uint8Array, table: string): string {
  return latin1(bytes).replaceAll(/[\x80-\xff]/g, (char) =>
    table.charAt(char.charCodeAt(0) - 0x80),
  );
}

/** RFC 2152. */
function decodeUtf7(bytes: Uint8Array): string {
  return latin1(bytes).replaceAll(/\+([A-Za-z0-9+/]*)-?/g, (all, coded: string) => {
    if (coded === '') return all === '+-' ? '+' : all;
    const units = Buffer.from(coded, 'base64');
    return new TextDecoder('utf-16be').decode(units.subarray(0, units.length & ~1));
  });
}

/** RFC 1557: Korean between SO and SI, as EUC-KR without the high bits. */
function decodeShifted(bytes: Uint8Array): string {
  const [ascii = '', ...shifted] = latin1(bytes).replaceAll('\x1b$)C', '').split('\x0e');
  const decoded = shifted.map((piece) => {
    const [korean = '', ...rest] = piece.split('\x0f');
    return highBits(korean, 'euc-kr') + rest.join('');
  });
  return ascii.replaceAll('\x0f', '') + decoded.join('');
}

const ESCAPE_OF_JIS = '\\x1b(?:\\([BIJ]|\\$[@B])';
const USELESS_ESCAPES = new RegExp(`${ESCAPE_OF_JIS}(?=${ESCAPE_OF_JIS})`, 'g');

/**
 * RFC 1468: each encoded word begins and ends with an escape sequence, so words that are decoded
 * together have two in a row. The Encoding Standard (section 12.2.1) takes that for an error.
 */
const withoutUselessEscapes = (bytes: Uint8Array): Buffer =>
  Buffer.from(latin1(bytes).replaceAll(USELESS_ESCAPES, ''), 'latin1');

/** RFC 1843: Chinese between `~{` and `~}`, as GB 2312 without the high bits. */
function decodeHz(bytes: Uint8Array): string {
  return latin1(bytes).replaceAll(
    /~\{((?:(?!~\})[^\r\n])*)(?:~\})?|~(~|\r?\n)/g,
    (_, chinese: string | undefined, other: string | undefined) =>
      chinese === undefined ? (other === '~' ? '~' : '') : highBits(chinese, 'gbk'),
  );
}

function highBits(text: string, charset: string): string {
  return new TextDecoder(charset).decode(
    Buffer.from(text, 'latin1').map((byte) => (byte > 0x20 ? byte | 0x80 : byte)),
  );
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** Charsets of Cyrillic text, in the order of their frequency in mail. */
const CYRILLIC = ['windows-1251', 'koi8-r', 'iso-8859-5', 'ibm866'];
/** A sample of the text decides. Bytes. */
const SAMPLE_BYTES = 16 * 1024;
/** The commonest letters of Russian, Ukrainian and Bulgarian: about two thirds of a text. */
const COMMON = /[оеаинтсрвлкі]/g;

/**
 * Text in an unknown charset of eight bits. Words of Western languages have single letters outside
 * of ASCII; Cyrillic words consist of them, and the commonest small letters show which charset it
 * is.
 */
function guess(bytes: Uint8Array, { other = '' }: CharsetHints): string {
  const named =
    other === '' || NO_CHARSET.test(other.toLowerCase())
      ? null
      : decodeNamed(bytes, other.toLowerCase());
  if (named !== null && !named.includes(REPLACEMENT)) return named;
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const text = latin1(sample);
  const high = text.match(/[\x80-\xff]/g)?.length ?? 0;
  const inWords = text.match(/[\x80-\xff]{3,}/g)?.join('').length ?? 0;
  const isCyrillic = inWords * 2 > high;
  if (!isCyrillic) return new TextDecoder('windows-1252').decode(bytes);
  const scored = CYRILLIC.map((charset) => {
    const decoded = new TextDecoder(charset).decode(sample);
    return { charset, score: decoded.match(COMMON)?.length ?? 0 };
  });
  const best = scored.reduce((one, another) => (another.score > one.score ? another : one));
  const isLikely = best.score * 4 > inWords;
  return new TextDecoder(isLikely ? best.charset : 'windows-1252').decode(bytes);
}
