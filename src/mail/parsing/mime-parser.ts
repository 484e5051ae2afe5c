import PostalMime, {
  type Address as ParsedAddress,
  addressParser,
  type Attachment,
  type Email,
} from 'postal-mime';
import type { Address } from '../../platform/base/text/address.ts';
import { onOneLine, withoutControls } from '../../platform/base/text/plain-text.ts';
import type { MessageParts } from '../../providers/port/connector.ts';
import { isCalendarPart, type ItipMessage, readItip } from '../../formats/ical/itip.ts';
import { joinFoldedCharacters } from '../../formats/ical/content-lines.ts';
import { searchDocument } from '../../formats/text/search-document.ts';
import { type DeliveryReport, isReport, readDeliveryReport } from './delivery-report.ts';
import { snippetOf } from '../../formats/text/snippet.ts';
import { decodeText } from './stored-text.ts';

/**
 * The parts of a message's MIME that the mirror stores. All text can be stored: it contains no NUL
 * and no broken surrogates.
 */
export interface ParsedMessage {
  subject: string;
  from: Address[];
  to: Address[];
  cc: Address[];
  bcc: Address[];
  replyTo: Address[];
  /** With angle brackets. */
  messageIdHeader: string | null;
  inReplyTo: string | null;
  references: string[];
  /** HTML. */
  body: string;
  /** The header block as received; `null` if there is none. */
  headers: string | null;
  snippet: string;
  files: ParsedFile[];
  /** Search document, made by `searchDocument`. */
  searchable: string;
  /** Only for delivery reports: the report's content. */
  report?: DeliveryReport;
  /** Calendar messages (iTIP); absent if there are none. */
  itip?: ItipMessage[];
  /** Reason why a part was skipped because of a limit; absent if nothing was skipped. */
  skipped?: string;
}

/** An attachment without its bytes. */
export interface ParsedFile {
  /** Position among the attachments. */
  part: number;
  /**
   * The provider's section number of the attachment; `null` if it is identified by its position in
   * the whole message.
   */
  section: string | null;
  filename: string;
  contentType: string;
  contentDisposition: string;
  /** Without angle brackets. */
  contentId: string | null;
  size: number;
}

/** Longer Message-IDs are ignored: they are not plausible and would not fit an index. */
const MAX_ID_LENGTH = 500;
const MAX_REFERENCES = 100;
const MAX_ADDRESSES = 2_000;
const MAX_FILES = 500;
const MAX_SUBJECT_LENGTH = 10_000;
const MAX_HEADERS_LENGTH = 128 * 1024;
/** In UTF-16 units of HTML. A longer body is cut here; the provider has all of it. */
const MAX_BODY_LENGTH = 8 * 1024 * 1024;
/** In UTF-16 units: the beginning of the text as a provider gives it. */
const MAX_SNIPPET_TEXT = 2_000;
/** Maximum of the column `file.size`. */
const MAX_SIZE = 2 ** 31 - 1;
/** A header block without an end is cut after this many bytes. */
export const MAX_HEADER_BYTES = 256 * 1024;
const LIMITS = {
  forceRfc822Attachments: true,
  maxNestingDepth: 100,
  maxHeadersSize: 4 * 1024 * 1024,
};

/** Result for a message that cannot be parsed. */
export const UNREADABLE: ParsedMessage = {
  subject: '',
  from: [],
  to: [],
  cc: [],
  bcc: [],
  replyTo: [],
  messageIdHeader: null,
  inReplyTo: null,
  references: [],
  body: '',
  headers: null,
  snippet: '',
  files: [],
  searchable: '',
};

/** Removes text that PostgreSQL cannot store: NUL and halves of surrogate pairs. */
function clean(text: string | null | undefined): string {
  return (text ?? '').replaceAll('\0', '').toWellFormed();
}

/**
 * Control characters are removed from names and addresses, so that the sender is not lost because
 * of them.
 */
function addresses(list: readonly ParsedAddress[] | undefined): Address[] {
  return (list ?? [])
    .flatMap((entry) => entry.group ?? [entry])
    .map(({ name, address }) => ({
      email: withoutControls(clean(address)),
      name: onOneLine(clean(name)),
    }))
    .filter(({ email }) => email !== '')
    .slice(0, MAX_ADDRESSES);
}

