import type { ImapFlow } from 'imapflow';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type {
  MessageIds,
  MessageIdsRequest,
  ProviderAccount,
  ReadMessage,
  ReadRequest,
  RemoteFolder,
} from '../../port/connector.ts';
import { isMissing, leaveFolder, openFolder, type OpenFolder } from './imap-changes-folder.ts';
import { type ListedFolder, listFolders } from './imap-changes-folders.ts';
import { messageId, parseMessageId, uidSets } from './imap-cursor.ts';
import { fetchContents, fetchMetas, fitting, type MessageMeta } from '../messages/imap-fetch.ts';
import { FatalMessages } from '../messages/imap-fatal-messages.ts';
import { firstUids, searchUids } from '../messages/imap-search.ts';
import type { ImapSessions } from '../sessions/imap-sessions.ts';

/** Bytes of content that one call of `readMessages` returns. */
const CONTENT_BATCH_BYTES = 16 * 1024 * 1024;
/** Servers compare days, in their own time zone. */
const MARGIN_MS = 2 * 86_400_000;
const CURSOR = /^(\d+):(\d+)$/;

/** Lists and reads messages by their ids, for the audit. */
export class ImapAudit {
  constructor(private readonly sessions: ImapSessions) {}

  /**
   * One search for each page. The cursor is UIDVALIDITY and the first UID of the next page.
   * @throws {ProviderError} `not-found`; `conflict` if the UIDVALIDITY has changed
   */
  async listIds(account: ProviderAccount, request: MessageIdsRequest): Promise<MessageIds> {
    const { folderId, cursor, since, until, limit } = request;
    return this.sessions.use(account, async (client) => {
      const folder = await openFolder(client, folderId);
      if (!folder) throw new ProviderError('not-found', 'The folder cannot be opened');
      const { path, uidValidity } = folder;
      const [, validity, next] = CURSOR.exec(cursor ?? `${uidValidity}:1`) ?? [];
      if (validity !== uidValidity)
        throw new ProviderError('conflict', 'The folder has another UIDVALIDITY than before');
      if (folder.messages === 0) return { ids: [], cursor: null };
      const from = Number(next);
      const ranges = await searchUids(client, {
        uid: `${from}:*`,
        ...pastOnly('since', since, -MARGIN_MS),
        ...pastOnly('before', until, MARGIN_MS),
      });
      const page = firstUids(ranges, from, limit);
      return {
        ids: page.uids.map((uid) => messageId({ path, uidValidity, uid })),
        cursor: page.next === null ? null : `${uidValidity}:${page.next}`,
      };
    });
  }

  /** One request on a server with LIST-STATUS (RFC 5819). */
  async listFolders(account: ProviderAccount): Promise<RemoteFolder[]> {
    const folders = await this.#statuses(account);
    return folders.map(({ providerId, name, displayName }) => ({ providerId, name, displayName }));
  }

  /** One request on a server with LIST-STATUS. */
  async countMessages(account: ProviderAccount): Promise<Map<string, number>> {
    const folders = await this.#statuses(account);
    return new Map(
      folders.flatMap(({ providerId, status }) =>
        status ? [[providerId, status.messages] as const] : [],
      ),
    );
  }

  #statuses(account: ProviderAccount): Promise<ListedFolder[]> {
    return this.sessions.use(account, async (client) => {
      // Of an open folder, servers report the number of messages at opening.
      await leaveFolder(client);
      return listFolders(client);
    });
  }

  async readMessages(
    account: ProviderAccount,
    { providerIds, content }: ReadRequest,
  ): Promise<Map<string, ReadMessage | null>> {
    const fatal = new FatalMessages();
    return fatal.repeating(this.sessions, account, async (client) => {
      const reader = new MessageReader(client, content, fatal);
      for (const [prefix, wanted] of byFolder(providerIds)) await reader.read(prefix, wanted);
      return reader.found;
    });
  }
}

/** A search key for a time. Servers refuse times in the future; then there is no key. */
function pastOnly(key: 'since' | 'before', time: Date | null, marginMs: number) {
  const at = time && new Date(time.getTime() + marginMs);
  return at && at.getTime() < Date.now() ? { [key]: at } : {};
}

interface Wanted {
  providerId: string;
  uid: number;
}

/** Messages by the path and UIDVALIDITY of their folder; `null` for ids that cannot be read. */
function byFolder(providerIds: readonly string[]): Map<string | null, Wanted[]> {
  const wanted = [...new Set(providerIds)].map((providerId) => {
    const location = parseMessageId(providerId);
    const prefix = location && `${location.path};${location.uidValidity}`;
    return { prefix, providerId, uid: location?.uid ?? 0 };
  });
  return Map.groupBy(wanted, ({ prefix }) => prefix);
}

/** Reads messages folder by folder, until the contents are too large for one call. */
class MessageReader {
  readonly found = new Map<string, ReadMessage | null>();
  #bytes = CONTENT_BATCH_BYTES;

  constructor(
    private readonly client: ImapFlow,
    private readonly content: boolean,
    private readonly fatal: FatalMessages,
  ) {}

  async read(prefix: string | null, wanted: readonly Wanted[]): Promise<void> {
    if (this.#bytes <= 0) return;
    const path = prefix?.slice(0, prefix.lastIndexOf(';'));
    const folder = path === undefined ? null : await this.#open(path);
    if (!folder || `${folder.path};${folder.uidValidity}` !== prefix) {
      for (const { providerId } of wanted) this.found.set(providerId, null);
      return;
    }
    const uids = wanted.map(({ uid }) => uid);
    const metas = new Map<number, MessageMeta>();
    for (const set of folder.messages === 0 ? [] : uidSets(uids)) {
      for (const meta of await fetchMetas(this.client, set, this.content ? { size: true } : {}))
        metas.set(meta.uid, meta);
    }
    for (const { providerId, uid } of wanted) if (!metas.has(uid)) this.found.set(providerId, null);
    const found = uids.flatMap((uid) => metas.get(uid) ?? []).sort((a, b) => b.uid - a.uid);
    if (this.content) await this.#withContents(folder, found);
    else for (const meta of found) this.#give(folder, meta, null);
  }

  /**
   * @returns `null` if the folder does not exist
   * @throws {ProviderError} `temporary` if the server refuses to open the folder
   */
  async #open(path: string): Promise<OpenFolder | null> {
    const folder = await openFolder(this.client, path);
    if (folder || (await isMissing(this.client, path))) return folder;
    throw new ProviderError('temporary', 'The folder of a message cannot be opened');
  }

  async #withContents(folder: OpenFolder, metas: readonly MessageMeta[]): Promise<void> {
    const chosen = fitting(metas, this.#bytes);
    const fetched = await fetchContents(this.client, chosen, this.#bytes, this.fatal);
    // A single message may be larger than all that is left.
    this.#bytes -= chosen.length < metas.length ? this.#bytes : fetched.bytes;
    for (const meta of chosen) {
      const content = fetched.contents.get(meta.uid);
      if (content) this.#give(folder, meta, content);
    }
  }

  #give(
    { path, uidValidity }: OpenFolder,
    { uid, receivedAt, unread, starred }: MessageMeta,
    content: ReadMessage['content'],
  ): void {
    const providerId = messageId({ path, uidValidity, uid });
    const state = { providerId, folderIds: [path], receivedAt, unread, starred };
    this.found.set(providerId, { state, content });
  }
}
