import { markOfKind, withMark } from '../../../formats/mime/message-mark.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { DraftContent, MailboxPort, ProviderAccount } from '../../port/connector.ts';
import { ignoreGone, nullIfGone, provenGone } from '../../rest/gone.ts';
import type { GmailDraft, GmailLabel } from './gmail-api.ts';
import type { GmailWriter } from './gmail-writer.ts';
import { notFoundIfInvalid } from './gmail-content.ts';
import { foldersOf, labelChange, STARRED, UNREAD } from './gmail-labels.ts';
import type { GmailLookups } from './gmail-lookups.ts';
import { googlePages } from '../google-api.ts';
import { GoogleError } from '../google-error.ts';

const LONGEST_NAME = 225;
/** Labels of Gmail itself can neither be renamed nor deleted. */
const isOwn = (id: string): boolean => /^[A-Z_]+$/.test(id);

/** Changes of Gmail mailboxes. Ids of messages and labels never change. */
export class GmailMailbox implements MailboxPort {
  constructor(
    private readonly gmail: GmailWriter,
    private readonly lookups: GmailLookups,
  ) {}

  async setFlags(
    account: ProviderAccount,
    providerId: string,
    { unread, starred }: { unread?: boolean; starred?: boolean },
  ) {
    const flags = [
      [UNREAD, unread],
      [STARRED, starred],
    ] as const;
    await notFoundIfInvalid(
      this.gmail.modify(account, providerId, {
        addLabelIds: flags.flatMap(([label, wanted]) => (wanted === true ? [label] : [])),
        removeLabelIds: flags.flatMap(([label, wanted]) => (wanted === false ? [label] : [])),
      }),
    );
  }

  async setFolders(account: ProviderAccount, providerId: string, folderIds: readonly string[]) {
    const labels = foldersOf(await this.gmail.labels(account, 'interactive'));
    const known = new Set(labels.map((label) => label.providerId));
    const missing = folderIds.find((id) => !known.has(id));
    if (missing !== undefined) throw noLabel(missing);
    const { labelIds } = await notFoundIfInvalid(
      this.gmail.minimal(account, providerId, {
        units: this.gmail.costs['messages.get'],
        priority: 'interactive',
      }),
    );
    const change = labelChange(labelIds, folderIds);
    if (change.addLabelIds.length + change.removeLabelIds.length > 0)
      await this.gmail.modify(account, providerId, change);
    return { providerId };
  }

  async createFolder(account: ProviderAccount, displayName: string) {
    assertName(displayName);
    const before = await this.#named(account, displayName);
    if (before) return { providerId: before };
    try {
      return { providerId: (await this.gmail.createLabel(account, displayName)).id };
    } catch (error) {
      if (!isTaken(error)) throw error;
      // A request whose response was lost has made it.
      const made = await this.#named(account, displayName);
      if (made) return { providerId: made };
      throw new ProviderError('rejected', error.message, { cause: error });
    }
  }

  /**
   * The labels below it are renamed as well, as Gmail's own pages do; its API renames one label.
   * The label itself comes last: if a request fails, a retry still finds the labels below it that
   * have the old name.
   */
  async renameFolder(account: ProviderAccount, providerId: string, displayName: string) {
    assertName(displayName);
    const labels = await this.#labels(account);
    const label = labels.find(({ id }) => id === providerId);
    if (isOwn(providerId)) throw ofGmail(providerId);
    if (!label) throw noLabel(providerId);
    const below = labels.filter(({ name }) => name.startsWith(`${label.name}/`));
    const renamed = [...below, label].map(({ id, name }) => ({
      id,
      name: displayName + name.slice(label.name.length),
    }));
    for (const { id, name } of renamed) {
      const isFree = labels.every((one) => one.id === id || !isSame(one.name, name));
      if (!isFree) throw new ProviderError('conflict', `Google: there is already a label ${name}`);
    }
    try {
      for (const { id, name } of renamed) await this.gmail.renameLabel(account, id, name);
    } catch (error) {
      throw isTaken(error) ? new ProviderError('conflict', error.message, { cause: error }) : error;
    }
    return { providerId, messagePrefix: null };
  }

