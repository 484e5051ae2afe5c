import type { MessageStructureObject } from 'imapflow';
import type { RemoteFile, StoredText } from '../port/connector.ts';

/** More are not listed. */
const MOST_FILES = 1_000;
/** More are not read. */
const MOST_TEXTS = 8;
const MOST_CALENDARS = 3;
/** A longer calendar file is an ordinary one. Bytes, as it is stored. */
const LONGEST_CALENDAR = 768 * 1024;
const DEEPEST = 100;

/** A text of a message, and where it is. */
export interface TextPart extends Omit<StoredText, 'bytes'> {
  section: string;
}

/** What a message is made of. */
export interface PartsPlan {
  texts: readonly TextPart[];
  files: readonly RemoteFile[];
  /** Those of the files that may be about meetings. */
  calendars: readonly TextPart[];
}

/**
 * Which parts of a message are its text and which are files, by the same rules as for messages that are read whole: texts
 * are plain and HTML parts that are no attachments; a message inside it is a file.
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

/** The only part of a message that is not a multipart has no number of its own: it is 1 (RFC 9051 6.4.5). */
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
    // Four characters for three bytes, and a line break after 76 of them.
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