/**
 * Author of the message. The first author in the header may lack an address, for example because a
 * ";" in an unquoted name splits the name in two. Then the first author with an address is used.
 */
function authors(email: Email): Address[] {
  const first = addresses(email.from ? [email.from] : []);
  if (first.length > 0) return first;
  const header = email.headers.find(({ key }) => key === 'from')?.value ?? '';
  return addresses(addressParser(header, { flatten: true })).slice(0, 1);
}

/** Message-IDs in a header, in order. */
function messageIds(header: string | undefined): string[] {
  return (clean(header).match(/<[^<>\s]+>/g) ?? []).filter((id) => id.length <= MAX_ID_LENGTH);
}

function fileOf(attachment: Attachment, part: number): ParsedFile {
  const { content } = attachment;
  return describeFile(part, {
    section: null,
    filename: attachment.filename ?? '',
    contentType: attachment.mimeType,
    contentDisposition: attachment.disposition ?? '',
    contentId: attachment.contentId ?? null,
    size: typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength,
  });
}

/** Converts the description of a file to storable values. */
function describeFile(part: number, file: Omit<ParsedFile, 'part'>): ParsedFile {
  return {
    part,
    section: file.section,
    filename: clean(file.filename).slice(0, 1_000).toWellFormed(),
    contentType: clean(file.contentType).slice(0, 255).toWellFormed() || 'application/octet-stream',
    contentDisposition: file.contentDisposition === 'inline' ? 'inline' : 'attachment',
    contentId:
      clean(file.contentId).replace(/^<|>$/g, '').slice(0, MAX_ID_LENGTH).toWellFormed() || null,
    size: Math.min(Math.max(0, Math.trunc(file.size) || 0), MAX_SIZE),
  };
}

/** Position after the empty line that ends the header block. */
function headerEnd(mime: Buffer): number {
  const head = mime.subarray(0, MAX_HEADER_BYTES);
  const ends = ['\r\n\r\n', '\n\n', '\n\r\n'].flatMap((gap) => {
    const at = head.indexOf(gap);
    return at === -1 ? [] : [at + gap.length];
  });
  return Math.min(head.length, ...ends);
}

function headerText(block: Buffer): string | null {
  if (block.length === 0) return null;
  const bytes = block.subarray(0, MAX_HEADERS_LENGTH);
  // A character cut in half at the end does not mean that the text is Latin-1.
  const utf8 = bytes.toString('utf8');
  const broken = utf8.slice(0, -1).includes('\ufffd');
  return clean(broken ? bytes.toString('latin1') : utf8);
}

function htmlOf(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replace(/\r?\n/g, '<br>\n');
}

/**
 * Parses a complete message.
 * @throws the parser's errors for input that exceeds its limits
 */
export async function parseMessage(mime: Buffer): Promise<ParsedMessage> {
  const email = await PostalMime.parse(mime, LIMITS);
  const headers = headersOf(email, mime);
  return withSearchable({
    ...headers,
    ...bodyOf(email.html, email.text),
    files: email.attachments.slice(0, MAX_FILES).map(fileOf),
    ...reportOf(email, headers),
    ...itipOf(calendarsOf(email)),
  });
}

/**
 * Parses the fetched parts of a large message.
 * @throws like `parseMessage`, for the header block
 */
export async function parseParts({
  headers,
  files,
  calendars = [],
  ...content
}: MessageParts): Promise<ParsedMessage> {
  const block = headers.subarray(0, headerEnd(headers));
  const email = await PostalMime.parse(block, LIMITS);
  const known = headersOf(email, block);
  const { html, text } = await textsOf(content);
  return withSearchable({
    ...known,
    ...bodyOf(html, text),
    files: files.slice(0, MAX_FILES).map((file, part) => describeFile(part, file)),
    ...reportOf(email, known),
    ...itipOf(await Promise.all(calendars.map(decodeText))),
  });
}

