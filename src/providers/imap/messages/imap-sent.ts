import type { FetchMessageObject, ImapFlow, ListResponse } from 'imapflow';
import { isLike, type SentTraces } from '../../port/mail/sent-lookup.ts';
import { answerOf } from '../sessions/imap-connection.ts';

/** Messages of a folder that are compared at most. */
const MOST_COMPARED = 100;
const DAY_MS = 86_400_000;
/** How much the server's clock may differ from ours. */
const SKEW_MS = 5 * 60_000;
/** Name of the folder that is created if an account has no Sent folder. */
const SENT_NAME = 'Sent';

/** Folders of an account that can hold messages. */
async function foldersOf(client: ImapFlow): Promise<ListResponse[]> {
  const folders = await client.list();
  return folders.filter(({ flags }) => !flags.has('\\Noselect') && !flags.has('\\NonExistent'));
}

/**
 * The folder for a special use: as reported by the server (RFC 6154), otherwise by its name in the
 * languages that the library knows.
 */
function pathOf(folders: readonly ListResponse[], use: string): string | null {
  return folders.find(({ specialUse }) => specialUse === use)?.path ?? null;
}

async function isThere(
  client: ImapFlow,
  path: string,
  messageIdHeader: string,
  readOnly = true,
): Promise<boolean> {
  const mailbox = await client.mailboxOpen(path, { readOnly });
  // Some servers answer a search in an empty mailbox with an error.
  if (mailbox.exists === 0) return false;
  const found = await answerOf(
    client,
    client.search({ header: { 'message-id': messageIdHeader } }, { uid: true }),
  );
  return found.length > 0;
}

/** The folders of what an account has sent: Sent, and the folder of all messages (Gmail). */
async function sentFolders(client: ImapFlow): Promise<string[]> {
  const folders = await foldersOf(client);
  return [pathOf(folders, '\\Sent'), pathOf(folders, '\\All')].filter((path) => path !== null);
}

/**
 * Whether a message is in the Sent folder, in the folder of all messages (Gmail), or in the inbox
 * because it came back to its sender.
 * @returns `null` if it was not found and the account has neither a Sent folder nor a folder of
 *   all messages
 */
export async function isAmongSent(
  client: ImapFlow,
  messageIdHeader: string,
): Promise<boolean | null> {
  const filed = await sentFolders(client);
  for (const path of [...filed, 'INBOX'])
    if (await isThere(client, path, messageIdHeader)) return true;
  return filed.length > 0 ? false : null;
}

/**
 * Looks for a message with the same recipients and subject that was filed since `traces.since`: a
 * server may replace the Message-ID of what it files. Messages that have another Message-ID of ours
 * do not count.
 * @returns `itself` if the message was filed meanwhile, or the server's search had not found it
 *   yet; `null` if nothing is proven, because too many messages were filed since then
 */
export async function likeAmongSent(
  client: ImapFlow,
  messageIdHeader: string,
  traces: SentTraces,
): Promise<'itself' | 'another' | 'none' | null> {
  let isWhole = true;
  for (const path of await sentFolders(client)) {
    const { exists } = await client.mailboxOpen(path, { readOnly: true });
    if (exists === 0) continue;
    // Servers compare days, in their own zone.
    const since = new Date(traces.since.getTime() - DAY_MS);
    const found = await answerOf(client, client.search({ since }, { uid: true }));
    const uids = found.slice(-MOST_COMPARED);
    isWhole &&= found.length <= MOST_COMPARED;
    if (uids.length === 0) continue;
    const query = { envelope: true, internalDate: true } as const;
    const filed = await client.fetchAll(uids, query, { uid: true });
    const like = filed.filter((one) => isFiledLike(one, traces)).map(messageIdOf);
    if (like.includes(messageIdHeader)) return 'itself';
    if (like.length === 0) continue;
    const ours = await traces.ownIdsAmong?.(like);
    if (like.some((id) => !ours?.has(id))) return 'another';
  }
  return isWhole ? 'none' : null;
}

const messageIdOf = ({ envelope }: FetchMessageObject): string => envelope?.messageId ?? '';

function isFiledLike({ envelope, internalDate }: FetchMessageObject, traces: SentTraces): boolean {
  const filedAt = new Date(internalDate ?? Date.now()).getTime();
  if (!envelope || filedAt < traces.since.getTime() - SKEW_MS) return false;
  const { to = [], cc = [], bcc = [], subject = null } = envelope;
  const recipients = [...to, ...cc, ...bcc].flatMap(({ address }) => address?.toLowerCase() ?? []);
  const wanted = new Set(traces.recipients.map((one) => one.toLowerCase()));
  // Copies often lack hidden recipients.
  if (!recipients.every((one) => wanted.has(one))) return false;
  return isLike({ ...traces, recipients }, { recipients, subject });
}

/** Files a copy as read, unless the folder has one already. */
export async function fileAmongSent(
  client: ImapFlow,
  messageIdHeader: string,
  mime: Buffer,
): Promise<void> {
  const path =
    pathOf(await foldersOf(client), '\\Sent') ?? (await client.mailboxCreate(SENT_NAME)).path;
  // The folder is opened for writing, because the library drops flags that the open mailbox does
  // not permit. A read-only mailbox permits none.
  if (await isThere(client, path, messageIdHeader, false)) return;
  await answerOf(client, client.append(path, mime, ['\\Seen']));
}
