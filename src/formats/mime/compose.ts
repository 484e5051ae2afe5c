import type { Readable } from 'node:stream';
import * as base64 from 'nodemailer/lib/base64/index.js';
import MailComposer from 'nodemailer/lib/mail-composer/index.js';
import * as quotedPrintable from 'nodemailer/lib/qp/index.js';
import type { Address } from '../../platform/base/text/address.ts';
import { withShortHeaderLines } from './header-lines.ts';

/** An attachment or inline file of a message. */
export interface ComposedAttachment {
  filename: string;
  /** A media type without parameters. */
  contentType: string;
  contentDisposition: 'attachment' | 'inline';
  /** Without angle brackets; `null` if the text does not refer to the file. */
  contentId: string | null;
  /** Content of the file; a stream is read once. */
  content: Buffer | Readable;
}

/**
 * A scheduling message (RFC 5546) in a mail (RFC 6047). Included twice: as the last alternative of
 * the text, for calendar programs, and as the file `invite.ics`, for programs that only show files.
 */
export interface CalendarPart {
  /** METHOD of the file, upper case. */
  method: string;
  /** The file, with CRLF line ends. */
  ics: string;
}

/** All input of a composed message. */
export interface Composition {
  from: Address;
  to: readonly Address[];
  cc: readonly Address[];
  /** Recipients of the envelope only. The header Bcc is written only into the sender's own copy. */
  bcc: readonly Address[];
  /** True for the sender's own copy, which has the Bcc header. Default false. */
  ownCopy?: boolean;
  replyTo: readonly Address[];
  subject: string;
  html: string;
  /** Plain-text version; none by default. */
  text?: string;
  /** Scheduling message; none by default. */
  calendar?: CalendarPart;
  /** With angle brackets. */
  messageIdHeader: string;
  date: Date;
  /** Message-ID of the message this one replies to, with angle brackets. */
  inReplyTo?: string | null;
  /** Oldest first. */
  references?: readonly string[];
  /** In this order; none by default. */
  attachments?: readonly ComposedAttachment[];
  /** Additional header fields. */
  headers?: Readonly<Record<string, string>>;
}

const addresses = (list: readonly Address[]) =>
  list.map(({ name, email }) => ({ name, address: email }));

/**
 * Composes the MIME text of a message (RFC 5322, RFC 2045–2047). It is composed once: every attempt
 * sends the same bytes with the same Message-ID, so that the message can be recognised wherever it
 * arrives.
 * @throws any error of an attachment's stream
 */
export async function compose(message: Composition): Promise<Buffer> {
  return withShortHeaderLines(await composed(message));
}

async function composed(message: Composition): Promise<Buffer> {
  const references = (message.references ?? []).filter(fits);
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
    ...(message.inReplyTo && fits(message.inReplyTo) ? { inReplyTo: message.inReplyTo } : {}),
    ...(references.length > 0 ? { references } : {}),
    attachments: (message.attachments ?? []).map(({ contentId, ...attachment }) => ({
      ...attachment,
      ...(contentId === null ? {} : { cid: contentId }),
    })),
    headers: { ...message.headers },
    // The input is content, never a path or URL that the library may load.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const root = composer.compile();
  root.keepBcc = message.ownCopy === true;
  // Without text, a single attachment becomes the root itself.
  const isText = root.childNodes.length === 0 && !message.attachments?.length;
  if (!isText || Buffer.byteLength(message.html) > MOST_AT_ONCE) return root.build();
  const headers = root.buildHeaders();
  // Set while the headers were built; absent for an empty text.
  const encode = ENCODERS[String(root.getHeader('Content-Transfer-Encoding'))];
  if (!encode) return root.build();
  // A single text part: the library's streams would produce the same bytes for three times the
  // work.
  const body = encode(message.html);
  return Buffer.from(`${headers}\r\n\r\n${body}${lineEndAfter(body)}`);
}

/** Longer Message-IDs cannot be folded into lines of 998 octets, so they are left out. */
const fits = (messageId: string): boolean => Buffer.byteLength(messageId) <= 900;

/** The library's own encoders, by the transfer encoding it chooses. */
const ENCODERS: Readonly<Record<string, ((text: string) => string) | undefined>> = {
  '7bit': (text) => text,
  'quoted-printable': (text) => quotedPrintable.wrap(quotedPrintable.encode(text)),
  base64: (text) => base64.wrap(base64.encode(text)),
};

/**
 * In bytes. The library encodes longer text in pieces of this size and may break lines between
 * them.
 */
const MOST_AT_ONCE = 16_384;

function lineEndAfter(body: string): string {
  if (body.endsWith('\n')) return '';
  return body.endsWith('\r') ? '\n' : '\r\n';
}

/** Recipients of the SMTP envelope, without duplicate addresses. */
export function recipientsOf(message: Pick<Composition, 'to' | 'cc' | 'bcc'>): string[] {
  const seen = new Map<string, string>();
  for (const { email } of [...message.to, ...message.cc, ...message.bcc]) {
    const key = email.toLowerCase();
    if (!seen.has(key)) seen.set(key, email);
  }
  return [...seen.values()];
}
