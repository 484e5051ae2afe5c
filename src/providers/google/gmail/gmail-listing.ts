import { forEachAtOnce } from '../../../platform/base/concurrency/for-each-at-once.ts';
import type { GmailMethod } from '../../../platform/config/sections/gmail-costs.ts';
import type { ProviderAccount, RemoteFolder, RemoteMessage } from '../../port/connector.ts';
import { type GmailReader, LIST_PAGE, type MessageRef } from './gmail-api.ts';
import { dateOf } from './gmail-content.ts';
import type { GmailListing } from './gmail-cursor.ts';
import { listedLabels, placementOf } from './gmail-labels.ts';
import { GoogleError } from '../google-error.ts';
import { type GoogleApi, type GoogleCost, googlePages } from '../google-api.ts';

/** Old chats are in the lists of some mailboxes; they are not mail. */
export const NO_CHATS = '-in:chats';
/** Lists read at the same time. */
const AT_ONCE = 4;
/** Most units to take at once: a smaller share of the quota than background work may use. */
const MOST_AT_ONCE = 700;

/** A page of the list of all messages. */
export interface ListedPage {
  messages: RemoteMessage[];
  /** `null` at the end of the list. */
  next: NextPage | null;
}
export type NextPage = Pick<GmailListing, 'pageToken' | 'before'>;

export const unixSeconds = (date: Date): number => Math.floor(date.getTime() / 1000);

/** The search words for messages received since a time. */
export const sinceWords = (since: Date | null): string =>
  since === null ? NO_CHATS : `${NO_CHATS} after:${unixSeconds(since) - 1}`;

/**
 * Lists messages without reading them. A message costs 20 units to read, even its header only, but
 * a list of 500 ids costs 5. A list does not name labels, so the same period is listed once for
 * each label. It names no dates either: they are estimated between the oldest and the newest
 * message of the page. 10,000 messages with 20 labels cost about 5,000 units.
 */
export class GmailLists {
  constructor(
    private readonly api: GoogleApi,
    private readonly gmail: GmailReader,
  ) {}

  /** Lists the next page of the mailbox. */
  async page(
    account: ProviderAccount,
    listing: Pick<GmailListing, 'pageToken' | 'before' | 'until'>,
    folders: readonly RemoteFolder[],
    since: Date | null,
    limit: number,
  ): Promise<ListedPage> {
    const labels = listedLabels(folders);
    const list = this.#reservedCost('messages.list');
    const units = list.units * (labels.length + 1) + this.gmail.costs['messages.get'];
    await this.#reserve(account, units);
    const q = `${sinceWords(since)} before:${listing.until + 1}`;
    const { messages: refs, nextPageToken } = await this.gmail.list(
      account,
      { q, pageToken: listing.pageToken, maxResults: Math.min(limit, LIST_PAGE) },
      list,
    );
    const { before } = listing;
    const nextAt = (oldest: number) =>
      nextPageToken === undefined ? null : { pageToken: nextPageToken, before: oldest };
    // A page may be empty although others follow.
    if (refs.length === 0) return { messages: [], next: nextAt(before) };
    const oldest = await this.#oldest(account, refs, since);
    const words = `${NO_CHATS} after:${oldest - 1} before:${before + 1}`;
    const labelsOf = await this.#labelsOf(account, refs, labels, words);
    const step = (before - oldest) / Math.max(1, refs.length - 1);
    const messages = refs.map(({ id, threadId }, index): RemoteMessage => ({
      providerId: id,
      threadId,
      ...placementOf(labelsOf.get(id) ?? []),
      receivedAt: new Date((before - step * index) * 1000),
      content: { kind: 'listed', headers: null, snippet: null },
    }));
    return { messages, next: nextAt(oldest) };
  }

  /** The ids of all messages. */
  async allIds(account: ProviderAccount): Promise<Set<string>> {
    return new Set(await this.#ids(account, { q: NO_CHATS }));
  }

  /** When the oldest message of a page was received, in Unix seconds. */
  async #oldest(
    account: ProviderAccount,
    refs: readonly MessageRef[],
    since: Date | null,
  ): Promise<number> {
    const cost = this.#reservedCost('messages.get');
    for (const { id } of refs.toReversed()) {
      try {
        return unixSeconds(dateOf(await this.gmail.minimal(account, id, cost)));
      } catch (error) {
        // Deleted since it was listed: its neighbour is nearly as old.
        if (!(error instanceof GoogleError) || error.code !== 'not-found') throw error;
      }
    }
    return since === null ? 0 : unixSeconds(since);
  }

  /** The labels of the messages of a page, by message id. */
  async #labelsOf(
    account: ProviderAccount,
    refs: readonly MessageRef[],
    labels: readonly string[],
    q: string,
  ): Promise<Map<string, string[]>> {
    const found = new Map(refs.map(({ id }) => [id, [] as string[]]));
    const list = this.#reservedCost('messages.list');
    await forEachAtOnce(AT_ONCE, labels, async (label) => {
      for (const id of await this.#ids(account, { labelId: label, q }, list))
        found.get(id)?.push(label);
    });
    return found;
  }

  /** The cost of a call whose units were taken before. */
  #reservedCost(method: GmailMethod): GoogleCost {
    return { units: this.gmail.costs[method], priority: 'history', reserved: true };
  }

  /** @param first cost of the first page; further pages are paid for as they come */
  async #ids(
    account: ProviderAccount,
    query: { labelId?: string; q: string },
    first?: GoogleCost,
  ): Promise<string[]> {
    const ids: string[] = [];
    const pages = googlePages((pageToken) =>
      pageToken === undefined
        ? this.gmail.list(account, query, first)
        : this.gmail.list(account, { ...query, pageToken }),
    );
    for await (const { messages } of pages) for (const { id } of messages) ids.push(id);
    return ids;
  }

  /**
   * Takes the units of a page before its first request: if they ran out in the middle, the page
   * would have to be listed again.
   */
  async #reserve(account: ProviderAccount, units: number): Promise<void> {
    await this.api.reserve(account, {
      units: Math.min(units, MOST_AT_ONCE),
      priority: 'history',
    });
  }
}
