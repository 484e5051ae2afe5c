import PostalMime, { type Address as ParsedAddress, type Attachment } from 'postal-mime';
import type { Address } from '../common/http/wire.schema.ts';
import { snippetOf } from './snippet.ts';

/** What the mirror keeps of a message's MIME. All text is storable: no NUL, no broken surrogates. */
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
  snippet: string;
  files: ParsedFile[];
}

/** An attachment without its bytes. */
export interface ParsedFile {
  /** Position among the attachments. */
  part: number;
  filename: string;
  contentType: string;
  contentDisposition: string;
  /** Without angle brackets. */
  contentId: string | null;
  size: number;
}

/** Longer ones are treated as none: they identify nothing, and would not fit an index. */
const MAX_ID_LENGTH = 500;
const MAX_REFERENCES = 100;
const MAX_ADDRESSES = 2_000;
const MAX_FILES = 500;

/** What is left of a message that cannot be parsed. */
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
  snippet: '',
  files: [],
};

/** PostgreSQL stores neither NUL nor halves of surrogate pairs. */
function clean(text: string | null | undefined): string {
  return (text ?? '').replaceAll('\0', '').toWellFormed();
}

function addresses(list: readonly ParsedAddress[] | undefined): Address[] {
  return (list ?? [])
    .flatMap((entry) => entry.group ?? [entry])
    .filter(({ address }) => Boolean(address))
    .slice(0, MAX_ADDRESSES)
    .map(({ name, address }) => ({ email: clean(address), name: clean(name) }));
}

/** Message-IDs in a header, in order. */
function messageIds(header: string | undefined): string[] {
  return (clean(header).match(/<[^<>\s]+>/g) ?? []).filter((id) => id.length <= MAX_ID_LENGTH);
}

function fileOf(attachment: Attachment, part: number): ParsedFile {
  const { content } = attachment;
  return {
    part,
    filename: clean(attachment.filename).slice(0, 1_000),
    contentType: clean(attachment.mimeType).slice(0, 255) || 'application/octet-stream',
    contentDisposition: attachment.disposition === 'inline' ? 'inline' : 'attachment',
    contentId: clean(attachment.contentId).replace(/^<|>$/g, '').slice(0, MAX_ID_LENGTH) || null,
    size: typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength,
  };
}

function htmlOf(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replace(/\r?\n/g, '<br>\n');
}

/**
 * Reads a message as it is stored at a provider.
 * @throws whatever the parser throws for input beyond its limits
 */
export async function parseMessage(mime: Buffer): Promise<ParsedMessage> {
  const email = await PostalMime.parse(mime, { forceRfc822Attachments: true, maxNestingDepth: 100 });
  const body = clean(email.html ?? htmlOf((email.text ?? '').trimEnd()));
  return {
    subject: clean(email.subject),
    from: addresses(email.from ? [email.from] : []),
    to: addresses(email.to),
    cc: addresses(email.cc),
    bcc: addresses(email.bcc),
    replyTo: addresses(email.replyTo),
    messageIdHeader: messageIds(email.messageId)[0] ?? null,
    inReplyTo: messageIds(email.inReplyTo)[0] ?? null,
    references: messageIds(email.references).slice(-MAX_REFERENCES),
    body,
    snippet: snippetOf(body),
    files: email.attachments.slice(0, MAX_FILES).map(fileOf),
  };
}
