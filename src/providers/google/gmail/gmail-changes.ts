import { createHash } from 'node:crypto';
import type { Clock } from '../../../platform/base/time/clock.ts';
import type {
  FailedMessage,
  MailChanges,
  ProviderAccount,
  RemoteFolder,
  RemoteMessage,
  Stall,
  SyncPassRequest,
} from '../../port/connector.ts';
import { failedContent, isOfOneObject, notFoundAmong } from '../../rest/message-failures.ts';
import type { GmailReader } from './gmail-api.ts';
import { type GmailContents, type GmailMessage, MOST_NEW, stateOf } from './gmail-content.ts';
import { type GmailCursor, type GmailListing, parseCursor } from './gmail-cursor.ts';
import { combine, type HistoryChanges } from './gmail-history.ts';
import { ALL_MAIL, CHAT, foldersOf, placementOf } from './gmail-labels.ts';
import { type GmailLists, type NextPage, sinceWords, unixSeconds } from './gmail-listing.ts';
import { GoogleError } from '../google-error.ts';

/** History records of one request. */
const RECORDS = 100;

const DAY = 86_400;

/** After this time without a history, the mailbox is listed again. */
const MOST_STALLED_MS = 15 * 60_000;

/** Nothing is known about when the message was received. */
const UNKNOWN_DATE = new Date(0);

/** A page of the history. */
interface News {
  changes: MailChanges;
  historyId: string;
  isLast: boolean;
}

type Changed = Pick<MailChanges, 'messages' | 'failed'>;

/** Messages that were read, and those on which Gmail failed or that it did not find. */
interface PageRead extends Pick<MailChanges, 'messages'> {
  failed: readonly FailedMessage[];
  notFound: readonly FailedMessage[];
}

