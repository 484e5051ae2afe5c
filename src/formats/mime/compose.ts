import type { Readable } from 'node:stream';
import * as base64 from 'nodemailer/lib/base64/index.js';
import MailComposer from 'nodemailer/lib/mail-composer/index.js';
import * as quotedPrintable from 'nodemailer/lib/qp/index.js';
import type { Address } from '../../platform/base/text/address.ts';

/** Something a message carries besides its text. */
export interface ComposedAttachment {
  filename: string;
  /** A media type without parameters. */
  contentType: string;
  contentDisposition: 'attachment' | 'inline';
  /** Without angle brackets; null: the text does not refer to it. */
  contentId: string | null;
  /** Its bytes; a stream is read once. */
  content: Buffer | Readable;
}

/**
 * A scheduling message (RFC 5546) in a mail (RFC 6047): the last alternative of the text, which calendar programs act
 * on, and once more as the file `invite.ics` for those that only show files.
 */
export interface CalendarPart {
  /** METHOD of the file, upper case. */
  method: string;
  /** The file, with CRLF at the ends of lines. */
  ics: string;
}

/** Everything a composed message is made of. */
export interface Composition {
  from: Address;
  to: readonly Address[];
  cc: readonly Address[];
  /** Reached by the envelope only: the header is not written, but for the sender's own copy. */
  bcc: readonly Address[];
  /** Whether it is a copy for the sender, with the Bcc header. Default false. */
  ownCopy?: boolean;
  replyTo: readonly Address[];
  subject: string;
  html: string;
  /** The same in plain text; default: there is none. */
  text?: string;
  /** What it asks of calendars; default: nothing. */
  calendar?: CalendarPart;
  /** With angle brackets. */
  messageIdHeader: string;
  date: Date;
  /** Message-ID this one answers, with angle brackets. */
  inReplyTo?: string | null;
  /** Oldest first. */
  references?: readonly string[];
  /** In their order; default: none. */
  attachments?: readonly ComposedAttachment[];
  /** Further header fields. */
  headers?: Readonly<Record<string, string>>;
}

const addresses = (list: readonly Address[]) =>
  list.map(({ name, email }) => ({ name, address: email }));

/**
 * Composes the MIME of a message (RFC 5322, 2045–2047) once: the same bytes go out in every attempt, with the same
 * Message-ID, so that a message can be recognised wherever it arrives.
 * @throws what a stream of an attachment throws
 */
export async function compose(message: Composition): Promise<Buffer> {
  const composer = new MailComposer({
    from: { name: message.from.name, address: message.from.email },
    to: addresses(message.to),
    cc: addresses(message.cc),
    ...(message.ownCopy ? { bcc: addresses(message.bcc) } : {}),
    replyTo: addresses(message.replyTo),
    subject: message.subject,
    html: message.html,
    ...(message.text === undefined ? {} : { text: message.text }),
    ...(message.calendar
      ? {
          icalEvent: {
            method: message.calendar.method,
            content: message.calendar.ics,
            filename: 'invite.ics',
          },
        }
      : {}),
    messageId: message.messageIdHeader,
    date: message.date,
    ...(message.inReplyTo ? { inReplyTo: message.inReplyTo } : {}),
    ...(message.references?.length ? { references: [...message.references] } : {}),
    attachments: (message.attachments ?? []).map(({ contentId, ...attachment }) => ({
      ...attachment,
      ...(contentId === null ? {} : { cid: contentId }),
    })),
    headers: { ...message.headers },
    // What callers give us is content, never a path or an address to fetch.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const root = composer.compile();
  root.keepBcc = message.ownCopy === true;
  // Without a text the one attachment is the root itself.
  const isText = root.childNodes.length === 0 && !message.attachments?.length;
  if (!isText || Buffer.byteLength(message.html) > MOST_AT_ONCE) return root.build();
  const headers = root.buildHeaders();
  // Decided while the headers were built; none for an empty text.
  const encode = ENCODERS[String(root.getHeader('Content-Transfer-Encoding'))];
  if (!encode) return root.build();
  // One part of text: the library's streams would give the same bytes for three times the work.
  const body = encode(message.html);
  return Buffer.from(`${headers}\r\n\r\n${body}${lineEndAfter(body)}`);
}

/** The library's own, by the transfer encoding it chooses. */
const ENCODERS: Readonly<Record<string, ((text: string) => string) | undefined>> = {
  '7bit': (text) => text,
  'quoted-printable': (text) => quotedPrintable.wrap(quotedPrintable.encode(text)),
  base64: (text) => base64.wrap(base64.encode(text)),
};

/** Bytes. The library takes longer text by pieces of this size, and may break lines at their ends. */
const MOST_AT_ONCE = 16_384;

function lineEndAfter(body: string): string {
  if (body.endsWith('\n')) return '';
  return body.endsWith('\r') ? '\n' : '\r\n';
}

/** Recipients of the SMTP envelope: every address once. */
export function recipientsOf(message: Pick<Composition, 'to' | 'cc' | 'bcc'>): string[] {
  const seen = new Map<string, string>();
  for (const { email } of [...message.to, ...message.cc, ...message.bcc]) {
    const key = email.toLowerCase();
    if (!seen.has(key)) seen.set(key, email);
  }
  return [...seen.values()];
}
