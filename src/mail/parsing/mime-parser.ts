import { decodeCharset } from '../../formats/mime/reading/charset.ts';
import { type ListedAddress, readAddresses } from '../../formats/mime/reading/address-list.ts';
import { htmlOfText } from '../../formats/mime/reading/body-text.ts';
import { decodeWords } from '../../formats/mime/reading/encoded-words.ts';
import {
  type HeaderField,
  headerEndOf,
  headerFields,
  headerText,
  valueOf,
  valuesOf,
} from '../../formats/mime/reading/header-fields.ts';
import { authorshipOf, type Authorship } from '../../formats/mime/author.ts';
import { readMessageIds } from '../../formats/mime/reading/message-ids.ts';
import { LONGEST_HEADER } from '../../formats/mime/reading/mime-tree.ts';
import { Notes } from '../../formats/mime/reading/notes.ts';
import {
  LONGEST_BODY,
  type MimeMessage,
  readContent,
  readMime,
} from '../../formats/mime/reading/read-mime.ts';
import { dispositionOf, type FilePart } from '../../formats/mime/reading/sort-parts.ts';
import type { Part } from '../../formats/mime/reading/part.ts';
import { readStoredPart } from '../../formats/mime/reading/stored-part.ts';
import type { Address } from '../../platform/base/text/address.ts';
import { onOneLine, withoutControls } from '../../platform/base/text/plain-text.ts';
import type { MessageParts } from '../../providers/port/connector.ts';
import { isCalendarPart, type ItipMessage, readItip } from '../../formats/ical/itip.ts';
import { joinFoldedCharacters } from '../../formats/ical/content-lines.ts';
import { searchDocument } from '../../formats/text/search-document.ts';
import {
  type DeliveryReport,
  findReport,
  readDeliveryReport,
  readFailureNotice,
  type ReportPart,
} from './delivery-report.ts';
import { snippetOf } from '../../formats/text/snippet.ts';

/**
 * The parts of a message's MIME that the mirror stores. All text can be stored: it contains no NUL
 * and no broken surrogates.
 */
export interface ParsedMessage extends Authorship {
  subject: string;
  /** All authors that the message names. Decide by `author`, never by this list. */
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
  /** What could not be read or was guessed, in plain words for the users of the API. */
  warnings: string[];
  /** What is missing, for operators; absent if nothing is. */
  skipped?: string;
}

