import type { MessageParts, RemoteFile, StoredText } from '../port/connector.ts';
import type { GmailPart } from './gmail-api.ts';

const MOST_FILES = 1_000;
const MOST_TEXTS = 8;
const MOST_CALENDARS = 3;
/** A longer calendar file is treated as an ordinary file. Bytes. */
const LONGEST_CALENDAR = 768 * 1024;
/** Longest part of a text that is kept. Bytes. */
const TEXT_BYTES = 2 * 1024 * 1024;
const DEEPEST = 100;

/** A text whose bytes are still to be fetched, because Gmail gives it as an attachment. */
export interface LateText {
  attachmentId: string;
  text: Omit<StoredText, 'bytes'>;
}

/** The parts of a large message. */
export interface GmailParts extends Omit<MessageParts, 'texts' | 'calendars'> {
  texts: (StoredText | LateText)[];
  calendars: (StoredText | LateText)[];
}

/** Section of a part for `openFile`. */
export const sectionOf = ({ partId }: GmailPart): string => `p${partId}`;

/**
 * Sorts the parts of a message into texts and files, by the same rules as for messages that are
 * read whole. A message inside a message is a file.
 */
export function readParts(payload: GmailPart): GmailParts {
  const found: GmailParts = { headers: headerBlock(payload), texts: [], files: [], calendars: [] };
  const files: RemoteFile[] = [];
  for (const part of leaves(payload)) {
    const text = textOf(part);
    if (text) {
      if (found.texts.length < MOST_TEXTS) found.texts.push(text);
    } else if (files.length < MOST_FILES) {
      files.push(fileOf(part));
      const calendar = found.calendars.length < MOST_CALENDARS ? calendarOf(part) : null;
      if (calendar) found.calendars.push(calendar);
    }
  }
  return { ...found, files };
}

/** The part of that section; `undefined` if there is none. */
export function partAt(payload: GmailPart, section: string): GmailPart | undefined {
  return leaves(payload).find((part) => sectionOf(part) === section);
}

/** All parts that are not multiparts, in order. */
function leaves(part: GmailPart, depth = 0): GmailPart[] {
  const isWhole = part.parts.length === 0 || part.mimeType === 'message/rfc822';
  if (isWhole) return [part];
  return depth < DEEPEST ? part.parts.flatMap((child) => leaves(child, depth + 1)) : [];
}

/** Gmail gives the fields of the header unfolded and decoded to text, in their order. */
function headerBlock({ headers }: GmailPart): Buffer {
  const lines = headers.map(
    ({ name, value }) => `${name}: ${value.replaceAll(/[\r\n]+/g, ' ')}\r\n`,
  );
  return Buffer.from(`${lines.join('')}\r\n`);
}

const fieldOf = ({ headers }: GmailPart, wanted: string): string =>
  headers.find(({ name }) => name.toLowerCase() === wanted)?.value ?? '';

const parameterOf = (value: string, name: string): string =>
  new RegExp(`;\\s*${name}\\s*=\\s*(?:"([^"]*)"|([^;\\s]*))`, 'i')
    .exec(value)
    ?.slice(1)
    .find((one) => one !== undefined) ?? '';

const dispositionOf = (part: GmailPart): string =>
  (fieldOf(part, 'content-disposition').split(';', 1)[0] ?? '').trim().toLowerCase();

function textOf(part: GmailPart): StoredText | LateText | null {
  const { mimeType: type } = part;
  if (type !== 'text/plain' && type !== 'text/html') return null;
  const disposition = dispositionOf(part);
  if (disposition !== '' && disposition !== 'inline') return null;
  return storedOf(part, type);
}

function calendarOf(part: GmailPart): StoredText | LateText | null {
  const type = part.mimeType.toLowerCase();
  const isCalendar =
    type === 'text/calendar' || type === 'application/ics' || /\.ics$/i.test(part.filename);
  return isCalendar && part.body.size <= LONGEST_CALENDAR ? storedOf(part, 'text/calendar') : null;
}

/** Gmail has already removed the transfer encoding; the charset is that of the message. */
function storedOf(part: GmailPart, type: StoredText['type']): StoredText | LateText {
  const contentType = fieldOf(part, 'content-type');
  const text = {
    type,
    charset: parameterOf(contentType, 'charset'),
    format: parameterOf(contentType, 'format'),
    delSp: parameterOf(contentType, 'delsp'),
    encoding: '',
  };
  const { data, attachmentId } = part.body;
  if (data === undefined && attachmentId !== undefined) return { attachmentId, text };
  return { ...text, bytes: Buffer.from(data ?? '', 'base64url').subarray(0, TEXT_BYTES) };
}

function fileOf(part: GmailPart): RemoteFile {
  return {
    section: sectionOf(part),
    filename: part.filename,
    contentType: part.mimeType,
    contentDisposition: dispositionOf(part) === 'inline' ? 'inline' : 'attachment',
    contentId: fieldOf(part, 'content-id').replace(/^<|>$/g, '') || null,
    size: part.body.size,
  };
}