/** The texts of a large message; `null` for a kind of text the message does not have. */
async function textsOf({
  texts,
  head,
}: Pick<MessageParts, 'texts' | 'head'>): Promise<{ html: string | null; text: string | null }> {
  if (head) {
    const { html = null, text = null } = await PostalMime.parse(head, LIMITS);
    return { html, text };
  }
  const of = async (type: string) => {
    const stored = texts.filter((text) => text.type === type);
    return stored.length === 0 ? null : (await Promise.all(stored.map(decodeText))).join('\n');
  };
  return { html: await of('text/html'), text: await of('text/plain') };
}

function reportOf(
  { headers, attachments }: Email,
  { inReplyTo, references }: Pick<ParsedMessage, 'inReplyTo' | 'references'>,
): Pick<ParsedMessage, 'report'> {
  const contentType = headers.find(({ key }) => key === 'content-type')?.value ?? '';
  if (!isReport(contentType)) return {};
  const parts = attachments.slice(0, MAX_FILES).map(({ mimeType, content }) => ({
    contentType: mimeType.toLowerCase(),
    text: (most: number) =>
      typeof content === 'string'
        ? content.slice(0, most)
        : new TextDecoder().decode(content.slice(0, most)),
  }));
  const named = [inReplyTo, ...references.toReversed()].filter((id) => id !== null);
  return { report: readDeliveryReport(parts, named) };
}

function calendarsOf({ attachments }: Email): string[] {
  return attachments
    .slice(0, MAX_FILES)
    .filter(({ mimeType, filename }) => isCalendarPart(mimeType, filename ?? ''))
    .map(({ content }) =>
      typeof content === 'string'
        ? content
        : new TextDecoder().decode(joinFoldedCharacters(Buffer.from(new Uint8Array(content)))),
    );
}

function itipOf(calendars: readonly string[]): Pick<ParsedMessage, 'itip' | 'skipped'> {
  const skipped: string[] = [];
  const itip = readItip(calendars, skipped);
  return {
    ...(itip.length > 0 ? { itip } : {}),
    ...(skipped[0] === undefined ? {} : { skipped: skipped[0] }),
  };
}

/**
 * Parses only the headers of a message whose content cannot be parsed. Unreadable headers give an
 * empty message.
 */
export async function parseHeaders(mime: Buffer): Promise<ParsedMessage> {
  const block = mime.subarray(0, headerEnd(mime));
  try {
    return withSearchable({
      ...UNREADABLE,
      ...headersOf(await PostalMime.parse(block, LIMITS), block),
    });
  } catch {
    return { ...UNREADABLE, headers: headerText(block) };
  }
}

/** A message whose content is unknown, with the beginning of its text as its provider gives it. */
export function withSnippet(message: ParsedMessage, text: string): ParsedMessage {
  const body = htmlOf(clean(text).slice(0, MAX_SNIPPET_TEXT).toWellFormed());
  return { ...message, snippet: snippetOf(body), searchable: searchDocument({ ...message, body }) };
}

function withSearchable(message: Omit<ParsedMessage, 'searchable'>): ParsedMessage {
  return { ...message, searchable: searchDocument(message) };
}

function headersOf(
  email: Email,
  mime: Buffer,
): Omit<ParsedMessage, 'body' | 'snippet' | 'files' | 'searchable'> {
  return {
    subject: clean(email.subject).slice(0, MAX_SUBJECT_LENGTH).toWellFormed(),
    from: authors(email),
    to: addresses(email.to),
    cc: addresses(email.cc),
    bcc: addresses(email.bcc),
    replyTo: addresses(email.replyTo),
    messageIdHeader: messageIds(email.messageId)[0] ?? null,
    inReplyTo: messageIds(email.inReplyTo)[0] ?? null,
    references: messageIds(email.references).slice(-MAX_REFERENCES),
    headers: headerText(mime.subarray(0, headerEnd(mime))),
  };
}

function bodyOf(html: string | null | undefined, text: string | null | undefined) {
  const body = clean(html ?? htmlOf((text ?? '').slice(0, MAX_BODY_LENGTH).trimEnd()));
  return { body: body.slice(0, MAX_BODY_LENGTH).toWellFormed(), snippet: snippetOf(body) };
}
