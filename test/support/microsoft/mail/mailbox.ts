import { randomBytes } from 'node:crypto';
import { type ItemIds, newContainerId, newItemIds, newRestId } from '../graph/item-ids.ts';
import { defaultFolders, type MailFolder, ROOT } from './folders.ts';
import type { MessageContent, MessagePatch, StoredMessage } from './message.ts';

export type ChangeKind = 'created' | 'updated' | 'read' | 'removed';

/** An entry of the log of a folder. Delta queries are answered from these logs. */
export interface LogEntry extends ItemIds {
  seq: number;
  kind: ChangeKind;
}

/** A change that subscriptions are notified of. */
export interface ItemChange {
  resource: 'messages' | 'events' | 'contacts';
  change: 'created' | 'updated' | 'deleted';
  /** Folder, calendar or contact folder. */
  containerId: string;
  ids: ItemIds;
}

/** How a message is put into a mailbox. */
export interface Filing {
  folderId: string;
  isRead?: boolean;
  isDraft?: boolean;
  /** Whether it was written in this mailbox. Default: it was received. */
  isOwn?: boolean;
  /** Default: now. */
  received?: Date;
}

/** Mail of one user: folders, messages, and a log of changes for every folder. */
export class Mailbox {
  readonly email: string;
  readonly folders = new Map<string, MailFolder>();
  /** Log of the folders themselves. */
  readonly folderLog: LogEntry[] = [];
  /** A fault: logs do not mention that messages left a folder when they move. */
  movesVanish = false;
  /** A fault: the mailbox is full. New messages, copies and sending are refused. */
  isFull = false;
  onChange: ((change: ItemChange) => void) | null = null;
  readonly #now: () => number;
  readonly #messages = new Map<string, StoredMessage>();
  readonly #byRestId = new Map<string, StoredMessage>();
  readonly #byMessageId = new Map<string, StoredMessage>();
  readonly #content = new Map<string, Map<string, StoredMessage>>();
  readonly #logs = new Map<string, LogEntry[]>();
  #seq = 0;

  constructor(email: string, now: () => number) {
    this.email = email;
    this.#now = now;
    for (const folder of defaultFolders()) this.#addFolder(folder);
  }

  /** Number of the newest entry of the logs. */
  get seq(): number {
    return this.#seq;
  }

