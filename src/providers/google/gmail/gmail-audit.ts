import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type {
  MessageIds,
  MessageIdsRequest,
  ProviderAccount,
  RemoteFolder,
} from '../../port/connector.ts';
import { type GmailReader, LIST_PAGE } from './gmail-api.ts';
import { ALL_MAIL, foldersOf } from './gmail-labels.ts';
import { NO_CHATS } from './gmail-listing.ts';
import { GoogleError } from '../google-error.ts';

/** What the audit reads (ADR 0080). */
export class GmailAudit {
  constructor(private readonly gmail: GmailReader) {}

  /** See `MailPort.listIds`. */
  async listIds(
    account: ProviderAccount,
    { folderId, since, until, cursor, limit }: MessageIdsRequest,
  ): Promise<MessageIds> {
    const isAll = folderId === ALL_MAIL;
    // A second more on each side: Gmail counts in seconds and does not say how it rounds.
    const words = [
      NO_CHATS,
      ...(isAll ? ['-in:spam', '-in:trash'] : []),
      ...(since ? [`after:${Math.floor(since.getTime() / 1000) - 1}`] : []),
      ...(until ? [`before:${Math.ceil(until.getTime() / 1000) + 1}`] : []),
    ];
    const query = {
      q: words.join(' '),
      pageToken: cursor,
      maxResults: Math.min(limit, LIST_PAGE),
      ...(isAll ? {} : { labelId: folderId }),
    };
    try {
      const { messages, nextPageToken } = await this.gmail.list(account, query, {
        units: this.gmail.costs['messages.list'],
        priority: 'history',
      });
      if (messages.length === 0) await this.#assertExists(account, folderId);
      return { ids: messages.map(({ id }) => id), cursor: nextPageToken ?? null };
    } catch (error) {
      const isRefused = error instanceof GoogleError && error.status === 400 && !error.isPassing;
      if (!isRefused) throw error;
      if (cursor !== null) throw new ProviderError('conflict', error.message, { cause: error });
      if (!isAll) await this.#assertExists(account, folderId);
      throw error;
    }
  }

  /** See `MailPort.listFolders`. */
  async listFolders(account: ProviderAccount): Promise<RemoteFolder[]> {
    return foldersOf(await this.gmail.labels(account, 'history'));
  }

  /** An empty list may be that of a label that does not exist. */
  async #assertExists(account: ProviderAccount, folderId: string): Promise<void> {
    const folders = await this.listFolders(account);
    if (!folders.some(({ providerId }) => providerId === folderId))
      throw new ProviderError('not-found', `Google: there is no label ${folderId}`);
  }
}
