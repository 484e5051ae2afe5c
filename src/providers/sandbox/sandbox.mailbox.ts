import { isId } from '../../platform/base/ids/ids.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { DraftContent, MailboxPort, ProviderAccount } from '../port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { SandboxFaults } from './sandbox.faults.ts';
import { type SandboxFolders, standardFolders } from './sandbox.folders.ts';
import type { SandboxMailStore } from './sandbox.mail-store.ts';
import { login } from './sandbox.settings.ts';

const LONGEST_NAME = 255;

const noMessage = () =>
  new ProviderError('not-found', 'NO [NONEXISTENT] The message does not exist');
const noFolder = () =>
  new ProviderError('not-found', 'NO [NONEXISTENT] The mailbox does not exist');

/** Changes mailboxes of the sandbox. Magic titles work in subjects and in names of folders. */
export class SandboxMailbox implements MailboxPort {
  /** @param changed called for each mailbox that has changed */
  constructor(
    private readonly store: SandboxMailStore,
    private readonly folders: SandboxFolders,
    private readonly faults: SandboxFaults,
    private readonly clock: Clock,
    private readonly changed: (account: ProviderAccount) => void,
  ) {}

  async setFlags(
    account: ProviderAccount,
    providerId: string,
    flags: { unread?: boolean; starred?: boolean },
  ) {
    await this.#message(account, providerId);
    if (!(await this.store.change(account, providerId, flags))) throw noMessage();
    this.changed(account);
  }

  async setFolders(account: ProviderAccount, providerId: string, folderIds: readonly string[]) {
    await this.#message(account, providerId);
    const { folders } = await this.folders.list(account);
    const known = new Set(
      [...standardFolders(account), ...folders].map((folder) => folder.providerId),
    );
    if (folderIds.some((id) => !known.has(id))) throw noFolder();
    if (account.organizationUnit === 'folder' && folderIds.length !== 1)
      throw new ProviderError('rejected', 'BAD A message is in exactly one mailbox');
    // "All Mail" is computed, not stored: it contains every message that is neither spam nor trash.
    const stored = [...new Set(folderIds)].filter((id) => id !== 'all');
    if (!(await this.store.change(account, providerId, { folders: stored }))) throw noMessage();
    this.changed(account);
    return { providerId };
  }

  async createFolder(account: ProviderAccount, displayName: string) {
    await this.#name(account, displayName, displayName);
    const standard = this.#standard(account, displayName);
    if (standard) return { providerId: standard };
    const providerId = await this.folders.create(account, displayName);
    this.changed(account);
    return { providerId };
  }

  async renameFolder(account: ProviderAccount, providerId: string, displayName: string) {
    await this.#name(account, providerId, displayName);
    if (!isId(providerId)) throw this.#refusal(account, providerId);
    if (this.#standard(account, displayName))
      throw new ProviderError('conflict', 'NO [ALREADYEXISTS] A mailbox of that name exists');
    await this.folders.rename(account, providerId, displayName);
    this.changed(account);
    // In the sandbox, ids of messages and folders do not depend on names.
    return { providerId, messagePrefix: null };
  }

  async deleteFolder(account: ProviderAccount, providerId: string) {
    login(account);
    if (!isId(providerId)) {
      const refusal = this.#refusal(account, providerId);
      if (refusal.code === 'not-found') return;
      throw refusal;
    }
    const { folders } = await this.folders.list(account);
    const name = folders.find((folder) => folder.providerId === providerId)?.displayName;
    await this.#strike(account, providerId, name, 'delete');
    const isLabel = account.organizationUnit === 'label';
    if (!isLabel && (await this.folders.isOccupied(account, providerId)))
      throw new ProviderError('rejected', 'NO [CANNOT] The folder contains messages');
    await this.folders.delete(account, providerId);
    this.changed(account);
  }

  async saveDraft(
    account: ProviderAccount,
    { mime, messageIdHeader }: DraftContent,
    replaces: string | null,
  ) {
    login(account);
    await this.#strike(account, messageIdHeader, subjectOf(mime), 'write');
    const replaced = replaces !== null && isId(replaces) ? replaces : null;
    const providerId = await this.store.storeDraft(
      account,
      messageIdHeader,
      mime,
      this.clock.now(),
      replaced,
    );
    this.changed(account);
    return { providerId };
  }

  async deleteDraft(account: ProviderAccount, providerId: string) {
    login(account);
    const mime = isId(providerId) ? await this.store.mime(account, providerId) : undefined;
    if (!mime) return;
    await this.#strike(account, providerId, subjectOf(mime), 'delete');
    await this.store.change(account, providerId, { deleted: true });
    this.changed(account);
  }

  /** @throws {ProviderError} `not-found` */
  async #message(account: ProviderAccount, providerId: string): Promise<void> {
    login(account);
    const mime = isId(providerId) ? await this.store.mime(account, providerId) : undefined;
    if (!mime) throw noMessage();
    await this.#strike(account, providerId, subjectOf(mime), 'write');
  }

  async #name(account: ProviderAccount, key: string, displayName: string): Promise<void> {
    login(account);
    await this.#strike(account, key, displayName, 'write');
    const levels = displayName.split('/');
    if (displayName.length > LONGEST_NAME || levels.some((level) => level.trim() === ''))
      throw new ProviderError('rejected', 'NO [CANNOT] This is not a valid mailbox name');
  }

  #standard(account: ProviderAccount, displayName: string): string | undefined {
    const lower = displayName.toLowerCase();
    return standardFolders(account).find((folder) => folder.displayName.toLowerCase() === lower)
      ?.providerId;
  }

  #refusal(account: ProviderAccount, providerId: string): ProviderError {
    return standardFolders(account).some((folder) => folder.providerId === providerId)
      ? new ProviderError('rejected', 'NO [CANNOT] This mailbox belongs to the server')
      : noFolder();
  }

  #strike(
    account: ProviderAccount,
    key: string,
    title: string | undefined,
    operation: 'write' | 'delete',
  ) {
    return this.faults.strike(account, [title, operation, 'mail'], key);
  }
}

/** The raw Subject header: magic titles are ASCII, so it need not be decoded. */
function subjectOf(mime: Buffer): string | undefined {
  const end = mime.indexOf('\r\n\r\n');
  const header = mime.toString('latin1', 0, end === -1 ? mime.length : end);
  return /^subject:(.*(?:\r?\n[ \t].*)*)/im.exec(header)?.[1];
}