/**
 * Follows a Gmail mailbox.
 *
 * The first pass notes the current history id, and reads the newest messages. Then the whole
 * mailbox is listed without being read; the mirror requests the contents
 * (`MailPort.readMessages`). Every pass begins with the history: Gmail's record of all changes
 * since a history id, which it keeps for about a week. If Gmail no longer has that history, the
 * mailbox is listed again, and messages that only the mirror has are reported as removed. The same
 * happens if requests for the history fail for a while and other requests succeed: one entry that
 * Gmail cannot return must not hide all later ones.
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
    const news = await this.#history(account, cursor, request).catch((error: unknown) =>
      this.#stalled(account, cursor, error),
    );
    if (news === null || (news.changes.stalled && this.#isForgotten(news.changes.stalled)))
      return this.#begin(account, request, true);
    const { listing } = cursor;
    const isQuiet = news.isLast && news.changes.messages.length + news.changes.removed.length === 0;
    if (!listing || !isQuiet) return news.changes;
    const { stalledSince: _, ...followed } = cursor;
    const next = { ...followed, historyId: news.historyId, listing };
    // The list goes on from here, so a folder that has changed is reported with it.
    return this.#list(account, next, request).catch((error: unknown) =>
      this.#stalledList(account, next, error),
    );
  }

  /** The history as if nothing had happened, if Gmail answers other requests. */
  async #stalled(account: ProviderAccount, cursor: GmailCursor, error: unknown): Promise<News> {
    const { since, reason } = await this.#stallOf(account, cursor.stalledSince, error);
    const changes: MailChanges = {
      ...NOTHING,
      cursor: write({ ...cursor, stalledSince: since.toISOString() }),
      more: cursor.listing !== null,
      stalled: { since, reason: `the changes of the mailbox cannot be read: ${reason}` },
    };
    return { changes, historyId: cursor.historyId, isLast: false };
  }

  #isForgotten({ since }: Stall): boolean {
    return this.clock.now().getTime() - since.getTime() > MOST_STALLED_MS;
  }

  async #stalledList(
    account: ProviderAccount,
    cursor: GmailCursor & { listing: GmailListing },
    error: unknown,
  ): Promise<MailChanges> {
    const { listing } = cursor;
    const { since, reason } = await this.#stallOf(account, listing.stalledSince, error);
    // Page tokens expire. The list then goes on at the same message without one.
    const isExpired = error instanceof GoogleError && error.status === 400;
    const from = isExpired ? { pageToken: null, until: listing.before } : {};
    const waiting = { ...listing, ...from, stalledSince: since.toISOString() };
    return {
      ...NOTHING,
      cursor: write({ ...cursor, listing: waiting }),
      more: true,
      stalled: { since, reason: `the list of messages cannot be read: ${reason}` },
    };
  }

  /** @throws the error, unless it may concern only the object of the request */
  async #stallOf(
    account: ProviderAccount,
    stalledSince: string | undefined,
    error: unknown,
  ): Promise<Stall> {
    if (!isOfOneObject(error)) throw error;
    await this.gmail.profile(account, 'interactive');
    return {
      since: stalledSince === undefined ? this.clock.now() : new Date(stalledSince),
      reason: error.message,
    };
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
    const query = { q: sinceWords(since), maxResults: Math.min(limit, MOST_NEW) };
    const { messages: refs, nextPageToken } = await this.gmail.newest(account, query);
    const ids = refs.map(({ id }) => id);
    const { messages, failed, notFound } = await this.#read(account, ids, since);
    const isComplete = ids.length === 0 && nextPageToken === undefined && !again;
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
      failed: [...failed, ...notFound],
    };
  }

  /** @returns `null` if Gmail cannot return the changes since the cursor */
  async #history(
    account: ProviderAccount,
    cursor: GmailCursor,
    { limit, since }: SyncPassRequest,
  ): Promise<News | null> {
    const { stalledSince: _, ...followed } = cursor;
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
        cursor: write({ ...followed, historyId, labels: labels.digest }),
        more: !isLast || cursor.listing !== null,
        folders: labels.folders,
        ...(await this.#changed(account, found, cursor.listing, since)),
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
  ): Promise<Changed> {
    // A message that is not listed yet, or whose labels are not known, is read whole.
    const unknown = [...relabelled].filter(([, labels]) => labels === null || listing !== null);
    const ids = [...added, ...unknown.map(([id]) => id)];
    const { messages, failed, notFound } = await this.#read(account, ids, since);
    // Its labels are known even if Gmail fails on the rest.
    const unread = new Set(failed.map(({ providerId }) => providerId));
    const readIds = new Set(unknown.flatMap(([id]) => (unread.has(id) ? [] : [id])));
    const placed = [...relabelled].flatMap(([providerId, labels]): RemoteMessage[] =>
      readIds.has(providerId) || labels === null
        ? []
        : [{ providerId, ...placementOf(labels), receivedAt: UNKNOWN_DATE, content: null }],
    );
    return { messages: [...messages, ...placed], failed: [...failed, ...notFound] };
  }

  async #read(
    account: ProviderAccount,
    ids: readonly string[],
    since: Date | null,
  ): Promise<PageRead> {
    const { read, failed } = await this.contents.fetchAll(account, ids);
    const messages = [...read.values()].flatMap((message) =>
      message && !message.labels.labelIds.includes(CHAT) ? [remoteOf(message)] : [],
    );
    return {
      messages: messages.filter(({ receivedAt }) => since === null || receivedAt >= since),
      failed,
      notFound: notFoundAmong(read),
    };
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
    const { isWhole, ...found } = cursor.listing.again
      ? await this.#unmirrored(account, page.messages, request)
      : { messages: page.messages, isWhole: true };
    const { stalledSince: _, ...unstalled } = cursor.listing;
    const listing = isWhole ? nextStage(unstalled, page.next) : unstalled;
    return {
      ...NOTHING,
      cursor: write({ ...cursor, labels, listing }),
      more: listing !== null,
      folders: labels === cursor.labels ? null : folders,
      ...found,
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
  ): Promise<Changed & { isWhole: boolean }> {
    const mirrored = await mirroredIds(known);
    const unknown = page.filter(({ providerId }) => !mirrored.has(providerId));
    const ids = unknown.slice(0, MOST_NEW).map(({ providerId }) => providerId);
    const present = page
      .filter(({ providerId }) => mirrored.has(providerId))
      .map((message) => ({ ...message, receivedAt: UNKNOWN_DATE, content: null }));
    const { messages, failed, notFound } = await this.#read(account, ids, since);
    const reasons = new Map(failed.map(({ providerId, reason }) => [providerId, reason]));
    // They are mirrored as they are listed, so that the next pass finds other ones.
    const listed = unknown.flatMap((message): RemoteMessage[] => {
      const reason = reasons.get(message.providerId);
      return reason === undefined ? [] : [{ ...message, content: failedContent(reason) }];
    });
    return {
      messages: [...present, ...messages, ...listed],
      failed: notFound,
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
    const { read, failed } = await this.contents.fetchAll(account, missing.slice(0, MOST_NEW));
    const removed = [...read].flatMap(([id, message]) => (message === null ? [id] : []));
    // A look-up that Gmail refused may succeed later. Messages that exist but are not listed, and
    // those on which Gmail always fails, would be looked up for ever.
    const isWhole = missing.length <= MOST_NEW && failed.length === 0;
    const isDone = isWhole || removed.length === 0;
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
