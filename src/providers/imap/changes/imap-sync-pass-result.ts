import type {
  MessageContent,
  MailChanges,
  SyncPassRequest,
  RemoteFolder,
  RemoteMessage,
} from '../../port/connector.ts';
import { type FolderState, messageId, messagePrefix, parseMessageId } from './imap-cursor.ts';
import type { Renaming } from './imap-changes-folders.ts';
import { renamedAs } from './imap-changes-folders.ts';
import type { MessageMeta } from '../messages/imap-fetch.ts';

/** Bytes of content after which a sync pass returns no further messages. */
const BATCH_BYTES = 16 * 1024 * 1024;

/** The changes that a sync pass has found so far, and its remaining capacity. */
export class SyncPassResult {
  readonly #messages = new Map<string, RemoteMessage>();
  readonly #removed = new Set<string>();
  readonly #renamed: Renaming[] = [];
  #bytes = BATCH_BYTES;
  /** All folders, if the list has changed; otherwise `null`. */
  folders: readonly RemoteFolder[] | null = null;

  constructor(private readonly request: SyncPassRequest) {}

  get room(): number {
    return this.#bytes > 0 ? this.request.limit - this.#messages.size : 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Adds a message, with its content or with only its flags.
   * @param isRecognised true if the mirror has its content under another id
   */
  give(
    { path, uidValidity }: FolderState,
    meta: MessageMeta,
    content: MessageContent | null,
    isRecognised = false,
  ): void {
    const { uid, unread, starred, receivedAt, messageIdHeader } = meta;
    const providerId = messageId({ path, uidValidity, uid });
    const given = this.#messages.get(providerId)?.content ?? null;
    this.#messages.set(providerId, {
      providerId,
      folderIds: [path],
      receivedAt,
      unread,
      starred,
      content: content ?? given,
      ...(isRecognised && messageIdHeader !== null ? { messageIdHeader } : {}),
    });
  }

  /** UIDs of the messages whose contents the mirror has under other ids. */
  async recognised(metas: readonly MessageMeta[]): Promise<ReadonlySet<number>> {
    const named = metas.flatMap(({ uid, messageIdHeader, receivedAt }) =>
      messageIdHeader === null ? [] : [{ uid, messageIdHeader, receivedAt }],
    );
    const { recognise } = this.request;
    if (!recognise || named.length === 0) return new Set();
    const isKnown = await recognise([...this.#removed], named);
    return new Set(named.flatMap(({ uid }, index) => (isKnown[index] ? [uid] : [])));
  }

  /** Deducts bytes of contents from the capacity. */
  spend(bytes: number): void {
    this.#bytes -= bytes;
  }

  rename(renaming: Renaming): void {
    this.#renamed.push(renaming);
  }

  /** Whether any message was removed from a folder. */
  get hasRemoved(): boolean {
    return this.#removed.size > 0;
  }

  remove(providerId: string): void {
    this.#removed.add(providerId);
  }

  /**
   * The messages that the mirror has in a folder, with their ids after the renamings of this sync
   * pass. Messages whose ids name another folder are left out: they are still being moved into this
   * one.
   */
  async known(path: string): Promise<{ providerId: string; uidValidity: string; uid: number }[]> {
    const from = this.#renamed.find(({ to }) => to === path)?.from ?? path;
    const before = await this.#knownAs(from, path);
    // The folder was renamed through the API, so the mirror already uses the new name.
    return before.length === 0 && from !== path ? this.#knownAs(path, path) : before;
  }

  async #knownAs(
    from: string,
    to: string,
  ): Promise<{ providerId: string; uidValidity: string; uid: number }[]> {
    return (await this.request.known(from)).flatMap((providerId) => {
      const location = parseMessageId(providerId);
      if (location?.path !== from) return [];
      return [
        {
          ...location,
          providerId: messagePrefix(to) + providerId.slice(messagePrefix(from).length),
        },
      ];
    });
  }

  /** The result in the form of the port. */
  changes(): Pick<MailChanges, 'folders' | 'renamed' | 'messages' | 'removed'> {
    return {
      folders: this.folders,
      renamed: this.#renamed.map(renamedAs),
      messages: [...this.#messages.values()],
      removed: [...this.#removed],
    };
  }
}
