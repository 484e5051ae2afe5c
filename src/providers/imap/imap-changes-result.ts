import type { MailChanges, MailLook, RemoteFolder, RemoteMessage } from '../port/connector.ts';
import { type FolderState, messageId, messagePrefix, parseMessageId } from './imap-cursor.ts';
import type { Renaming } from './imap-changes-folders.ts';
import { renamedAs } from './imap-changes-folders.ts';
import type { MessageContent, MessageMeta } from './imap-fetch.ts';

/** Contents of one look. Bytes. */
const BATCH_BYTES = 16 * 1024 * 1024;

/** What a look has found so far, and how much more it may find. */
export class LookResult {
  readonly #messages = new Map<string, RemoteMessage>();
  readonly #removed = new Set<string>();
  readonly #renamed: Renaming[] = [];
  #bytes = BATCH_BYTES;
  /** All folders, when they are others than before. */
  folders: readonly RemoteFolder[] | null = null;

  constructor(private readonly look: MailLook) {}

  get room(): number {
    return this.#bytes > 0 ? this.look.limit - this.#messages.size : 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A message with its content, or with what else is known of it. */
  give(
    { path, uidValidity }: FolderState,
    meta: MessageMeta,
    content: MessageContent | null,
  ): void {
    const { uid, unread, starred, receivedAt } = meta;
    const providerId = messageId({ path, uidValidity, uid });
    const given = this.#messages.get(providerId)?.content ?? null;
    this.#messages.set(providerId, {
      providerId,
      folderIds: [path],
      // Of a message without a date that can be read nothing is known but that it is there.
      receivedAt: receivedAt ?? new Date(0),
      unread,
      starred,
      content: content ?? given,
    });
  }

  /** What contents have used up. */
  spend(bytes: number): void {
    this.#bytes -= bytes;
  }

  rename(renaming: Renaming): void {
    this.#renamed.push(renaming);
  }

  /** Whether anything is gone from where it was. */
  get hasRemoved(): boolean {
    return this.#removed.size > 0;
  }

  remove(providerId: string): void {
    this.#removed.add(providerId);
  }

  /** What the mirror has in a folder, by the names of this look. Others' messages in it are on their way there. */
  async known(path: string): Promise<{ providerId: string; uidValidity: string; uid: number }[]> {
    const from = this.#renamed.find(({ to }) => to === path)?.from ?? path;
    const before = await this.#knownAs(from, path);
    // Renamed through the API: the mirror has called it so before it was seen here.
    return before.length === 0 && from !== path ? this.#knownAs(path, path) : before;
  }

  async #knownAs(
    from: string,
    to: string,
  ): Promise<{ providerId: string; uidValidity: string; uid: number }[]> {
    return (await this.look.known(from)).flatMap((providerId) => {
      const place = parseMessageId(providerId);
      if (place?.path !== from) return [];
      return [
        { ...place, providerId: messagePrefix(to) + providerId.slice(messagePrefix(from).length) },
      ];
    });
  }

  /** As the port tells it. */
  changes(): Pick<MailChanges, 'folders' | 'renamed' | 'messages' | 'removed'> {
    return {
      folders: this.folders,
      renamed: this.#renamed.map(renamedAs),
      messages: [...this.#messages.values()],
      removed: [...this.#removed],
    };
  }
}
