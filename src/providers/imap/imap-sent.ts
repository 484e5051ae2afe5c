import type { ImapFlow, ListResponse } from 'imapflow';
import { answerOf } from './imap-connection.ts';

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
  const folders = await foldersOf(client);
  const filed = [pathOf(folders, '\\Sent'), pathOf(folders, '\\All')].filter(
    (path) => path !== null,
  );
  for (const path of [...filed, 'INBOX'])
    if (await isThere(client, path, messageIdHeader)) return true;
  return filed.length > 0 ? false : null;
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
