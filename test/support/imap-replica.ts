import { createHash } from 'node:crypto';
import type { ImapFlow, MailboxObject } from 'imapflow';
import type {
  MailChanges,
  SyncPassRequest,
  MailPort,
  ProviderAccount,
  RemoteFolder,
  RemoteMessage,
} from '../../src/providers/port/connector.ts';

type MailReader = Pick<MailPort, 'listChanges'>;
/** The properties of a message that tests compare. */
export type Seen = Pick<RemoteMessage, 'folderIds' | 'unread' | 'starred'> & {
  receivedAt: number;
  content: string;
};

export const digest = (bytes: Buffer): string =>
  createHash('sha256').update(bytes).digest('base64url');

interface State {
  cursor: string | null;
  folders: readonly RemoteFolder[];
  messages: Map<string, Seen>;
}

/**
 * A copy of a mailbox, built from `listChanges` alone. It can be interrupted: a lost batch is lost
 * together with its cursor.
 */
export class ImapReplica {
  #state: State = { cursor: null, folders: [], messages: new Map() };
  /** All batches so far, including the lost ones. */
  readonly batches: MailChanges[] = [];

  constructor(
    private readonly mail: MailReader,
    private readonly account: ProviderAccount,
    private readonly options: { limit?: number; since?: Date | null; isLost?: () => boolean } = {},
  ) {}

  get cursor(): string | null {
    return this.#state.cursor;
  }

  get folders(): readonly RemoteFolder[] {
    return this.#state.folders;
  }

  /** By `providerId`. */
  get messages(): ReadonlyMap<string, Seen> {
    return this.#state.messages;
  }

  set since(since: Date | null) {
    this.options.since = since;
  }

  /** Makes one call of `listChanges`, and stores the batch unless it is lost. */
  async look(): Promise<MailChanges> {
    const { limit = 20, since = null, isLost = () => false } = this.options;
    const look: SyncPassRequest = {
      cursor: this.#state.cursor,
      limit,
      since,
      known: (folderId) =>
        Promise.resolve(
          [...this.#state.messages]
            .filter(([, { folderIds }]) => folderIds.includes(folderId))
            .map(([id]) => id),
        ),
    };
    const changes = await this.mail.listChanges(this.account, look);
    if (changes.messages.length > limit)
      throw new Error(`${changes.messages.length} messages for ${limit}`);
    this.batches.push(changes);
    if (isLost()) return { ...changes, more: true };
    this.#state = applied(this.#state, changes);
    return changes;
  }

  /** Reads batches until the last one. */
  async follow(mostLooks = 2_000): Promise<void> {
    for (let looks = 0; looks < mostLooks; looks += 1) if (!(await this.look()).more) return;
    throw new Error('there are always more changes');
  }
}

function applied({ folders, messages }: State, changes: MailChanges): State {
  const next = new Map<string, Seen>();
  for (const [id, seen] of messages) {
    const renaming = changes.renamed.find(
      ({ messagePrefix }) => messagePrefix && id.startsWith(messagePrefix.from),
    );
    if (!renaming?.messagePrefix) next.set(id, seen);
    else {
      const { from, to, messagePrefix } = renaming;
      next.set(messagePrefix.to + id.slice(messagePrefix.from.length), {
        ...seen,
        folderIds: seen.folderIds.map((folder) => (folder === from ? to : folder)),
      });
    }
  }
  for (const { providerId, folderIds, unread, starred, receivedAt, content } of changes.messages) {
    const before = next.get(providerId);
    if (!content && !before)
      throw new Error(`only flags, for a message that the replica does not have: ${providerId}`);
    next.set(providerId, {
      folderIds,
      unread,
      starred,
      receivedAt: receivedAt.getTime(),
      content: content ? digestOf(content) : (before?.content ?? ''),
    });
  }
  for (const id of changes.removed) next.delete(id);
  return { cursor: changes.cursor, folders: changes.folders ?? folders, messages: next };
}

function digestOf(content: NonNullable<RemoteMessage['content']>): string {
  if (content.kind === 'mime') return digest(content.mime);
  if (content.kind === 'listed') throw new Error('IMAP never lists messages without content');
  return content.kind === 'parts' ? 'parts' : content.reason;
}

/** The messages on the server, as a plain IMAP client sees them. */
export async function truthOf(client: ImapFlow): Promise<Map<string, Seen>> {
  const truth = new Map<string, Seen>();
  for (const { path, flags } of await client.list()) {
    if (flags.has('\\Noselect') || flags.has('\\NonExistent')) continue;
    const mailbox = await openListed(client, path);
    if (!mailbox || mailbox.exists === 0) continue;
    const query = { uid: true, flags: true, internalDate: true, source: true };
    for await (const message of client.fetch('1:*', query)) {
      truth.set(`${path};${mailbox.uidValidity};${message.uid}`, {
        folderIds: [path],
        unread: !message.flags?.has('\\Seen'),
        starred: message.flags?.has('\\Flagged') ?? false,
        receivedAt: new Date(message.internalDate ?? 0).getTime(),
        content: digest(message.source ?? Buffer.alloc(0)),
      });
    }
  }
  return truth;
}

/**
 * Opens a mailbox, or returns `null` if the server lists it only because other folders are inside
 * it.
 */
async function openListed(client: ImapFlow, path: string): Promise<MailboxObject | null> {
  try {
    return await client.mailboxOpen(path, { readOnly: true });
  } catch (error) {
    if (/doesn't exist/.test(String((error as { responseText?: string }).responseText)))
      return null;
    throw error;
  }
}
