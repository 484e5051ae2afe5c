import { decodeCharset } from './charset.ts';
import { decodeTransfer } from './transfer-encoding.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** A word (RFC 2047), maybe with its language (RFC 2231 section 5), and words that follow it. */
const WORDS = /=\?[^?\s]{1,80}\?[QqBb]\?[^?]*\?=(?:[ \t\r\n]*=\?[^?\s]{1,80}\?[QqBb]\?[^?]*\?=)*/g;
const WORD = /=\?([^?\s*]{1,80})(?:\*[^?\s]*)?\?([QqBb])\?([^?]*)\?=/g;

/**
 * Decodes encoded words. A character may be cut by the end of a word, so the bytes of neighbours
 * with the same charset are decoded together. Never throws.
 */
export function decodeWords(text: string): string {
  return text.replaceAll(WORDS, (words) => decodeRun(words));
}

/**
 * Writes every run of encoded words as one word in UTF-8 and base64, for readers that know fewer
 * charsets, and that separate at characters inside a word.
 */
export function inUtf8Words(text: string): string {
  return text.replaceAll(
    WORDS,
    (words) => `=?utf-8?B?${Buffer.from(decodeRun(words)).toString('base64')}?=`,
  );
}

function decodeRun(words: string): string {
  const runs: { charset: string; bytes: Buffer[] }[] = [];
  for (const [, charset = '', encoding = '', coded = ''] of words.matchAll(WORD)) {
    const bytes = bytesOf(encoding, coded);
    const last = runs.at(-1);
    if (last?.charset === charset.toLowerCase()) last.bytes.push(bytes);
    else runs.push({ charset: charset.toLowerCase(), bytes: [bytes] });
  }
  return runs
    .map(({ charset, bytes }) => decodeCharset(Buffer.concat(bytes), charset).text)
    .join('');
}

function bytesOf(encoding: string, coded: string): Buffer {
  if (/^b$/i.test(encoding)) return decodeTransfer(Buffer.from(coded, 'latin1'), 'base64');
  const text = coded.replaceAll('_', ' ').replaceAll(/=([0-9a-f]{2})/gi, (_, hex: string) => {
    return String.fromCharCode(Number.parseInt(hex, 16));
  });
  // Some programs leave characters outside of ASCII as they are.
  return Buffer.from(text, /[^\0-\xff]/.test(text) ? 'utf8' : 'latin1');
}
