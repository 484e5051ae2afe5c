import type { ProviderAccount } from './provider-account.ts';
import type { DraftContent } from './mail-port.ts';

/** Changing a mailbox. Every write comes to the same end when it is repeated: a crash may hide that it was done. */
export interface MailboxPort {
  /**
   * Sets what is given and leaves the rest.
   * @throws {ProviderError} `not-found`
   */
  setFlags(
    account: ProviderAccount,
    providerId: string,
    flags: { unread?: boolean; starred?: boolean },
  ): Promise<void>;
  /**
   * Puts a message into exactly these folders or labels.
   * @returns its `providerId` from then on
   * @throws {ProviderError} `not-found` when the message or a folder is gone
   */
  setFolders(
    account: ProviderAccount,
    providerId: string,
    folderIds: readonly string[],
  ): Promise<{ providerId: string }>;
  /**
   * One of that name that is there already is that folder.
   * @throws {ProviderError} `rejected` when the provider takes no such name
   */
  createFolder(account: ProviderAccount, displayName: string): Promise<{ providerId: string }>;
  /**
   * @returns its `providerId` from then on; its messages' are changed as `MailChanges.renamed` says
   * @throws {ProviderError} `not-found`; `rejected` when the provider takes no such name; `conflict` when it is taken
   */
  renameFolder(
    account: ProviderAccount,
    providerId: string,
    displayName: string,
  ): Promise<{ providerId: string; messagePrefix: { from: string; to: string } }>;
  /**
   * An empty folder; or a label, whose messages stay. One that is already gone is not an error.
   * @throws {ProviderError} `rejected` when messages would go with it, also those that nobody has looked at here
   */
  deleteFolder(account: ProviderAccount, providerId: string): Promise<void>;
  /**
   * Stores a draft in the folder of drafts, in the place of the version before.
   * @param replaces `providerId` of the version before; null: the first one. One that is gone is not an error
   */
  saveDraft(
    account: ProviderAccount,
    draft: DraftContent,
    replaces: string | null,
  ): Promise<{ providerId: string }>;
  /** Removes a draft for good. One that is already gone is not an error. */
  deleteDraft(account: ProviderAccount, providerId: string): Promise<void>;
}
