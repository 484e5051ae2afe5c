import type { ImapFlow, ListResponse } from 'imapflow';
import { answerOf } from './imap-connection.ts';

/** Made where an account has no folder for what it sends. */
const SENT_NAME = 'Sent';

/** Folders of an account that can hold messages. */
async function foldersOf(client: ImapFlow): Promise<ListResponse[]> {
  const folders = await client.list();
  return folders.filter(({ flags }) => !flags.has('\\Noselect') && !flags.has('\\NonExistent'));
}

/** The folder of that use: as the server says (RFC 6154), else by its name in the languages the library knows. */
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
 * Whether a message is among the sent ones, among all (Gmail), or came back to its sender.
 * @returns null: nowhere, and there is no folder of sent ones or of all
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

/** Files a copy as read, unless there is one. */
export async function fileAmongSent(
  client: ImapFlow,
  messageIdHeader: string,
  mime: Buffer,
): Promise<void> {
  const path =
    pathOf(await foldersOf(client), '\\Sent') ?? (await client.mailboxCreate(SENT_NAME)).path;
  // The library leaves out flags that the open mailbox does not take; opened for reading it takes none.
  if (await isThere(client, path, messageIdHeader, false)) return;
  await answerOf(client, client.append(path, mime, ['\\Seen']));
}
