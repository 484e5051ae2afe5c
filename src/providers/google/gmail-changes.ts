import { createHash } from 'node:crypto';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { MailChanges, ProviderAccount, RemoteFolder, RemoteMessage, SyncPassRequest } from '../port/connector.ts'; // prettier-ignore
import type { GmailReader } from './gmail-api.ts';
import { type GmailContents, type GmailMessage, MOST_NEW, stateOf } from './gmail-content.ts';
import { type GmailCursor, type GmailListing, parseCursor } from './gmail-cursor.ts';
import { combine, type HistoryChanges } from './gmail-history.ts';
import { ALL_MAIL, foldersOf, placementOf } from './gmail-labels.ts';
import { type GmailLists, type NextPage, sinceWords, unixSeconds } from './gmail-listing.ts';
import { GoogleError } from './google-error.ts';

/** History records of one request. */
const RECORDS = 100;

const DAY = 86_400;

/** Nothing is known about when the message was received. */
const UNKNOWN_DATE = new Date(0);

/**
 * Follows a Gmail mailbox.
 *
 * The first pass notes the current history id, and reads the newest messages. Then the whole
 * mailbox is listed without being read; the mirror requests the contents
 * (`MailPort.readMessages`). Every pass begins with the history: Gmail's record of all changes
 * since a history id, which it keeps for about a week. If it no longer has it, the mailbox is
 * listed again, and what the mirror has but Gmail has not is reported as removed.
 */
export class GmailChanges {
  constructor(
    private readonly gmail: GmailReader,
    private readonly lists: GmailLists,
    private readonly contents: GmailContents,
    private readonly clock: Clock,
  ) {}

  /** See `MailPort.listChanges`. */
  async listChanges(account: ProviderAccount, request: SyncPassRequest): Promise<MailChanges> {
    const cursor = parseCursor(request.cursor);
    if (!cursor) return this.#begin(account, request);
    const news = await this.#history(account, cursor, request);
    if (!news) return this.#begin(account, request, true);
    const { listing } = cursor;
    const isQuiet = news.isLast && news.changes.messages.length + news.changes.removed.length === 0;
    if (!listing || !isQuiet) return news.changes;
    const next = { ...cursor, historyId: news.historyId, listing };
    // The list goes on from here, so a folder that has changed is reported with it.
    return this.#list(account, next, request);
  }

