import { randomUUID } from 'node:crypto';
import type { StubUser } from '../directory/directory.ts';
import { GraphError, graphErrors } from '../http/types.ts';
import type { World } from '../world.ts';
import type { MessageContent, Recipient } from './message.ts';
import { readMime, withoutBcc, writeMime } from './mime.ts';

/** How a message is sent. */
export interface SendOptions {
  /** Called when the copy may be put into Sent Items; absent keeps no copy. */
  file?: (content: MessageContent) => void;
  /** Whether the token allows to send from addresses of others (`Mail.Send.Shared`). */
  mayBeOthers: boolean;
}

/** Most recipients of one message. */
const MOST_RECIPIENTS = 500;

/**
 * Sends a message from a mailbox: checks its author and recipients, keeps the copy in Sent Items
 * and delivers it to users of the stub. Other addresses are recorded.
 * @throws {GraphError} 4xx if the message is refused
 */
export async function send(
  world: World,
  user: StubUser,
  draft: MessageContent,
  { file, mayBeOthers }: SendOptions,
): Promise<void> {
  const own = world.personOf(user);
  const asked = draft.from ?? own;
  assertMaySendAs(user, asked, mayBeOthers);
  // Exchange replaces aliases, and says nothing.
  const isAlias = user.aliases.has(asked.address.toLowerCase());
  const from = isAlias && !world.settings.sendsFromAliases ? own : asked;
  const everyone = recipientsOf(draft);
  if (everyone.length === 0) {
    throw new GraphError(
      400,
      'ErrorInvalidRecipients',
      'At least one recipient is not valid., At least one recipient must be specified.',
    );
  }
  if (everyone.length > MOST_RECIPIENTS) {
    throw new GraphError(
      400,
      'ErrorExceededMaxRecipientLimitPerMessage',
      'The message has too many recipients.',
    );
  }
  world.quotas.send(user.email);
  const sent = world.now();
  const content: MessageContent = {
    ...draft,
    ...changesOf(world, draft),
    from,
    sender: own,
    sent: new Date(Math.floor(sent / 1_000) * 1_000),
  };
  const mime = withoutBcc(await writeMime(content));
  const outside = everyone.filter((address) => !world.directory.user(address));
  world.sent.push({
    sender: user.email,
    from: from.address,
    to: draft.to.map(({ address }) => address),
    cc: draft.cc.map(({ address }) => address),
    bcc: draft.bcc.map(({ address }) => address),
    subject: draft.subject,
    internetMessageId: content.internetMessageId,
    mime,
    outside,
  });
  if (file) world.later(world.settings.sentDelayMs, () => file(content));
  const received = await readMime(mime, new Date(sent));
  world.later(world.settings.deliveryDelayMs, () => deliver(world, everyone, received));
}

/** What Exchange changes of a message when it sends it, if it is unpleasant. */
function changesOf(
  { settings, replacedIds }: World,
  { headers, internetMessageId, mime }: MessageContent,
): Partial<MessageContent> {
  const replaced = `<${randomUUID()}@exchange.test>`;
  if (settings.replacesMessageIds) replacedIds.set(replaced, internetMessageId);
  const kept = headers.filter(({ name }) => !/^x-/i.test(name));
  return {
    ...(settings.replacesMessageIds
      ? { internetMessageId: replaced, mime: mime && withMessageId(mime, replaced) }
      : {}),
    ...(settings.dropsHeaders ? { headers: kept, mime: null } : {}),
  };
}

/** The message with another Message-ID, and as it was composed otherwise. */
function withMessageId(mime: Buffer, id: string): Buffer {
  const text = mime.toString('latin1');
  const end = text.indexOf('\r\n\r\n') + 2;
  const others = text.slice(0, end).replace(/^message-id:[^\r\n]*(?:\r\n[ \t][^\r\n]*)*\r\n/im, '');
  return Buffer.from(`Message-ID: ${id}\r\n${others}${text.slice(end)}`, 'latin1');
}

/** Puts a message into the inbox of every recipient that is a user of the stub. */
export function deliver(world: World, addresses: string[], received: MessageContent): void {
  const users = new Set(addresses.map((address) => world.directory.user(address)));
  for (const user of users) {
    if (!user) continue;
    const { mailbox } = user;
    mailbox.add(
      { ...received, bcc: [], attachments: received.attachments.map((file) => ({ ...file })) },
      { folderId: mailbox.folderId('inbox') },
    );
  }
}

/** All recipients, each once, lower case. */
function recipientsOf({ to, cc, bcc }: MessageContent): string[] {
  const all = [...to, ...cc, ...bcc].map(({ address }) => address.toLowerCase());
  for (const address of all) {
    if (!/^[^@\s]+@[^@\s]+$/.test(address)) {
      throw new GraphError(400, 'ErrorInvalidRecipients', 'At least one recipient is not valid.');
    }
  }
  return [...new Set(all)];
}

function assertMaySendAs(user: StubUser, from: Recipient, mayBeOthers: boolean): void {
  const address = from.address.toLowerCase();
  const own = user.email.toLowerCase();
  if (address === own || user.aliases.has(address)) return;
  if (mayBeOthers && user.sendAs.has(address)) return;
  throw new GraphError(
    403,
    'ErrorSendAsDenied',
    'The user account which was used to submit this request does not have the right to send mail on behalf of the specified sending account., Cannot submit message.',
  );
}

/** The MIME of a request: base64 in a body of text. @throws {GraphError} 400 */
export async function mimeBody(body: Buffer, now: Date): Promise<MessageContent> {
  const text = body.toString('latin1').replace(/\s+/g, '');
  if (text === '' || !/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) {
    throw new GraphError(
      400,
      'ErrorMimeContentInvalidBase64String',
      'Invalid base64 string for MIME content.',
    );
  }
  const content = await readMime(Buffer.from(text, 'base64'), now);
  if (content.headers.length === 0) throw graphErrors.invalidRequest('MIME content is malformed.');
  return content;
}
