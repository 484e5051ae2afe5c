import type { MessageStructureObject } from 'imapflow';
import type { RemoteFile, StoredText } from '../port/connector.ts';

/** Most files that are listed. */
const MOST_FILES = 1_000;
/** Most texts that are read. */
const MOST_TEXTS = 8;
const MOST_CALENDARS = 3;
/** A longer calendar file is treated as an ordinary file. Bytes, as it is stored. */
const LONGEST_CALENDAR = 768 * 1024;
const DEEPEST = 100;

/** A text of a message, and its section. */
export interface TextPart extends Omit<StoredText, 'bytes'> {
  section: string;
}

/** The parts of a message. */
export interface PartsPlan {
  texts: readonly TextPart[];
  files: readonly RemoteFile[];
  /** The files that may contain calendar data. */
  calendars: readonly TextPart[];
}

/**
 * Sorts the parts of a message into texts and files, by the same rules as for messages that are
 * read whole. Texts are plain and HTML parts that are not attachments. A message inside a message
 * is a file.
 */
export function planParts(structure: MessageStructureObject): PartsPlan {
  const texts: TextPart[] = [];
  const files: RemoteFile[] = [];
  const calendars: TextPart[] = [];
  const walk = (node: MessageStructureObject, depth: number): void => {
    if (node.childNodes && node.type !== 'message/rfc822') {
      if (depth < DEEPEST) for (const child of node.childNodes) walk(child, depth + 1);
      return;
    }
    const text = textOf(node);
    if (text) {
      if (texts.length < MOST_TEXTS) texts.push(text);
    } else if (files.length < MOST_FILES) {
      const file = fileOf(node);
      files.push(file);
      if (calendars.length < MOST_CALENDARS) calendars.push(...calendarOf(node, file));
    }
  };
  walk(structure, 0);
  return { texts, files, calendars };
}

/**
 * The only part of a message that is not a multipart has no number of its own: its section is 1
 * (RFC 9051 section 6.4.5).
 */
const sectionOf = ({ part }: MessageStructureObject): string => part ?? '1';

function textOf(node: MessageStructureObject): TextPart | null {
  const { type, disposition, parameters = {}, encoding = '' } = node;
  if (type !== 'text/plain' && type !== 'text/html') return null;
  if (disposition && disposition !== 'inline') return null;
  const { charset = '', format = '', delsp = '' } = parameters;
  return { section: sectionOf(node), type, charset, encoding, format, delSp: delsp };
}

function calendarOf(
  node: MessageStructureObject,
  { filename, contentType }: RemoteFile,
): TextPart[] {
  const type = contentType.toLowerCase();
  const isCalendar =
    type === 'text/calendar' || type === 'application/ics' || /\.ics$/i.test(filename);
  if (!isCalendar || (node.size ?? 0) > LONGEST_CALENDAR) return [];
  const { encoding = '', parameters = {} } = node;
  const { charset = '' } = parameters;
  return [
    { section: sectionOf(node), type: 'text/calendar', charset, encoding, format: '', delSp: '' },
  ];
}

function fileOf(node: MessageStructureObject): RemoteFile {
  const {
    type,
    disposition,
    dispositionParameters = {},
    parameters = {},
    id,
    size = 0,
    encoding,
  } = node;
  return {
    section: sectionOf(node),
    filename: dispositionParameters['filename'] ?? parameters['name'] ?? '',
    contentType: type,
    contentDisposition: disposition === 'inline' ? 'inline' : 'attachment',
    contentId: id?.replace(/^<|>$/g, '') || null,
    // Base64 has four characters for three bytes, and a line break after 76 characters.
    size: encoding?.toLowerCase() === 'base64' ? Math.floor((size * 57) / 78) : size,
  };
}

export function hasSection(node: MessageStructureObject, section: string, depth = 0): boolean {
  if (!node.childNodes && sectionOf(node) === section) return true;
  if (node.part === section) return true;
  return (
    depth < DEEPEST &&
    (node.childNodes ?? []).some((child) => hasSection(child, section, depth + 1))
  );
}