  /** @param again whether the mirror already has messages */
  async #begin(
    account: ProviderAccount,
    { limit, since }: SyncPassRequest,
    again = false,
  ): Promise<MailChanges> {
    // Before the lists: what changes while they are read is found by the history.
    const { historyId } = await this.gmail.profile(account, 'interactive');
    const folders = foldersOf(await this.gmail.labels(account, 'interactive'));
    const { messages: refs } = await this.gmail.list(account, {
      q: sinceWords(since),
      maxResults: Math.min(limit, MOST_NEW),
    });
    const ids = refs.map(({ id }) => id);
    const messages = await this.#read(account, ids, since);
    const isComplete = ids.length === 0 && !again;
    const newest = Math.max(...messages.map(({ receivedAt }) => unixSeconds(receivedAt)));
    const until = Number.isFinite(newest) ? newest : unixSeconds(this.clock.now()) + DAY;
    const start = { stage: 'list', pageToken: null, before: until, until, again } as const;
    const listing = isComplete ? null : start;
    return {
      ...NOTHING,
      cursor: write({ historyId, labels: digestOf(folders), listing }),
      more: !isComplete,
      folders,
      messages,
    };
  }

  /** @returns `null` if Gmail no longer knows the changes since the cursor */
  async #history(
    account: ProviderAccount,
    cursor: GmailCursor,
    { limit, since }: SyncPassRequest,
  ): Promise<{ changes: MailChanges; historyId: string; isLast: boolean } | null> {
    try {
      const most = Math.min(limit, MOST_NEW, RECORDS);
      const page = await this.gmail.history(account, cursor.historyId, most);
      const isLast = page.nextPageToken === undefined;
      const last = page.history.at(-1);
      const historyId = isLast || !last ? page.historyId : last.id;
      const labels = await this.#labels(account, cursor, page.history.length > 0);
      const found = combine(page.history);
      const changes: MailChanges = {
        ...NOTHING,
        cursor: write({ ...cursor, historyId, labels: labels.digest }),
        more: !isLast || cursor.listing !== null,
        folders: labels.folders,
        messages: await this.#changed(account, found, cursor.listing, since),
        removed: found.removed,
      };
      return { changes, historyId, isLast };
    } catch (error) {
      if (error instanceof GoogleError && error.code === 'not-found') return null;
      throw error;
    }
  }

  async #changed(
    account: ProviderAccount,
    { added, relabelled }: HistoryChanges,
    listing: GmailListing | null,
    since: Date | null,
  ): Promise<RemoteMessage[]> {
    // A message that is not listed yet, or whose labels are not known, is read whole.
    const unknown = [...relabelled].filter(([, labels]) => labels === null || listing !== null);
    const ids = [...added, ...unknown.map(([id]) => id)];
    const messages = await this.#read(account, ids, since);
    const unknownIds = new Set(unknown.map(([id]) => id));
    for (const [providerId, labels] of relabelled) {
      if (unknownIds.has(providerId) || labels === null) continue;
      const placement = placementOf(labels);
      messages.push({ providerId, ...placement, receivedAt: UNKNOWN_DATE, content: null });
    }
    return messages;
  }

  async #read(account: ProviderAccount, ids: readonly string[], since: Date | null) {
    const read = await this.contents.fetchAll(account, ids);
    return [...read.values()]
      .flatMap((message) => (message ? [remoteOf(message)] : []))
      .filter(({ receivedAt }) => since === null || receivedAt >= since);
  }

  /** The labels, if they may have changed: history does not report changes of labels themselves. */
  async #labels(
    account: ProviderAccount,
    cursor: GmailCursor,
    changed: boolean,
  ): Promise<{ folders: readonly RemoteFolder[] | null; digest: string }> {
    if (cursor.listing && !changed) return { folders: null, digest: cursor.labels };
    const folders = foldersOf(await this.gmail.labels(account, 'interactive'));
    const digest = digestOf(folders);
    return { folders: digest === cursor.labels ? null : folders, digest };
  }

  async #list(
    account: ProviderAccount,
    cursor: GmailCursor & { listing: GmailListing },
    request: SyncPassRequest,
  ): Promise<MailChanges> {
    if (cursor.listing.stage === 'compare') return this.#compare(account, cursor, request);
    const { limit, since } = request;
    const folders = foldersOf(await this.gmail.labels(account, 'history'));
    const page = await this.lists.page(account, cursor.listing, folders, since, limit);
    const labels = digestOf(folders);
    const { messages, isWhole } = cursor.listing.again
      ? await this.#unmirrored(account, page.messages, request)
      : { messages: page.messages, isWhole: true };
    const listing = isWhole ? nextStage(cursor.listing, page.next) : cursor.listing;
    return {
      ...NOTHING,
      cursor: write({ ...cursor, labels, listing }),
      more: listing !== null,
      folders: labels === cursor.labels ? null : folders,
      messages,
    };
  }

  /**
   * Reads the messages of a page that the mirror does not have: they are news that was missed.
   * @returns `isWhole`: false if the page has to be listed again, for the rest of them
   */
  async #unmirrored(
    account: ProviderAccount,
    page: readonly RemoteMessage[],
    { known, since }: SyncPassRequest,
  ): Promise<{ messages: RemoteMessage[]; isWhole: boolean }> {
    const mirrored = await mirroredIds(known);
    const unknown = page.filter(({ providerId }) => !mirrored.has(providerId));
    const ids = unknown.slice(0, MOST_NEW).map(({ providerId }) => providerId);
    const present = page
      .filter(({ providerId }) => mirrored.has(providerId))
      .map((message) => ({ ...message, receivedAt: UNKNOWN_DATE, content: null }));
    return {
      messages: [...present, ...(await this.#read(account, ids, since))],
      isWhole: unknown.length <= MOST_NEW,
    };
  }

  /** Reports messages of the mirror that Gmail no longer has. Each is looked up before. */
  async #compare(
    account: ProviderAccount,
    cursor: GmailCursor,
    { known }: SyncPassRequest,
  ): Promise<MailChanges> {
    // Before Gmail is asked: what arrives meanwhile is not missed then.
    const mirrored = await mirroredIds(known);
    const present = await this.lists.allIds(account);
    const missing = [...mirrored].filter((id) => !present.has(id));
    const fetched = await this.contents.fetchAll(account, missing.slice(0, MOST_NEW));
    const removed = [...fetched].flatMap(([id, message]) => (message === null ? [id] : []));
    // Messages that exist but are not listed would be looked up for ever.
    const isDone = missing.length <= MOST_NEW || removed.length === 0;
    return {
      ...NOTHING,
      cursor: write({ ...cursor, listing: isDone ? null : cursor.listing }),
      more: !isDone,
      removed,
    };
  }
}

/** The ids of all mirrored messages. Every message is in one of these labels. */
async function mirroredIds(known: SyncPassRequest['known']): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const folder of [ALL_MAIL, 'SPAM', 'TRASH'])
    for (const id of await known(folder)) ids.add(id);
  return ids;
}

const NOTHING = {
  present: true,
  folders: null,
  renamed: [],
  messages: [],
  removed: [],
} as const satisfies Partial<MailChanges>;

function write(cursor: Omit<GmailCursor, 'version'>): string {
  return JSON.stringify({ ...cursor, version: 1 });
}

function nextStage(listing: GmailListing, next: NextPage | null): GmailListing | null {
  if (next) return { ...listing, ...next };
  return listing.again ? { ...listing, stage: 'compare', pageToken: null } : null;
}

/** A message as the mirror takes it. */
function remoteOf({ labels, content }: GmailMessage): RemoteMessage {
  return { ...stateOf(labels), content };
}

function digestOf(folders: readonly RemoteFolder[]): string {
  return createHash('sha256').update(JSON.stringify(folders)).digest('base64url');
}
