import type { FailedMessage, ListedContent, MessageContent, Stall } from './message-content.ts';
import type { ProviderError } from '../../../platform/base/errors/provider-error.ts';

/* What a provider reports about a mailbox: its folders and messages, and how they have changed. */

export interface RemoteFolder {
  /** Stays the same until the folder is renamed (`MailChanges.renamed`). */
  providerId: string;
  /**
   * Standard name: inbox, sent, drafts, trash, spam, archive, all or important. `null` for folders
   * made by users.
   */
  name: string | null;
  /** Levels of a hierarchy are separated by `/`. */
  displayName: string;
}

/** A message that is new or changed at the provider. */
export interface RemoteMessage {
  providerId: string;
  /**
   * The provider's own thread of the message. All messages of one provider thread get one thread of
   * ours, whatever their headers say. Absent or `null` if the provider has no threads: the headers
   * decide.
   */
  threadId?: string | null;
  /** `providerId` of each folder or label that contains the message. */
  folderIds: readonly string[];
  /**
   * For a listed message it may be an estimate if `readMessages` returns the exact time with the
   * content. Without content it may then be any time: the mirror knows it, or requests it.
   */
  receivedAt: Date;
  unread: boolean;
  starred: boolean;
  /**
   * Set for a message that the mirror does not have yet, and for a draft that `mayBeEdited`. `null`
   * if only flags or folders have changed.
   */
  content: MessageContent | ListedContent | null;
  /**
   * Message-ID of a message that `SyncPassRequest.recognise` has found: the mirror has its content
   * under another `providerId`. Then `content` is `null`. Absent for all other messages.
   */
  messageIdHeader?: string;
  /**
   * True for a draft that another program may have edited under the same `providerId`. The mirror
   * compares its content. Providers where an edited draft gets another id leave it out.
   */
  mayBeEdited?: boolean;
}

/** Where a message is, its flags and its exact time of receipt. */
export type RemoteMessageState = Omit<RemoteMessage, 'content' | 'messageIdHeader'>;

/** What a listing shows of a message without its content. */
export interface MessageMarks {
  /** With angle brackets. */
  messageIdHeader: string;
  receivedAt: Date;
}

export interface SyncPassRequest {
  /** `MailChanges.cursor` of the previous sync pass. `null` for the first pass. */
  cursor: string | null;
  /** Highest number of messages to return. */
  limit: number;
  /**
   * Messages received before this time are not returned, and are not reported as `removed` either.
   * `null` for no limit.
   */
  since: Date | null;
  /**
   * When the sync pass of this call began, by the clock of this process: compare it only for
   * equality with other passes. Each pass reads the news, even if the history has to wait for the
   * budget. Absent: the call is of no pass.
   */
  beganAt?: Date;
  /**
   * Returns the `providerId`s of the messages that the mirror has in a folder. A provider that does
   * not report deleted messages compares them with the folder.
   */
  known(folderId: string): Promise<readonly string[]>;
  /**
   * Finds messages that the mirror has under a `providerId` that is no longer valid, so that their
   * contents need not be fetched again. They are returned with `RemoteMessage.messageIdHeader`.
   * Absent if the caller wants all contents.
   * @param removed `providerId`s that this result reports as `removed`
   * @returns one value for each message: whether the mirror has it. A copy in the mirror stands for
   *   one message only
   */
  recognise?(
    removed: readonly string[],
    messages: readonly MessageMarks[],
  ): Promise<readonly boolean[]>;
}

/**
 * How the `providerId`s of messages change when their folder is renamed: every id that began with
 * `from` now begins with `to`.
 */
export interface MessagePrefix {
  from: string;
  to: string;
}

/** A folder that got another `providerId`. */
export interface RenamedFolder {
  from: string;
  to: string;
  /** `null` if the messages keep their ids, as with labels. */
  messagePrefix: MessagePrefix | null;
}

export interface MailChanges {
  /**
   * Opaque; pass it to the next sync pass. Store it only after everything below has been stored.
   */
  cursor: string;
  /** Whether there is more to fetch at once. */
  more: boolean;
  /**
   * True once all recent changes have been returned and the mailbox is usable. Everything that is
   * still to be fetched (`more`) is then history, newest first. The contents of listed messages do
   * not count: they are fetched by `readMessages`.
   */
  present: boolean;
  /**
   * All folders of the mailbox. `null` if the list has not changed since the previous sync pass.
   */
  folders: readonly RemoteFolder[] | null;
  /** Folders that were renamed. Their messages stay in them. */
  renamed: readonly RenamedFolder[];
  messages: readonly RemoteMessage[];
  /**
   * `providerId`s of messages that were removed. A message moved between folders is removed under
   * its old id and new under another one. Both must be reported in the same result, so that the
   * caller can recognise the move.
   */
  removed: readonly string[];
  /**
   * True while a folder that is new, or whose messages have new ids, has not been read completely.
   * Messages that were `removed` may still be found there under other ids, so the caller keeps
   * them. Default: false.
   */
  mayTurnUp?: boolean;
  /**
   * New or changed messages that cannot be read, or of which only `messages` has something.
   * Requires `readMessages`, by which they are requested again. Absent if there are none.
   */
  failed?: readonly FailedMessage[];
  /** Folders that cannot be read now, for operators. Absent if there are none. */
  unread?: readonly FailedMessage[];
  /** Provider ids of folders that were `unread` and can be read again. Absent if there are none. */
  read?: readonly string[];
  /**
   * Why the mailbox cannot be read further. The pass ends here, and the next one goes on from
   * `cursor` after the usual poll interval, so that news does not wait. If it lasts, the account is
   * shown as failing. Absent if nothing is wrong.
   */
  stalled?: Stall;
}

/** Messages that are to be read (`MailPort.readMessages`). */
export interface ReadRequest {
  /** The most urgent message first: a provider may read only the first ones. */
  providerIds: readonly string[];
  /** True to read contents, false to read states. */
  content: boolean;
  /** `interactive`: a request or new mail waits for it; `history`: nobody does. */
  priority: 'interactive' | 'history';
}

/** A message that was read. */
export interface ReadMessage {
  /**
   * Always set if states were requested. `null` with a content whose provider charges extra for the
   * state; the time of receipt that the caller knows is then exact.
   */
  state: RemoteMessageState | null;
  /** Set if and only if contents were requested. `null` if `failed` is set. */
  content: MessageContent | null;
  /**
   * Why the provider failed on this message, although it answers otherwise (`FailedMessage`).
   * `state` is then `null` as well, unless it is known. Absent if the provider did not fail.
   */
  failed?: string;
}

export interface MailWatch {
  /** Ends the watch. Resolves when the connection is closed. */
  stop(): Promise<void>;
}

/** Receives the notifications of a watched mailbox. */
export interface MailWatcher {
  /** The mailbox may have changed and needs a sync pass. */
  onChange(): void;
  /**
   * The watch has ended by itself and must be started again. `null` if the provider ended it
   * without an error.
   */
  onEnd(error: ProviderError | null): void;
}
