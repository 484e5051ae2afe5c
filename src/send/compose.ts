import * as base64 from 'nodemailer/lib/base64/index.js';
import MailComposer from 'nodemailer/lib/mail-composer/index.js';
import * as quotedPrintable from 'nodemailer/lib/qp/index.js';
import type { Address } from '../common/http/wire.schema.ts';

/** Everything a composed message is made of. */
export interface Composition {
  from: Address;
  to: readonly Address[];
  cc: readonly Address[];
  /** Reached by the envelope only: the header is not written. */
  bcc: readonly Address[];
  replyTo: readonly Address[];
  subject: string;
  html: string;
  /** With angle brackets. */
  messageIdHeader: string;
  /** The Date header. */
  date: Date;
  /** Message-ID this one answers, with angle brackets. */
  inReplyTo?: string | null;
  /** Oldest first. */
  references?: readonly string[];
  /** Further header fields. */
  headers?: Readonly<Record<string, string>>;
}

const addresses = (list: readonly Address[]) => list.map(({ name, email }) => ({ name, address: email }));

/**
 * Composes the MIME of a message (RFC 5322, 2045–2047) once: the same bytes go out in every attempt, with the same
 * Message-ID, so that a message can be recognised wherever it arrives.
 */
export async function compose(message: Composition): Promise<Buffer> {
  const composer = new MailComposer({
    from: { name: message.from.name, address: message.from.email },
    to: addresses(message.to),
    cc: addresses(message.cc),
    replyTo: addresses(message.replyTo),
    subject: message.subject,
    html: message.html,
    messageId: message.messageIdHeader,
    date: message.date,
    ...(message.inReplyTo ? { inReplyTo: message.inReplyTo } : {}),
    ...(message.references?.length ? { references: [...message.references] } : {}),
    headers: { ...message.headers },
    // What callers give us is content, never a path or an address to fetch.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const root = composer.compile();
  if (root.childNodes.length > 0 || Buffer.byteLength(message.html) > MOST_AT_ONCE) return root.build();
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
