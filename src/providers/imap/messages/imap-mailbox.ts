import type { ImapFlow } from 'imapflow';
import type { DraftContent, MailboxPort, ProviderAccount } from '../../port/connector.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import {
  messageId,
  messagePrefix,
  type MessageLocation,
  parseMessageId,
} from '../changes/imap-cursor.ts';
import {
  deleteMessage,
  findMessage,
  moveMessage,
  openForWriting,
} from './imap-mailbox-messages.ts';
import { answerOf } from '../sessions/imap-connection.ts';
import { isImapRefusal, toImapError } from '../imap-error.ts';
import type { ImapSessions } from '../sessions/imap-sessions.ts';

/** Control characters are never accepted in a folder name, whatever the server allows. */
const CONTROLS = /\p{Cc}/u;
const LONGEST_NAME = 500;
/** Texts of refusals that are temporary. */
const LATER = /temporar|again|later|unavailable|internal|time|busy/i;

/** Changes an IMAP mailbox. A message is in exactly one folder. */
export class ImapMailbox implements MailboxPort {
  constructor(private readonly sessions: ImapSessions) {}

  async setFlags(
    account: ProviderAccount,
    providerId: string,
    flags: { unread?: boolean; starred?: boolean },
  ) {
    const location = requireLocation(providerId);
    await this.sessions.use(account, async (client) => {
      if (!(await openForWriting(client, location))) throw noMessage();
      const message = await client.fetchOne(
        `${location.uid}`,
        { uid: true, flags: true },
        { uid: true },
      );
      if (!message || !message.flags) throw noMessage();
      const { unread, starred } = flags;
      if (unread !== undefined)
        await setFlag(client, location.uid, message.flags, '\\Seen', !unread);
      if (starred !== undefined)
        await setFlag(client, location.uid, message.flags, '\\Flagged', starred);
    });
  }

  /**
   * Moves the message. A repeated call throws `not-found`, because the UID is only valid in the
   * previous folder.
   */
  async setFolders(account: ProviderAccount, providerId: string, folderIds: readonly string[]) {
    const [target, ...others] = folderIds;
    if (target === undefined || others.length > 0)
      throw new ProviderError('rejected', 'A message is in exactly one folder');
    const location = requireLocation(providerId);
    return this.sessions.use(account, async (client) => {
      if (!(await openForWriting(client, location))) throw noMessage();
      const moved = await moveMessage(client, location, target);
      if (!moved) throw noMessage();
      return { providerId: messageId(moved) };
    });
  }

  async createFolder(account: ProviderAccount, displayName: string) {
    return this.sessions.use(account, async (client) => ({
      providerId: await createFolder(client, pathOf(client, displayName)),
    }));
  }

  /**
   * Renames a folder and all folders inside it. `listChanges` reports the renamed folders inside.
   */
  async renameFolder(account: ProviderAccount, providerId: string, displayName: string) {
    return this.sessions.use(account, async (client) => {
      const wanted = pathOf(client, displayName);
      if (isInbox(providerId)) throw new ProviderError('rejected', 'The inbox cannot be renamed');
      const renamed = (to: string) => ({
        providerId: to,
        messagePrefix: { from: messagePrefix(providerId), to: messagePrefix(to) },
      });
      if (wanted === providerId) return renamed(providerId);
      const paths = await pathsOf(client);
      if (!paths.includes(providerId)) {
        // The folder may have been renamed earlier, with the reply lost.
        if (paths.includes(wanted)) return renamed(wanted);
        throw new ProviderError('not-found', 'The folder does not exist');
      }
      await refusing(() => client.mailboxRename(providerId, wanted));
      await client.mailboxUnsubscribe(providerId);
      await client.mailboxSubscribe(wanted);
      return renamed((await findPath(client, wanted)) ?? wanted);
    });
  }

  /** Deletes a folder. Folders inside it are kept. */
  async deleteFolder(account: ProviderAccount, providerId: string) {
    if (isInbox(providerId)) throw new ProviderError('rejected', 'The inbox cannot be deleted');
    await this.sessions.use(account, async (client) => {
      try {
        await refusing(() => deleteEmpty(client, providerId));
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        // Some servers still list a deleted folder if it contains other folders.
        if (error.code !== 'not-found' && (await pathsOf(client)).includes(providerId)) throw error;
      }
      await client.mailboxUnsubscribe(providerId);
    });
  }

  async saveDraft(account: ProviderAccount, draft: DraftContent, replaces: string | null) {
    return this.sessions.use(account, async (client) => {
      const path = await draftsOf(client);
      const saved = await appendOnce(client, path, draft);
      const replaced = replaces === null ? null : parseMessageId(replaces);
      if (replaced && replaces !== messageId(saved)) await deleteMessage(client, replaced);
      return { providerId: messageId(saved) };
    });
  }

  async deleteDraft(account: ProviderAccount, providerId: string) {
    const location = parseMessageId(providerId);
    if (location) await this.sessions.use(account, (client) => deleteMessage(client, location));
  }
}