  async deleteFolder(account: ProviderAccount, providerId: string) {
    if (isOwn(providerId)) throw ofGmail(providerId);
    const work = this.gmail.deleteLabel(account, providerId).then(() => true);
    if (await nullIfGone(notFoundIfInvalid(work))) return;
    // One answer is no proof that the label is gone.
    const isThere = (await this.#labels(account)).some(({ id }) => id === providerId);
    if (isThere)
      throw new ProviderError('temporary', `Google: the label ${providerId} was not deleted`);
  }

  async saveDraft(
    account: ProviderAccount,
    { mime, messageIdHeader, threadId = null }: DraftContent,
    replaces: string | null,
  ) {
    const saved = await this.lookups.savedDraft(account, messageIdHeader, mime);
    const before = replaces === null ? undefined : await this.#draftOf(account, replaces);
    if (saved) {
      if (before && before.id !== saved.id) await this.#remove(account, before);
      return { providerId: saved.message.id };
    }
    const marked = withMark(mime, markOfKind('draft', messageIdHeader));
    const draft = await this.#write(account, before?.id ?? null, marked, threadId);
    return { providerId: draft.message.id };
  }

  async deleteDraft(account: ProviderAccount, providerId: string) {
    const draft = await this.#draftOf(account, providerId);
    if (draft) await this.#remove(account, draft);
  }

  /** Deletes a draft. One that does not exist is not an error. */
  async #remove(account: ProviderAccount, draft: GmailDraft): Promise<void> {
    await ignoreGone(
      provenGone(this.gmail.deleteDraft(account, draft.id), {
        object: async () => ((await this.#has(account, draft.id)) ? draft : null),
        anchor: () => this.gmail.profile(account, 'interactive'),
      }),
    );
  }

  async #has(account: ProviderAccount, draftId: string): Promise<boolean> {
    return (await this.#drafts(account)).some(({ id }) => id === draftId);
  }

  /** A draft or a thread that was deleted meanwhile does not stop the new version. */
  async #write(
    account: ProviderAccount,
    draftId: string | null,
    mime: Buffer,
    threadId: string | null,
  ): Promise<GmailDraft> {
    try {
      return await this.gmail.writeDraft(account, draftId, mime, threadId);
    } catch (error) {
      const isGone = error instanceof GoogleError && error.code === 'not-found';
      if (!isGone || (draftId === null && threadId === null)) throw error;
      const isThere = draftId !== null && (await this.#has(account, draftId));
      const write = (thread: string | null) =>
        this.gmail.writeDraft(account, isThere ? draftId : null, mime, thread);
      // One passing answer must not take the draft out of its thread.
      return (await nullIfGone(write(threadId))) ?? (await write(null));
    }
  }

  /** The draft that has this message. A draft's message gets a new id with each version. */
  async #draftOf(account: ProviderAccount, messageId: string): Promise<GmailDraft | undefined> {
    const drafts = await this.#drafts(account);
    return drafts.find(({ message }) => message.id === messageId);
  }

  async #drafts(account: ProviderAccount): Promise<GmailDraft[]> {
    const found: GmailDraft[] = [];
    const pages = googlePages((pageToken) => this.gmail.drafts(account, undefined, pageToken));
    for await (const { drafts } of pages) found.push(...drafts);
    return found;
  }

  async #named(account: ProviderAccount, displayName: string): Promise<string | undefined> {
    const folders = foldersOf(await this.#labels(account));
    return folders.find((one) => isSame(one.displayName, displayName))?.providerId;
  }

  #labels(account: ProviderAccount): Promise<GmailLabel[]> {
    return this.gmail.labels(account, 'interactive');
  }
}

/** Gmail's names of labels differ in more than upper and lower case. */
const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

const ofGmail = (id: string) =>
  new ProviderError('rejected', `Google: the label ${id} belongs to Gmail`);
const noLabel = (id: string) => new ProviderError('not-found', `Google: there is no label ${id}`);

/** @throws {ProviderError} `rejected` */
function assertName(displayName: string): void {
  const isNamed = displayName.split('/').every((level) => level.trim() !== '');
  if (!isNamed || displayName.length > LONGEST_NAME)
    throw new ProviderError(
      'rejected',
      `Google: a label needs a name of at most ${LONGEST_NAME} characters, without empty levels`,
    );
}

/** Gmail refuses a taken name with 409, and with 400 if it is the name of a label of its own. */
function isTaken(error: unknown): error is GoogleError {
  return (
    error instanceof GoogleError &&
    (error.code === 'conflict' || /exists|conflict/i.test(error.message))
  );
}
