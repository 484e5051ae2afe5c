import PostalMime, {
  type Address as ParsedAddress,
  type Attachment,
  type Email,
} from 'postal-mime';
import type { OutgoingMessage } from '../port/connector.ts';
import type { RefusedRecipient } from '../../platform/base/errors/provider-error.ts';

/*
 * Made in threads (`SendGridRelay`): callers give whole messages. Node loads this file as it is, in tests too: it may import only
 * what Node itself can strip of types.
 */

/** Recipients of one request to `POST /v3/mail/send`. */
export const MOST_RECIPIENTS = 1000;
/** The argument that carries the Message-ID into SendGrid's Email Activity. */
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

/** What of a message a thread needs. */
export type OutgoingContent = Omit<OutgoingMessage, 'mime' | 'bcc'> & { mime: Uint8Array };

/** One request, and whom it leaves out. */
export interface Mailing {
  /** The body of the request: JSON. */
  content: Uint8Array;
  /** Those it goes to, as in the envelope. */
  recipients: string[];
  /** Those beyond the most that one request takes. */
  deferred: RefusedRecipient[];
}

/** Headers SendGrid writes itself, or that only describe our own encoding. */
const NOT_TAKEN =
  /^(from|sender|to|cc|bcc|reply-to|subject|date|mime-version|content-.*|received|return-path|dkim-signature|x-sg-.*)$/;
const VISIBLE_ASCII = /^[\x20-\x7e]+$/;

/**
 * The request for a message. SendGrid makes the To and Cc headers from those it sends to: a retry that goes to some of the
 * recipients names only them, and Bcc recipients without a To get a copy each that names nobody else.
 * @throws whatever the parser throws for a message that is none
 */
export async function toMailing(message: OutgoingContent): Promise<Mailing> {
  const email = await PostalMime.parse(message.mime, {
    forceRfc822Attachments: true,
    attachmentEncoding: 'base64',
  });
  const recipients = message.envelope.recipients.slice(0, MOST_RECIPIENTS);
  const deferred = message.envelope.recipients.slice(MOST_RECIPIENTS).map((email) => ({
    email,
    reason: `the mailing service takes ${MOST_RECIPIENTS} recipients at a time`,
  }));
  const replyTo = unique(mailboxes(email.replyTo));
  const attachments = email.attachments.map(toAttachment);
  const payload = {
    personalizations: personalizationsFor(email, recipients),
    from: mailboxes(email.from ? [email.from] : [])[0] ?? { email: message.envelope.from },
    ...(replyTo.length === 1 ? { reply_to: replyTo[0] } : {}),
    ...(replyTo.length > 1 ? { reply_to_list: replyTo } : {}),
    // Empty texts are refused.
    subject: email.subject || '(no subject)',
    content: contentOf(email),
    ...(attachments.length > 0 ? { attachments } : {}),
    headers: headersOf(email, message.messageIdHeader),
    custom_args: { [MESSAGE_ID_ARGUMENT]: message.messageIdHeader },
    // The message as the user wrote it: whatever the account's defaults, no links are rewritten and nothing is added.
    tracking_settings: {
      click_tracking: { enable: false, enable_text: false },
      open_tracking: { enable: false },
      subscription_tracking: { enable: false },
    },
  };
  return { content: new TextEncoder().encode(JSON.stringify(payload)), recipients, deferred };
}

/** Everybody once, where the message names them first; nobody but the given. */
function personalizationsFor(email: Email, recipients: readonly string[]): Personalization[] {
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

function mailboxes(list: readonly ParsedAddress[] | undefined): Address[] {
  return (list ?? [])
    .flatMap((entry) => entry.group ?? [entry])
    .flatMap(({ address, name }) =>
      address ? [{ email: address, ...(name ? { name: quoted(name) } : {}) }] : [],
    );
}

/** SendGrid takes bare commas and semicolons in a name for the end of it. */
function quoted(name: string): string {
  return /[,;]/.test(name) ? `"${name.replaceAll(/["\\]/g, '')}"` : name;
}

function unique(list: readonly Address[]): Address[] {
  return [
    ...new Map(list.toReversed().map((one) => [one.email.toLowerCase(), one])).values(),
  ].toReversed();
}

/** Plain text has to come first. */
function contentOf({ text, html }: Email): { type: string; value: string }[] {
  const parts = [
    ...(text ? [{ type: 'text/plain', value: text }] : []),
    ...(html ? [{ type: 'text/html', value: html }] : []),
  ];
  return parts.length > 0
    ? parts
    : [{ type: html === undefined ? 'text/plain' : 'text/html', value: ' ' }];
}

function toAttachment({
  content,
  mimeType,
  filename,
  disposition,
  related,
  contentId,
}: Attachment) {
  const id = contentId?.replaceAll(/^<|>$/g, '');
  const inline = id && (disposition === 'inline' || related);
  return {
    content:
      typeof content === 'string'
        ? content
        : Buffer.from(content as ArrayBuffer).toString('base64'),
    type: mimeType || 'application/octet-stream',
    filename: filename || 'attachment',
    disposition: inline ? 'inline' : 'attachment',
    ...(inline ? { content_id: id } : {}),
  };
}

/** What the message says besides; the Message-ID stays the same on every way. */
function headersOf({ headers }: Email, messageIdHeader: string): Record<string, string> {
  const kept = headers.filter(
    ({ key, value }) => !NOT_TAKEN.test(key) && VISIBLE_ASCII.test(value),
  );
  const first = new Map(
    kept.toReversed().map(({ key, originalKey, value }) => [key, [originalKey, value] as const]),
  );
  first.set('message-id', ['Message-ID', messageIdHeader]);
  return Object.fromEntries(first.values());
}
