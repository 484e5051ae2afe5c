import { readAddresses } from './reading/address-list.ts';
import { decodeWords } from './reading/encoded-words.ts';
import { valueOf, valuesOf } from './reading/header-fields.ts';
import { readMime } from './reading/read-mime.ts';
import { dispositionOf, type FilePart } from './reading/sort-parts.ts';

/*
 * Runs in worker threads for `messageParts`. Node loads this file directly, in tests too, so it may
 * import only files whose types Node itself can strip.
 */

/** An address of a message, with its name; the name may be empty. */
export interface PartAddress {
  name: string;
  address: string;
}

/** A file of a message, decoded. */
export interface PartFile {
  filename: string;
  contentType: string;
  isInline: boolean;
  /** Without angle brackets. */
  contentId: string | null;
  bytes: Uint8Array;
}

/** A message as its parts, for services that do not take MIME texts of this size. */
export interface MessageParts {
  from: PartAddress[];
  sender: PartAddress[];
  replyTo: PartAddress[];
  to: PartAddress[];
  cc: PartAddress[];
  bcc: PartAddress[];
  subject: string;
  /** With angle brackets, as in the header; empty without one. */
  messageId: string;
  inReplyTo: string;
  references: string;
  /** All header fields in their order, as they are written but unfolded. */
  fields: { name: string; value: string }[];
  importance: 'low' | 'normal' | 'high';
  text: string | null;
  html: string | null;
  /** In the order of the message. Calendar files and messages within the message are among them. */
  files: PartFile[];
}

/**
 * Takes a message apart.
 * @throws {Error} if something of it would be missing, for example because it has too many parts
 */
export function takeApart({ mime }: { mime: Uint8Array }): MessageParts {
  const { fields, texts, files, notes } = readMime(mime, Infinity);
  const [missing] = notes.leftOut;
  if (missing !== undefined) throw new Error(missing);
  const addresses = (name: string) => valuesOf(fields, name).flatMap(readAddresses);
  const importance = valueOf(fields, 'importance').toLowerCase();
  return {
    from: addresses('from'),
    sender: addresses('sender'),
    replyTo: addresses('reply-to'),
    to: addresses('to'),
    cc: addresses('cc'),
    bcc: addresses('bcc'),
    subject: decodeWords(valueOf(fields, 'subject')),
    messageId: valueOf(fields, 'message-id'),
    inReplyTo: valueOf(fields, 'in-reply-to'),
    references: valueOf(fields, 'references'),
    fields: fields.map(({ name, value }) => ({ name, value })),
    importance: importance === 'high' || importance === 'low' ? importance : 'normal',
    text: texts.plain,
    html: texts.html,
    files: files.map(fileOf),
  };
}

function fileOf(file: FilePart): PartFile {
  const { part } = file;
  return {
    filename: part.filename,
    contentType: part.type,
    isInline: dispositionOf(file) === 'inline',
    contentId: part.contentId,
    bytes: part.content ?? new Uint8Array(),
  };
}
