import {
  type MessageParts,
  type PartAddress,
  type PartFile,
  takeApart,
} from '../../formats/mime/take-apart.ts';
import type { OutgoingMessage } from '../port/connector.ts';
import type { RefusedRecipient } from '../../platform/base/errors/provider-error.ts';

/*
 * Runs in worker threads (`SendGridRelay`), because callers supply whole messages. Node loads this
 * file directly, in tests too, so it may import only files whose types Node itself can strip.
 */

/** Highest number of recipients of one request to `POST /v3/mail/send`. */
export const MOST_RECIPIENTS = 1000;
/** The argument that carries the Message-ID into SendGrid's Email Activity feed. */
export const MESSAGE_ID_ARGUMENT = 'carillon_message_id';

interface Address {
  email: string;
  name?: string;
}

interface Personalization {
  to: Address[];
  cc?: Address[];
  bcc?: Address[];
}

/** The part of a message that the thread needs. */
export type OutgoingContent = Omit<OutgoingMessage, 'mime' | 'bcc'> & { mime: Uint8Array };

/** One request, and the recipients that it leaves out. */
export interface Mailing {
  /** The JSON body of the request. */
  content: Uint8Array;
  /** Recipients of the request, as in the envelope. */
  recipients: string[];
  /** Recipients beyond the limit of one request. */
  deferred: RefusedRecipient[];
}

/** Headers that SendGrid writes itself, or that only describe the MIME encoding. */
const NOT_TAKEN =
  /^(from|sender|to|cc|bcc|reply-to|subject|date|mime-version|content-.*|received|return-path|dkim-signature|x-sg-.*)$/;
const VISIBLE_ASCII = /^[\x20-\x7e]+$/;

/**
 * Builds the request for a message. SendGrid generates the To and Cc headers from the recipients of
 * the request. A retry to some of the recipients therefore names only those. Bcc recipients without
 * a To each get a separate copy that names no other recipient.
 * @throws the errors of `takeApart`
 */
export function toMailing(message: OutgoingContent): Mailing {
  const email = takeApart({ mime: message.mime });
  const recipients = message.envelope.recipients.slice(0, MOST_RECIPIENTS);
  const deferred = message.envelope.recipients.slice(MOST_RECIPIENTS).map((email) => ({
    email,
    reason: `the mailing service accepts ${MOST_RECIPIENTS} recipients at a time`,
  }));
  const replyTo = unique(mailboxes(email.replyTo));
  const attachments = email.files.map(toAttachment);
  const payload = {
    personalizations: personalizationsFor(email, recipients),
    from: mailboxes(email.from)[0] ?? { email: message.envelope.from },
    ...(replyTo.length === 1 ? { reply_to: replyTo[0] } : {}),
    ...(replyTo.length > 1 ? { reply_to_list: replyTo } : {}),
    // SendGrid refuses empty texts.
    subject: email.subject || '(no subject)',
    content: contentOf(email),
    ...(attachments.length > 0 ? { attachments } : {}),
    headers: headersOf(email, message.messageIdHeader),
    custom_args: { [MESSAGE_ID_ARGUMENT]: message.messageIdHeader },
    // The message must stay as the user wrote it: whatever the account's defaults, SendGrid must
    // not rewrite links or add anything.
    tracking_settings: {
      click_tracking: { enable: false, enable_text: false },
      open_tracking: { enable: false },
      subscription_tracking: { enable: false },
    },
  };
  return { content: new TextEncoder().encode(JSON.stringify(payload)), recipients, deferred };
}

/** Lists every given recipient once, in the first header of the message that names it. */
function personalizationsFor(
  email: MessageParts,
  recipients: readonly string[],
): Personalization[] {
  const left = new Map(recipients.map((address) => [address.toLowerCase(), address]));
  const take = (list: readonly Address[]) =>
    list.filter(({ email }) => left.delete(email.toLowerCase()));
  const to = take(mailboxes(email.to));
  const cc = take(mailboxes(email.cc));
  const bcc = [...left.values()].map((email) => ({ email }));
  const [visible, copies] = to.length > 0 ? [to, cc] : [cc, []];
  if (visible.length === 0) return bcc.map((one) => ({ to: [one] }));
  return [
    {
      to: visible,
      ...(copies.length > 0 ? { cc: copies } : {}),
      ...(bcc.length > 0 ? { bcc } : {}),
    },
  ];
}

function mailboxes(list: readonly PartAddress[]): Address[] {
  return list.map(({ address, name }) => ({
    email: address,
    ...(name ? { name: quoted(name) } : {}),
  }));
}

/** SendGrid treats an unquoted comma or semicolon as the end of a name. */
function quoted(name: string): string {
  return /[,;]/.test(name) ? `"${name.replaceAll(/["\\]/g, '')}"` : name;
}

function unique(list: readonly Address[]): Address[] {
  return [
    ...new Map(list.toReversed().map((one) => [one.email.toLowerCase(), one])).values(),
  ].toReversed();
}

/** SendGrid requires plain text first. */
function contentOf({ text, html }: MessageParts): { type: string; value: string }[] {
  const parts = [
    ...(text ? [{ type: 'text/plain', value: text }] : []),
    ...(html ? [{ type: 'text/html', value: html }] : []),
  ];
  return parts.length > 0
    ? parts
    : [{ type: html === null ? 'text/plain' : 'text/html', value: ' ' }];
}

function toAttachment({ bytes, contentType, filename, isInline, contentId }: PartFile) {
  const inline = isInline && contentId !== null;
  return {
    content: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
    type: contentType,
    filename: filename || 'attachment',
    disposition: inline ? 'inline' : 'attachment',
    ...(inline ? { content_id: contentId } : {}),
  };
}

/** All other headers of the message. The Message-ID is the same on every route. */
function headersOf({ fields }: MessageParts, messageIdHeader: string): Record<string, string> {
  const first = new Map<string, readonly [string, string]>();
  for (const { name, value } of fields) {
    const key = name.toLowerCase();
    const isKept = !NOT_TAKEN.test(key) && VISIBLE_ASCII.test(value) && !first.has(key);
    if (isKept) first.set(key, [name, value]);
  }
  first.set('message-id', ['Message-ID', messageIdHeader]);
  return Object.fromEntries(first.values());
}
