import EmailReplyParser from 'email-reply-parser';
import { isClosing } from './closing-phrases.ts';
import {
  type InlineFile,
  SIGNATURE_BEGINS,
  SIGNATURE_ENDS,
  textOfHtml,
  type TextOptions,
} from './html-text.ts';
import { withoutQuotations } from './quotations.ts';
import { looksLikeSignature } from './signature-lines.ts';

/** Options for cleaning a message. */
export interface CleanOptions extends TextOptions {
  /** True to remove closing phrases such as "Best regards,". */
  removeConclusionPhrases: boolean;
}

export interface MessageInput {
  /** HTML. */
  body: string;
  files: readonly InlineFile[];
  /** Name of the sender; empty if unknown. */
  fromName: string;
}

/** The parts of a message without its quotations. */
export interface MessageParts {
  /** Text without signature and closing phrase. */
  text: string;
  /** Closing phrase such as "Best regards,"; `null` if there is none. */
  closing: string | null;
  signature: string;
}

/** Text after this many characters is ignored. */
const MOST_CHARACTERS = 50_000;
/** Longer texts are not given to the library, whose patterns become slow on them. */
const MOST_FOR_PATTERNS = 20_000;
const MOST_SIGNATURE_LINES = 12;
const MOST_SIGNATURE_LINE = 120;
const SEPARATOR = /^\s*(?:[-_]{2,4}|[-_=]{10,60})\s*$/;
const SENT_FROM =
  /^\s*(?:sent from (?:my|outlook|yahoo|mail|proton)|get outlook for|von meinem .{1,40} gesendet|envoyé de(?:puis)? mon|enviado desde mi)/i;
const QUOTE_HEADER =
  /^(?:on\b.{1,200}\bwrote|le\b.{1,200}\bécrit|am\b.{1,200}\bschrieb.{0,100}|el\b.{1,200}\bescribió)\s?:$|^-{2,}\s?original message\s?-{2,}$/iu;
/** Only shorter lines are matched against `QUOTE_HEADER`. */
const MOST_HEADER = 400;

/**
 * Splits a message into its text, closing phrase and signature.
 * @param careful true to use only methods whose time grows linearly with the length, for messages
 *   on which the better methods took too long
 */
export function partsOf(
  message: MessageInput,
  options: TextOptions,
  careful = false,
): MessageParts {
  const unquoted = careful ? null : withoutQuotations(message.body);
  const html = textOfHtml(
    unquoted ?? message.body,
    options,
    message.files,
    unquoted === null ? 'skip' : 'keep',
  );
  const { text, marked } = splitMarked(html.slice(0, MOST_CHARACTERS));
  const visible =
    careful || text.length > MOST_FOR_PATTERNS
      ? { text: withoutQuoteLines(text), signature: '' }
      : splitReply(text);
  return splitClosing(visible.text, marked || visible.signature, message.fromName);
}

/** The text of a message, cleaned according to the options. */
export function cleanConversation(
  message: MessageInput,
  options: CleanOptions,
  careful = false,
): string {
  const { text, closing } = partsOf(message, options, careful);
  return options.removeConclusionPhrases || closing === null
    ? text
    : `${text}\n\n${closing}`.trim();
}

/** Separates the part that mail programs have marked as the signature. */
function splitMarked(html: string): { text: string; marked: string } {
  const begin = html.indexOf(SIGNATURE_BEGINS);
  const unmarked = (text: string) =>
    text.replaceAll(SIGNATURE_BEGINS, '').replaceAll(SIGNATURE_ENDS, '');
  if (begin < 0) return { text: html, marked: '' };
  const end = html.indexOf(SIGNATURE_ENDS, begin);
  const after = end < 0 ? '' : html.slice(end + 1);
  return {
    text: unmarked(`${html.slice(0, begin)}${after}`).trim(),
    marked: unmarked(html.slice(begin, end < 0 ? html.length : end)).trim(),
  };
}

/**
 * Removes the quotations from a plain-text reply, and separates what the library takes for a
 * signature.
 */
function splitReply(text: string): { text: string; signature: string } {
  const fragments = new EmailReplyParser().read(text).getFragments();
  const contentOf = (wanted: (fragment: (typeof fragments)[number]) => boolean) =>
    fragments
      .filter(wanted)
      .map((fragment) => fragment.getContent())
      .join('\n')
      .trim();
  const hidden = contentOf((fragment) => fragment.isSignature() && !fragment.isQuoted());
  const visible = contentOf((fragment) => !fragment.isHidden());
  // A message that consists of quotations only, such as a forwarded one, is kept whole.
  if (!visible && !hidden) return { text, signature: '' };
  // A supposed signature in the middle of the text is not a signature.
  return { text: visible, signature: visible.includes(hidden) ? '' : hidden };
}

function withoutQuoteLines(text: string): string {
  const lines = text.split('\n');
  const header = lines.findIndex(
    (line) => line.length < MOST_HEADER && QUOTE_HEADER.test(line.trim()),
  );
  const kept = (header > 0 ? lines.slice(0, header) : lines).filter(
    (line) => !line.startsWith('>'),
  );
  return kept.join('\n').trim() || text;
}

/**
 * Separates closing phrase and signature from the end of a text. A signature that is known already
 * is kept.
 */
function splitClosing(text: string, known: string, fromName: string): MessageParts {
  const lines = text ? text.split('\n') : [];
  const end = signatureStart(lines, fromName, known !== '');
  const rest = [...lines.slice(end), ...(known ? known.split('\n') : [])].filter(
    (line) => !SEPARATOR.test(line),
  );
  const above = lines.slice(0, end);
  let closing: string | null = null;
  for (const side of ['above', 'below'] as const) {
    const from = side === 'above' ? above : rest;
    const index =
      side === 'above' ? lastFilled(from) : from.findIndex((line) => line.trim() !== '');
    const line = from[index];
    if (closing !== null || line === undefined || !isClosing(line)) continue;
    closing = line.trim();
    from.splice(index, 1);
  }
  const signature = rest.join('\n').trim();
  return { text: above.join('\n').trim(), closing, signature };
}

const lastFilled = (lines: readonly string[]): number =>
  lines.findLastIndex((line) => line.trim() !== '');

/**
 * Index of the line where the signature begins, not counting a closing phrase above it. The number
 * of lines if there is no signature.
 */
function signatureStart(lines: readonly string[], fromName: string, known: boolean): number {
  const first = Math.max(0, lines.length - MOST_SIGNATURE_LINES);
  const fits = (from: number) =>
    lines.slice(from).every((line) => line.length <= MOST_SIGNATURE_LINE);
  for (let index = Math.max(1, first); index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    if (isClosing(line) && fits(index)) return index + 1;
    if ((SEPARATOR.test(line) || SENT_FROM.test(line)) && fits(index)) return index;
  }
  if (known) return lines.length;
  const last = lastFilled(lines);
  const blank = lines.slice(0, last).findLastIndex((line) => line.trim() === '');
  const block = lines.slice(blank + 1, last + 1);
  // A block with nothing above it is the whole text, not a signature.
  return blank > 0 && block.length <= MOST_SIGNATURE_LINES && looksLikeSignature(block, fromName)
    ? blank + 1
    : lines.length;
}