/** An attachment without its bytes. */
export interface ParsedFile {
  /** Position of the file in the message, as in `sortParts`. */
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
const MAX_SUBJECT_LENGTH = 10_000;
const MAX_HEADERS_LENGTH = 128 * 1024;
/** In UTF-16 units: the beginning of the text as a provider gives it. */
const MAX_SNIPPET_TEXT = 2_000;
/** Maximum of the column `file.size`. */
const MAX_SIZE = 2 ** 31 - 1;
/** Longest header of a message whose content cannot be read. Bytes. */
export const MAX_HEADER_BYTES = 256 * 1024;

/** Result for a message that cannot be parsed. */
export const UNREADABLE: ParsedMessage = {
  author: null,
  isAutomatic: false,
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
  warnings: [],
};

/** Removes text that PostgreSQL cannot store: NUL and halves of surrogate pairs. */
function clean(text: string | null | undefined): string {
  return (text ?? '').replaceAll('\0', '').toWellFormed();
}

/**
 * Control characters are removed from names and addresses, so that the sender is not lost because
 * of them.
 */
function addresses(fields: readonly HeaderField[], name: string): Address[] {
  return valuesOf(fields, name)
    .flatMap((value): ListedAddress[] => readAddresses(value))
    .map(({ name: shown, address }) => ({
      email: withoutControls(clean(address)),
      name: onOneLine(clean(shown)),
    }))
    .filter(({ email }) => email !== '')
    .slice(0, MAX_ADDRESSES);
}

/** @param isWhole whether files are identified by their position in the whole message */
function fileOf(file: FilePart, isWhole: boolean): ParsedFile {
  const { part, position } = file;
  return {
    part: position,
    section: isWhole ? null : part.section,
    filename: clean(part.filename).slice(0, 1_000).toWellFormed(),
    contentType: clean(part.type).slice(0, 255).toWellFormed(),
    contentDisposition: dispositionOf(file),
    contentId: clean(part.contentId).slice(0, MAX_ID_LENGTH).toWellFormed() || null,
    size: Math.min(Math.max(0, Math.trunc(part.size) || 0), MAX_SIZE),
  };
}

/** Parses a complete message. Never throws: what cannot be read costs only itself. */
export function parseMessage(mime: Buffer): ParsedMessage {
  return parsedOf(readMime(mime), true);
}

/** Parses the fetched parts of a large message. Never throws. */
export function parseParts({ headers, root, head }: MessageParts): ParsedMessage {
  if (root) {
    const header = headers.subarray(0, headerEndOf(headers, 0, LONGEST_HEADER).end);
    const notes = new Notes();
    const content = readContent(readStoredPart(root), notes);
    return parsedOf({ header, fields: headerFields(header), notes, ...content }, false);
  }
  const message = readMime(head ?? headers);
  message.notes.leaveOut(
    'The server does not describe the parts of this message: only the text at its beginning is shown',
  );
  return parsedOf({ ...message, files: [] }, false);
}

function parsedOf(
  { header, fields, notes, root, texts, files }: MimeMessage,
  isWhole: boolean,
): ParsedMessage {
  const headers = headersOf(fields, header);
  const { itip, skipped } = itipOf(calendarsOf(files));
  for (const reason of skipped) notes.leaveOut(reason);
  const [first] = notes.leftOut;
  return withSearchable({
    ...headers,
    ...bodyOf(texts),
    files: files.map((file) => fileOf(file, isWhole)),
    ...reportOf(fields, { root, texts }, headers),
    ...(itip.length > 0 ? { itip } : {}),
    warnings: notes.all.map((note) => clean(note).toWellFormed()),
    ...(first === undefined ? {} : { skipped: notes.leftOut.join('; ') }),
  });
}

function reportOf(
  fields: readonly HeaderField[],
  { root, texts }: Pick<MimeMessage, 'root' | 'texts'>,
  { inReplyTo, references }: Pick<ParsedMessage, 'inReplyTo' | 'references'>,
): Pick<ParsedMessage, 'report'> {
  const named = [inReplyTo, ...references.toReversed()].filter((id) => id !== null);
  const found = findReport(root);
  const report = found && readDeliveryReport(reportParts(found), named);
  const recipients = valuesOf(fields, 'x-failed-recipients').flatMap((value) => value.split(','));
  if (recipients.length === 0 || (report && report.failed.length > 0))
    return report ? { report } : {};
  return { report: readFailureNotice(recipients, texts.plain ?? '', named) };
}

/** The parts of a report that were fetched, in order. */
function reportParts({ type, charset, children, content }: Part): ReportPart[] {
  if (children) return children.flatMap(reportParts);
  if (!content) return [];
  const text = (most: number) => decodeCharset(content.subarray(0, most), charset).text;
  return [{ contentType: type, text }];
}

function calendarsOf(files: readonly FilePart[]): string[] {
  return files.flatMap(({ part: { type, filename, content, charset } }) =>
    content && isCalendarPart(type, filename)
      ? [decodeCharset(joinFoldedCharacters(Buffer.from(content)), charset).text]
      : [],
  );
}

function itipOf(calendars: readonly string[]): { itip: ItipMessage[]; skipped: string[] } {
  const skipped: string[] = [];
  return { itip: readItip(calendars, skipped), skipped };
}

/** Parses only the headers of a message whose content cannot be parsed. Never throws. */
export function parseHeaders(mime: Buffer): ParsedMessage {
  const header = mime.subarray(0, headerEndOf(mime, 0, MAX_HEADER_BYTES).end);
  return withSearchable({ ...UNREADABLE, ...headersOf(headerFields(header), header) });
}

/** A message whose content is unknown, with the beginning of its text as its provider gives it. */
export function withSnippet(message: ParsedMessage, text: string): ParsedMessage {
  const body = htmlOfText(clean(text).slice(0, MAX_SNIPPET_TEXT).toWellFormed());
  return { ...message, snippet: snippetOf(body), searchable: searchDocument({ ...message, body }) };
}

function withSearchable(message: Omit<ParsedMessage, 'searchable'>): ParsedMessage {
  return { ...message, searchable: searchDocument(message) };
}

function headersOf(
  fields: readonly HeaderField[],
  header: Buffer,
): Omit<ParsedMessage, 'body' | 'snippet' | 'files' | 'searchable' | 'warnings'> {
  const ids = (name: string) => readMessageIds(clean(valueOf(fields, name)), MAX_ID_LENGTH);
  return {
    ...authorshipOf(fields, header),
    subject: clean(decodeWords(valueOf(fields, 'subject')))
      .slice(0, MAX_SUBJECT_LENGTH)
      .toWellFormed(),
    from: addresses(fields, 'from'),
    to: addresses(fields, 'to'),
    cc: addresses(fields, 'cc'),
    bcc: addresses(fields, 'bcc'),
    replyTo: addresses(fields, 'reply-to'),
    messageIdHeader: ids('message-id')[0] ?? null,
    inReplyTo: ids('in-reply-to')[0] ?? null,
    references: ids('references').slice(-MAX_REFERENCES),
    headers: header.length === 0 ? null : clean(headerText(header)).slice(0, MAX_HEADERS_LENGTH),
  };
}

function bodyOf({ html, plain }: MimeMessage['texts']): Pick<ParsedMessage, 'body' | 'snippet'> {
  const body = clean(html ?? htmlOfText((plain ?? '').trimEnd()))
    .slice(0, LONGEST_BODY)
    .toWellFormed();
  return { body, snippet: snippetOf(body) };
}
