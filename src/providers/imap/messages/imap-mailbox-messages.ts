import type { ImapFlow } from 'imapflow';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { answerOf } from '../sessions/imap-connection.ts';
import type { MessageLocation } from '../changes/imap-cursor.ts';

/** How many of a folder's newest messages are searched for one without a Message-ID. */
const RECENT_UIDS = 50;

/**
 * Opens the folder of a message for writing.
 * @returns false if the folder does not exist or has another UIDVALIDITY
 */
export async function openForWriting(
  client: ImapFlow,
  { path, uidValidity }: MessageLocation,
): Promise<boolean> {
  try {
    const mailbox = await client.mailboxOpen(path);
    return mailbox.uidValidity.toString() === uidValidity;
  } catch (error) {
    if ((error as { mailboxMissing?: boolean }).mailboxMissing) return false;
    throw error;
  }
}

interface Marks {
  messageIdHeader: string | null;
  /** Size in bytes. Absent if the size is not compared. */
  size?: number;
  receivedAt?: number;
}

/** UID of the newest message of the open folder with these properties. `null` if there is none. */
export async function findMessage(
  client: ImapFlow,
  { messageIdHeader, size, receivedAt }: Marks,
): Promise<number | null> {
  const uidNext = client.mailbox ? client.mailbox.uidNext : 1;
  const query = messageIdHeader
    ? { header: { 'Message-ID': messageIdHeader }, deleted: false }
    : { uid: `${Math.max(1, uidNext - RECENT_UIDS)}:*`, deleted: false };
  const uids = await answerOf(client, client.search(query, { uid: true }));
  for (const uid of Array.isArray(uids) ? uids.toReversed() : []) {
    const message = await marksOf(client, uid);
    // The search also matches parts of the header.
    if (!message || (messageIdHeader && message.messageIdHeader !== messageIdHeader)) continue;
    if (size !== undefined && message.size !== size) continue;
    if (receivedAt !== undefined && message.receivedAt !== receivedAt) continue;
    return uid;
  }
  return null;
}

/** `null` if the open folder has no such message. */
async function marksOf(client: ImapFlow, uid: number): Promise<Required<Marks> | null> {
  const query = { uid: true, size: true, internalDate: true, headers: ['Message-ID'] };
  const message = await client.fetchOne(`${uid}`, query, { uid: true });
  if (!message) return null;
  return {
    messageIdHeader:
      /^message-id:\s*(\S+)/i.exec(message.headers?.toString('latin1') ?? '')?.[1] ?? null,
    size: message.size ?? 0,
    // Servers without a readable date report the same for the copy.
    receivedAt: new Date(message.internalDate ?? 0).getTime() || 0,
  };
}

/**
 * Moves a message of the open folder.
 * @returns its new position, or `null` if the message does not exist
 * @throws {ProviderError} `not-found` if the target folder does not exist
 */
export async function moveMessage(
  client: ImapFlow,
  location: MessageLocation,
  target: string,
): Promise<MessageLocation | null> {
  const marks = await marksOf(client, location.uid);
  if (!marks) return null;
  if (target === location.path) return location;
  await requireFolder(client, target);
  if (!client.capabilities.has('MOVE') && !client.enabled.has('IMAP4REV2')) {
    return copyAndDelete(client, location, target, marks);
  }
  const moved = await answerOf(
    client,
    client.messageMove(`${location.uid}`, target, { uid: true }),
  );
  const uid = moved.uidMap?.get(location.uid);
  if (uid && moved.uidValidity)
    return { path: target, uidValidity: moved.uidValidity.toString(), uid };
  return findMoved(client, target, marks);
}

/**
 * Checks that the folder exists, because some servers do not report why a message could not be
 * copied.
 */
async function requireFolder(client: ImapFlow, path: string): Promise<void> {
  const [folder] = (await client.list({ listOnly: true })).filter((one) => one.path === path);
  if (!folder || folder.flags.has('\\Noselect') || folder.flags.has('\\NonExistent'))
    throw new ProviderError('not-found', 'The folder does not exist');
}

/**
 * Moves a message on servers without MOVE (RFC 6851). An existing copy is used, because an earlier
 * attempt may have been interrupted before the deletion.
 */
async function copyAndDelete(
  client: ImapFlow,
  location: MessageLocation,
  target: string,
  marks: Required<Marks>,
): Promise<MessageLocation> {
  const { uidValidity } = await client.mailboxOpen(target);
  const present = await findMessage(client, marks);
  if (!(await openForWriting(client, location)))
    throw new ProviderError('temporary', 'The folder was replaced by another one');
  if (present !== null) {
    await expunge(client, location.uid);
    return { path: target, uidValidity: uidValidity.toString(), uid: present };
  }
  const copied = await answerOf(
    client,
    client.messageCopy(`${location.uid}`, target, { uid: true }),
  );
  await expunge(client, location.uid);
  const uid = copied.uidMap?.get(location.uid);
  if (uid && copied.uidValidity)
    return { path: target, uidValidity: copied.uidValidity.toString(), uid };
  return findMoved(client, target, marks);
}

async function findMoved(
  client: ImapFlow,
  target: string,
  marks: Required<Marks>,
): Promise<MessageLocation> {
  const { uidValidity } = await client.mailboxOpen(target);
  const uid = await findMessage(client, marks);
  if (uid === null)
    throw new ProviderError('temporary', 'The message was not found in the folder it was moved to');
  return { path: target, uidValidity: uidValidity.toString(), uid };
}

/**
 * Deletes a message permanently. It is not an error if the message or its folder does not exist.
 */
export async function deleteMessage(client: ImapFlow, location: MessageLocation): Promise<void> {
  if (!(await openForWriting(client, location))) return;
  await expunge(client, location.uid);
}

/**
 * Deletes a message of the open folder. Without UIDPLUS (RFC 4315) the server would delete every
 * message marked as deleted. The marks of the other messages are therefore removed before, and set
 * again afterwards.
 */
async function expunge(client: ImapFlow, uid: number): Promise<void> {
  const byUid = client.capabilities.has('UIDPLUS') || client.enabled.has('IMAP4REV2');
  const marked = byUid
    ? []
    : await answerOf(client, client.search({ deleted: true }, { uid: true }));
  const others = (Array.isArray(marked) ? marked : []).filter((one) => one !== uid).join(',');
  if (others)
    await answerOf(client, client.messageFlagsRemove(others, ['\\Deleted'], { uid: true }));
  await answerOf(client, client.messageDelete(`${uid}`, { uid: true }));
  if (others) await answerOf(client, client.messageFlagsAdd(others, ['\\Deleted'], { uid: true }));
}