const noMessage = () => new ProviderError('not-found', 'The mailbox has no such message');

const isInbox = (path: string) => path.toUpperCase() === 'INBOX';

function requireLocation(providerId: string): MessageLocation {
  const location = parseMessageId(providerId);
  if (!location) throw noMessage();
  return location;
}

async function setFlag(
  client: ImapFlow,
  uid: number,
  present: ReadonlySet<string>,
  flag: '\\Seen' | '\\Flagged',
  wanted: boolean,
): Promise<void> {
  if (present.has(flag) === wanted) return;
  const permanent = client.mailbox ? client.mailbox.permanentFlags : undefined;
  if (permanent && !permanent.has(flag)) {
    throw new ProviderError('rejected', `The server cannot store ${flag.slice(1)} in this folder`);
  }
  const change = wanted ? client.messageFlagsAdd : client.messageFlagsRemove;
  await answerOf(client, change.call(client, `${uid}`, [flag], { uid: true }));
}

/**
 * The path of the folder with this display name.
 * @throws {ProviderError} `rejected` if the server cannot have such a folder
 */
function pathOf(client: ImapFlow, displayName: string): string {
  const { prefix = '', delimiter = '/' } = client.namespace ?? {};
  const levels = displayName.split('/');
  const isFlat = delimiter === null || delimiter === undefined;
  const isName =
    levels.every((level) => level.trim() !== '' && !CONTROLS.test(level)) &&
    displayName.length <= LONGEST_NAME &&
    (levels.length === 1 || !isFlat);
  if (!isName) throw new ProviderError('rejected', 'This is not a valid folder name');
  if (!isFlat && delimiter !== '/' && displayName.includes(delimiter))
    throw new ProviderError('rejected', `The server does not allow "${delimiter}" in folder names`);
  if (displayName.toUpperCase() === 'INBOX') return 'INBOX';
  return prefix + levels.join(delimiter ?? '/');
}

async function pathsOf(client: ImapFlow): Promise<string[]> {
  return (await client.list({ listOnly: true }))
    .filter(({ flags }) => !flags.has('\\Noselect') && !flags.has('\\NonExistent'))
    .map(({ path }) => path);
}

/** The path as the server writes it: some servers change its Unicode normalisation or its case. */
async function findPath(client: ImapFlow, wanted: string): Promise<string | null> {
  const paths = await pathsOf(client);
  const alike = (path: string) =>
    path.normalize('NFC').toLowerCase() === wanted.normalize('NFC').toLowerCase();
  return paths.find((path) => path === wanted) ?? paths.find(alike) ?? null;
}

async function createFolder(client: ImapFlow, wanted: string): Promise<string> {
  try {
    await refusing(() => client.mailboxCreate(wanted));
  } catch (error) {
    // Some servers refuse to create an existing folder without naming that reason.
    const existing = error instanceof ProviderError ? await findPath(client, wanted) : null;
    if (existing === null) throw error;
    return existing;
  }
  return (await findPath(client, wanted)) ?? wanted;
}

/**
 * Checks on the server that the folder is empty, because it may contain messages that the mirror
 * does not know.
 */
async function deleteEmpty(client: ImapFlow, path: string): Promise<void> {
  const { exists } = await client.mailboxOpen(path, { readOnly: true });
  if (exists > 0) throw new ProviderError('rejected', 'The folder contains messages');
  await client.mailboxDelete(path);
}

/**
 * Runs a command with a folder name. A refusal without a reason is treated as a refusal of the
 * name.
 */
async function refusing<T>(command: () => Promise<T>): Promise<T> {
  try {
    return await command();
  } catch (error) {
    if (!isImapRefusal(error)) throw error;
    const failure = toImapError(error, { stage: 'command', secrets: [] });
    if (failure.code !== 'temporary' || LATER.test(failure.message)) throw failure;
    throw new ProviderError('rejected', failure.message, { cause: failure });
  }
}

/** The drafts folder; created if there is none. */
async function draftsOf(client: ImapFlow): Promise<string> {
  const folders = await client.list();
  const drafts = folders.find(
    ({ specialUse, flags }) => specialUse === '\\Drafts' && !flags.has('\\Noselect'),
  );
  return drafts?.path ?? createFolder(client, pathOf(client, 'Drafts'));
}

/** Stores a draft, unless it is already stored. */
async function appendOnce(
  client: ImapFlow,
  path: string,
  { mime, messageIdHeader }: DraftContent,
): Promise<MessageLocation> {
  const { uidValidity } = await client.mailboxOpen(path);
  const locationOf = (uid: number): MessageLocation => ({
    path,
    uidValidity: uidValidity.toString(),
    uid,
  });
  const present = await findMessage(client, { messageIdHeader });
  if (present !== null) return locationOf(present);
  const appended = await answerOf(client, client.append(path, mime, ['\\Draft', '\\Seen']));
  const uid = appended.uid ?? (await findMessage(client, { messageIdHeader }));
  if (!uid) throw new ProviderError('temporary', 'The draft was not found after it was stored');
  return locationOf(uid);
}
