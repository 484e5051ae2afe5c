import type { ProviderAccount } from '../provider-account.ts';
import type { MessagePrefix } from './mail-changes.ts';
import type { DraftContent } from './mail-port.ts';

/**
 * Changes of a mailbox. Every method must be safe to repeat: after a crash the caller cannot know
 * whether the change was made.
 */
export interface MailboxPort {
  /**
   * Sets the given flags and leaves the others.
   * @throws {ProviderError} `not-found`
   */
  setFlags(
    account: ProviderAccount,
    providerId: string,
    flags: { unread?: boolean; starred?: boolean },
  ): Promise<void>;
  /**
   * Puts a message into exactly these folders or labels.
   * @returns its new `providerId`
   * @throws {ProviderError} `not-found` if the message or a folder does not exist
   */
  setFolders(
    account: ProviderAccount,
    providerId: string,
    folderIds: readonly string[],
  ): Promise<{ providerId: string }>;
  /**
   * Creates a folder. If a folder of this name exists, returns that folder.
   * @throws {ProviderError} `rejected` if the provider does not accept the name
   */
  createFolder(account: ProviderAccount, displayName: string): Promise<{ providerId: string }>;
  /**
   * @returns the folder's new `providerId`. `messagePrefix` describes how the ids of its messages
   *   change; `null` if they stay the same
   * @throws {ProviderError} `not-found`; `rejected` if the provider does not accept the name;
   *   `conflict` if the name is taken
   */
  renameFolder(
    account: ProviderAccount,
    providerId: string,
    displayName: string,
  ): Promise<{ providerId: string; messagePrefix: MessagePrefix | null }>;
  /**
   * Deletes an empty folder, or a label; the messages of a label stay. Deleting a folder that does
   * not exist is not an error.
   * @throws {ProviderError} `rejected` if messages would be deleted with the folder, including
   *   messages that no sync pass has seen
   */
  deleteFolder(account: ProviderAccount, providerId: string): Promise<void>;
  /**
   * Stores a draft in the drafts folder and removes its previous version.
   * @param replaces `providerId` of the previous version, or `null` for the first version. A
   *   previous version that does not exist is not an error
   */
  saveDraft(
    account: ProviderAccount,
    draft: DraftContent,
    replaces: string | null,
  ): Promise<{ providerId: string }>;
  /** Deletes a draft permanently. Deleting a draft that does not exist is not an error. */
  deleteDraft(account: ProviderAccount, providerId: string): Promise<void>;
}