  /** Exchange keeps times in seconds. */
  now(): Date {
    return new Date(Math.floor(this.#now() / 1_000) * 1_000);
  }

  get size(): number {
    return this.#messages.size;
  }

  /** All messages, in the order in which they arrived. */
  messages(): IterableIterator<StoredMessage> {
    return this.#messages.values();
  }

  /** The messages in a folder, in the order in which they were put there. */
  messagesIn(folderId: string): Map<string, StoredMessage> {
    return this.#content.get(folderId) ?? new Map<string, StoredMessage>();
  }

  /** The message with this id of either form. */
  message(id: string): StoredMessage | undefined {
    return this.#messages.get(id) ?? this.#byRestId.get(id);
  }

  messageByInternetId(id: string): StoredMessage | undefined {
    return this.#byMessageId.get(id);
  }

  /** The folder with this id or well-known name. */
  folder(idOrName: string): MailFolder | undefined {
    return (
      this.folders.get(idOrName) ??
      [...this.folders.values()].find((folder) => folder.wellKnownName === idOrName.toLowerCase())
    );
  }

  /** Id of the folder with a well-known name. */
  folderId(name: string): string {
    const folder = this.folder(name);
    if (!folder) throw new Error(`no folder ${name}`);
    return folder.id;
  }

  childFolders(parentId: string): MailFolder[] {
    return [...this.folders.values()].filter((folder) => folder.parentId === parentId);
  }

  logOf(folderId: string): LogEntry[] {
    return this.#logs.get(folderId) ?? [];
  }

  createFolder(displayName: string, parentId = this.folderId(ROOT), isHidden = false): MailFolder {
    const id = newContainerId();
    const folder = { id, parentId, displayName, wellKnownName: null, isHidden, version: 1 };
    this.#addFolder(folder);
    this.#logFolder(id, 'created');
    return folder;
  }

  updateFolder(
    folder: MailFolder,
    patch: Partial<Pick<MailFolder, 'displayName' | 'parentId'>>,
  ): void {
    Object.assign(folder, patch);
    folder.version += 1;
    this.#logFolder(folder.id, 'updated');
  }

  /** Removes a folder with its folders and messages. */
  deleteFolder(folder: MailFolder): void {
    for (const child of this.childFolders(folder.id)) this.deleteFolder(child);
    for (const message of this.messagesIn(folder.id).values()) this.remove(message);
    this.folders.delete(folder.id);
    this.#logFolder(folder.id, 'removed');
  }

  add(
    content: MessageContent,
    { folderId, received, isRead, isDraft, isOwn }: Filing,
  ): StoredMessage {
    const now = this.now();
    const message: StoredMessage = {
      ...content,
      ...newItemIds(),
      ...this.#threadOf(content),
      folderId,
      received: received ?? now,
      created: now,
      modified: now,
      isRead: isRead ?? false,
      isDraft: isDraft ?? false,
      isOwn: isOwn ?? false,
      flag: { flagStatus: 'notFlagged' },
      categories: [],
      inferenceClassification: 'focused',
      version: 1,
    };
    this.#file(message);
    return message;
  }

  /** Changes a message. Changes to `isRead` alone leave the time of the last change as it is. */
  update(message: StoredMessage, patch: MessagePatch): void {
    const read = Object.keys(patch).join() === 'isRead';
    Object.assign(message, patch);
    if (!read) message.modified = this.now();
    message.version += 1;
    this.#log(message.folderId, message, read ? 'read' : 'updated');
    this.#tell(message.folderId, message, 'updated');
  }

  /** Moves a message: its immutable id stays, the other one changes. */
  move(message: StoredMessage, folderId: string): StoredMessage {
    const before = { ...message };
    this.#messages.delete(message.immutableId);
    this.#byRestId.delete(message.restId);
    this.#content.get(message.folderId)?.delete(message.immutableId);
    if (!this.movesVanish) this.#log(before.folderId, before, 'removed');
    this.#tell(before.folderId, before, 'deleted');
    Object.assign(message, { folderId, restId: newRestId(), modified: this.now() });
    message.version += 1;
    this.#file(message);
    return message;
  }

  copy(message: StoredMessage, folderId: string): StoredMessage {
    const now = this.now();
    const copy: StoredMessage = {
      ...message,
      ...newItemIds(),
      attachments: message.attachments.map((attachment) => ({ ...attachment, id: newRestId() })),
      folderId,
      created: now,
      modified: now,
      version: 1,
    };
    this.#file(copy);
    return copy;
  }

  remove(message: StoredMessage): void {
    this.#messages.delete(message.immutableId);
    this.#byRestId.delete(message.restId);
    this.#content.get(message.folderId)?.delete(message.immutableId);
    this.#log(message.folderId, message, 'removed');
    this.#tell(message.folderId, message, 'deleted');
  }

  #addFolder(folder: MailFolder): void {
    this.folders.set(folder.id, folder);
    this.#content.set(folder.id, new Map());
    this.#logs.set(folder.id, []);
  }

  #file(message: StoredMessage): void {
    this.#messages.set(message.immutableId, message);
    this.#byRestId.set(message.restId, message);
    this.#byMessageId.set(message.internetMessageId, message);
    this.#content.get(message.folderId)?.set(message.immutableId, message);
    this.#log(message.folderId, message, 'created');
    this.#tell(message.folderId, message, 'created');
  }

  #log(folderId: string, { immutableId, restId }: ItemIds, kind: ChangeKind): void {
    this.#seq += 1;
    this.#logs.get(folderId)?.push({ seq: this.#seq, immutableId, restId, kind });
  }

  #logFolder(id: string, kind: ChangeKind): void {
    this.#seq += 1;
    this.folderLog.push({ seq: this.#seq, immutableId: id, restId: id, kind });
  }

  #tell(containerId: string, ids: ItemIds, change: ItemChange['change']): void {
    const { immutableId, restId } = ids;
    this.onChange?.({ resource: 'messages', change, containerId, ids: { immutableId, restId } });
  }

  #threadOf(content: MessageContent): Pick<StoredMessage, 'conversationId' | 'conversationIndex'> {
    const value = content.headers
      .filter(({ name }) => /^(in-reply-to|references)$/i.test(name))
      .map((header) => header.value)
      .join(' ');
    const known = [...value.matchAll(/<[^<>\s]+>/g)]
      .map(([id]) => this.#byMessageId.get(id))
      .find((message) => message !== undefined);
    if (!known) {
      return {
        conversationId: `AAQkAG${randomBytes(43).toString('base64url')}=`,
        conversationIndex: Buffer.concat([Buffer.from([1]), randomBytes(21)]).toString('base64'),
      };
    }
    const parent = Buffer.from(known.conversationIndex, 'base64');
    return {
      conversationId: known.conversationId,
      conversationIndex: Buffer.concat([parent, randomBytes(5)]).toString('base64'),
    };
  }
}
