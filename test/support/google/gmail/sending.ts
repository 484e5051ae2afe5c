import { GoogleError, invalid } from '../errors.ts';
import type { GoogleUser } from '../google-user.ts';
import type { GoogleWorld } from '../world.ts';
import type { MailMessage } from './mailbox.ts';
import { addressesIn, headersOf, headerValue, withHeader, withoutHeader } from './mime.ts';

/** The most bytes of a message that Gmail takes. */
const MOST_BYTES = 36_700_160;
const MOST_RECIPIENTS = 500;

/**
 * Sends a message as Gmail does. The recipients are those of To, Cc and Bcc. The sender's copy
 * keeps Bcc and has the label SENT. A message to oneself is one message with SENT and INBOX.
 * @returns the sender's copy
 */
export function sendMail(
  world: GoogleWorld,
  sender: GoogleUser,
  raw: Buffer,
  threadId?: string,
): MailMessage {
  if (raw.length > MOST_BYTES)
    throw new GoogleError(413, 'uploadTooLarge', 'Request Entity Too Large');
  const headers = headersOf(raw);
  const recipients = ['to', 'cc', 'bcc'].flatMap((name) =>
    addressesIn(
      headers
        .filter((one) => one.name.toLowerCase() === name)
        .map(({ value }) => value)
        .join(','),
    ),
  );
  if (recipients.length === 0) throw invalid('Recipient address required');
  if (recipients.length > MOST_RECIPIENTS) throw invalid('Too many recipients');
  const own = completed(world, sender, raw);
  const isToSelf = recipients.some((address) => sender.hasAddress(address));
  const labels = isToSelf ? ['UNREAD', 'SENT', 'INBOX'] : ['SENT'];
  const message = sender.mailbox.add({ raw: own, labels, ...(threadId && { threadId }) });
  const others = recipients.filter((address) => !sender.hasAddress(address));
  deliverMail(world, sender.email, others, world.habits.rewritesMime ? rewritten(own) : own);
  return message;
}

/**
 * Puts a message into the mailboxes of its recipients. Mail to strangers is kept in `outgoing`.
 * Tests use it to let mail arrive from outside.
 */
export function deliverMail(
  world: GoogleWorld,
  from: string,
  recipients: readonly string[],
  raw: Buffer,
): MailMessage[] {
  const clean = withoutHeader(raw, 'bcc');
  const users = new Set<GoogleUser>();
  const strangers: string[] = [];
  for (const address of new Set(recipients)) {
    const user = world.userAt(address);
    if (user) users.add(user);
    else strangers.push(address);
  }
  if (strangers.length > 0) world.outgoing.push({ from, to: strangers, raw: clean });
  return [...users].map((user) =>
    user.mailbox.add({
      raw: withHeader(clean, 'Delivered-To', user.email),
      labels: ['UNREAD', 'IMPORTANT', 'CATEGORY_PERSONAL', 'INBOX'],
    }),
  );
}

/**
 * What recipients get of a message, as people have reported it: another boundary of the outermost
 * parts, and HTML that is not encoded has no comments and no doctype. The copy in Sent stays.
 */
export function rewritten(raw: Buffer): Buffer {
  const text = raw.toString('latin1');
  const type = headerValue(headersOf(raw), 'content-type') ?? '';
  const boundary = /boundary="?([^";]+)"?/i.exec(type)?.[1];
  const other = boundary === undefined ? text : text.replaceAll(boundary, `${'0'.repeat(12)}stub`);
  return Buffer.from(other.replace(/<!--[\s\S]*?-->|<!doctype[^>]*>/gi, ''), 'latin1');
}

/** A message as Gmail stores it: with the Message-ID and the headers that it keeps. */
export function storedForm({ habits, nextId, replacedIds }: GoogleWorld, raw: Buffer): Buffer {
  let result = raw;
  if (habits.ownHeaders === 'dropped')
    for (const { name } of headersOf(raw))
      if (/^x-/i.test(name)) result = withoutHeader(result, name);
  if (habits.messageIds === 'kept') return result;
  const id = `<CAstub${nextId()}@mail.gmail.com>`;
  replacedIds.set(id, headerValue(headersOf(raw), 'message-id') ?? id);
  return withHeader(withoutHeader(result, 'message-id'), 'Message-ID', id);
}

/**
 * Adds a missing Date or Message-ID, and replaces a From that is not the sender's.
 */
function completed(world: GoogleWorld, sender: GoogleUser, raw: Buffer): Buffer {
  const headers = headersOf(raw);
  let result = storedForm(world, raw);
  const [from] = addressesIn(headerValue(headers, 'from'));
  if (!from || !sender.hasAddress(from))
    result = withHeader(withoutHeader(result, 'from'), 'From', `${sender.name} <${sender.email}>`);
  if (headerValue(headers, 'date') === null)
    result = withHeader(result, 'Date', new Date(world.now()).toUTCString());
  if (headerValue(headersOf(result), 'message-id') === null)
    result = withHeader(result, 'Message-ID', `<CAstub${world.nextId()}@mail.gmail.com>`);
  return result;
}
