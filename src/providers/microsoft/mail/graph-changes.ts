import { createHash } from 'node:crypto';
import type { Clock } from '../../../platform/base/time/clock.ts';
import { BudgetExhaustedError } from '../../../platform/budgets/budget-exhausted-error.ts';
import type {
  MailChanges,
  ProviderAccount,
  RemoteFolder,
  SyncPassRequest,
} from '../../port/connector.ts';
import type { GraphApi } from '../graph-api.ts';
import { GraphChangedMessages } from './graph-changed-messages.ts';
import type { GraphContents } from './graph-content.ts';
import { type FolderState, type GraphCursor, parseCursor } from './graph-cursor.ts';
import { GraphDeltaPages } from '../graph-delta-pages.ts';
import {
  GraphFolderPages,
  isToList,
  stalledState,
  stallOf,
  unreadFolder,
} from './graph-folder-pages.ts';
import { GraphFolderComparison } from './graph-folder-comparison.ts';
import type { GraphFolders } from './graph-folders.ts';
import {
  type GraphMessage,
  graphMessage,
  LIST_FIELDS,
  listedOf,
  receivedAt,
  remoteOf,
} from './graph-message.ts';

/** Newest messages that are read at once, so that a new account shows something. */
const FIRST = 50;
/** Folders whose changes are read in every round although their counts have not changed. */
const ALWAYS: readonly (string | null)[] = ['inbox', 'sent', 'drafts'];
/** Further folders of a round, in turn: flags of messages change no counts. */
const IN_TURN = 10;
/**
 * While the history is listed, a round begins at most this often. If the history waits for the
 * budget, each sync pass has a round.
 */
const ROUND_MS = 20_000;
/** How much earlier than the last reading a message may have been created and still be news. */
const NEWS_MS = 600_000;
/**
 * Most messages of a listed page whose contents are read at once; the others count as history. It
 * keeps a mailbox whose messages have all just arrived from using up its quota before it is listed.
 */
const MOST_NEWS = 50;

/**
 * Follows a mailbox by the delta queries of its folders.
 *
 * The first pass reads the newest messages. Then each folder is listed once, with headers; the
 * mirror requests the contents. Afterwards each pass is a round over the folders: those whose
 * counts have changed, those that matter most, and some others in turn. A message that left a
 * folder is looked up before it counts as deleted, because it may have been moved. Ids are
 * immutable, so a moved message keeps its id. New messages come with their contents. If Graph has
 * forgotten the state of a folder (410), it is listed again and compared with the mirror.
 */
export class GraphChanges {
  readonly #pages: GraphFolderPages;
  readonly #messages: GraphChangedMessages;
  readonly #comparison: GraphFolderComparison;

  constructor(
    private readonly graph: GraphApi,
    private readonly folders: GraphFolders,
    contents: GraphContents,
    private readonly clock: Clock,
  ) {
    this.#pages = new GraphFolderPages(new GraphDeltaPages(graph), contents);
    this.#messages = new GraphChangedMessages(folders, contents);
    this.#comparison = new GraphFolderComparison(graph, folders, contents, this.#messages);
  }

  /** See `MailPort.listChanges`. */
  async listChanges(account: ProviderAccount, request: SyncPassRequest): Promise<MailChanges> {
    const cursor = parseCursor(request.cursor);
    if (!cursor) return this.#begin(account, request);
    const [next] = cursor.round;
    if (next !== undefined) return this.#follow(account, cursor, next, request);
    const unlisted = Object.entries(cursor.folders).find(([, state]) => isToList(state, cursor));
    const now = this.clock.now().getTime();
    if (!unlisted || now - cursor.roundAt >= ROUND_MS)
      return this.#beginRound(account, cursor, request, now);
    try {
      return await this.#list(account, cursor, unlisted, request);
    } catch (error) {
      const isNewsRead = !request.beganAt || cursor.passAt === request.beganAt.getTime();
      if (!(error instanceof BudgetExhaustedError) || isNewsRead) throw error;
      return this.#beginRound(account, cursor, request, now);
    }
  }

  async #begin(
    account: ProviderAccount,
    { limit, since, beganAt }: SyncPassRequest,
  ): Promise<MailChanges> {
    const wellKnown = await this.folders.wellKnown(account);
    const { folders, counts } = await this.folders.list(account, wellKnown, 'interactive');
    const shown = new Set(folders.map(({ providerId }) => providerId));
    const { value } = await this.graph.page(account, {
      method: 'GET',
      path: '/messages',
      query: {
        $select: LIST_FIELDS,
        $top: Math.min(limit, FIRST),
        $orderby: 'receivedDateTime desc',
        $filter: since ? `receivedDateTime ge ${since.toISOString()}` : undefined,
      },
      priority: 'interactive',
    });
    const newest = value
      .flatMap((one) => graphMessage.safeParse(one).data ?? [])
      .filter(({ parentFolderId }) => shown.has(parentFolderId ?? ''));
    const now = this.clock.now().getTime();
    const state = { link: null, stage: 'list', readAt: now } as const;
    const cursor: Omit<GraphCursor, 'version'> = {
      listed: digestOf(folders),
      wellKnown,
      folders: Object.fromEntries(
        folders.map(({ providerId: id }) => [id, { ...state, counts: counts.get(id) ?? '' }]),
      ),
      round: [],
      roundAt: now,
      passAt: beganAt?.getTime(),
      turn: 0,
    };
    return {
      ...NOTHING,
      cursor: write(cursor),
      more: true,
      folders,
      ...(await this.#messages.withContents(account, newest, () => true)),
    };
  }

  /** Lists the folders, and chooses those whose changes are read in this round. */
  async #beginRound(
    account: ProviderAccount,
    cursor: GraphCursor,
    request: SyncPassRequest,
    now: number,
  ): Promise<MailChanges> {
    // A name that the mailbox lacked may have come to it.
    const wellKnown = { ...cursor.wellKnown, ...(await this.folders.wellKnown(account)) };
    const { folders, counts, ids } = await this.folders.list(account, wellKnown, 'interactive');
    const gone = Object.keys(cursor.folders).filter(
      (id) => !folders.some(({ providerId }) => providerId === id),
    );
    await this.folders.assertGone(
      account,
      gone.filter((id) => !ids.has(id)),
    );
    const missing = await this.#messages.lookUpFew(
      account,
      await knownIn(gone, request),
      new Set(folders.map(({ providerId }) => providerId)),
    );
    const states = Object.fromEntries(
      folders.map(({ providerId }): [string, FolderState] => [
        providerId,
        cursor.folders[providerId] ?? { link: null, stage: 'list', counts: '', readAt: now },
      ]),
    );
    const following = folders.filter(({ providerId }) => states[providerId]?.stage === 'follow');
    const inTurn = following.map((_, index) => (cursor.turn + index) % following.length);
    const chosen = new Set(inTurn.slice(0, IN_TURN));
    const round = following.filter(
      ({ providerId, name }, index) =>
        ALWAYS.includes(name) ||
        states[providerId]?.stall !== undefined ||
        states[providerId]?.counts !== counts.get(providerId) ||
        chosen.has(index),
    );
    for (const { providerId } of round) {
      const state = states[providerId];
      if (state) states[providerId] = { ...state, counts: counts.get(providerId) ?? '' };
    }
    const listed = digestOf(folders);
    const after = {
      ...cursor,
      wellKnown,
      listed,
      folders: states,
      round: round.map(({ providerId }) => providerId),
      roundAt: now,
      passAt: request.beganAt?.getTime(),
      turn: following.length === 0 ? 0 : (cursor.turn + IN_TURN) % following.length,
    };
    return {
      ...NOTHING,
      ...progressOf(after),
      folders: listed === cursor.listed ? null : folders,
      ...missing,
    };
  }

  /** Reads a page of the changes of a folder. */
  async #follow(
    account: ProviderAccount,
    cursor: GraphCursor,
    folderId: string,
    request: SyncPassRequest,
  ): Promise<MailChanges> {
    const state = cursor.folders[folderId];
    const rest = cursor.round.slice(1);
    const now = this.clock.now().getTime();
    const found =
      state && (await this.#pages.read(account, folderId, state, request.limit, 'interactive'));
    if (found?.page === 'stalled') {
      const folders = { ...cursor.folders, [folderId]: stalledState(state!, now) };
      const after = { ...cursor, folders, round: rest };
      return { ...NOTHING, ...progressOf(after), ...unreadFolder(cursor, folderId, found.error) };
    }
    const page = found?.page;
    if (!page) {
      // Graph has forgotten the state, or the folder was deleted since the round began.
      const again = { link: null, stage: 'again', counts: '' } as const;
      const folders = state
        ? { ...cursor.folders, [folderId]: { ...state, ...again } }
        : cursor.folders;
      return { ...NOTHING, cursor: write({ ...cursor, folders, round: rest }), more: true };
    }
    const after: GraphCursor = {
      ...cursor,
      folders: {
        ...cursor.folders,
        [folderId]: {
          ...withoutStall(state!, found.limit),
          link: page.link,
          ...(page.more ? {} : { readAt: now }),
        },
      },
      round: page.more ? cursor.round : rest,
    };
    const unclear = [...page.left, ...page.incomplete];
    const recovered = state!.stall ? { read: [folderId] } : {};
    const looked = await this.#messages.lookUp(account, unclear, idsOf(cursor));
    // Of an incomplete entry nothing but its own absence says that it was deleted.
    const left = new Set(page.left);
    const gone = { ...looked, removed: looked.removed.filter((id) => left.has(id)) };
    const isDrafts = folderId === cursor.wellKnown['drafts'];
    const sent = isDrafts ? await this.#messages.sent(account, gone.messages) : gone;
    const isSent = folderId === cursor.wellKnown['sentitems'] ? isSentSince(state!) : () => false;
    const news = await this.#messages.withContents(
      account,
      inTime(page.messages, request),
      isNews(state!),
      (one) => one.isDraft === true || isSent(one),
    );
    return {
      ...NOTHING,
      ...progressOf(after),
      ...recovered,
      messages: [...news.messages, ...sent.messages],
      removed: gone.removed,
      failed: [...news.failed, ...gone.failed, ...(isDrafts ? sent.failed : [])],
    };
  }

  /** Lists a page of a folder that was not listed before, or that has to be listed again. */
  async #list(
    account: ProviderAccount,
    cursor: GraphCursor,
    [folderId, state]: [string, FolderState],
    request: SyncPassRequest,
  ): Promise<MailChanges> {
    if (state.stage === 'compare')
      return this.#compare(account, cursor, [folderId, state], request);
    const read = await this.#pages.read(account, folderId, state, request.limit, 'history');
    const { page } = read;
    if (page === 'stalled') {
      const stalled = stalledState(state, this.clock.now().getTime());
      const after = { ...cursor, folders: { ...cursor.folders, [folderId]: stalled } };
      return { ...NOTHING, ...progressOf(after), ...unreadFolder(cursor, folderId, read.error) };
    }
    if (!page) {
      const now = this.clock.now().getTime();
      // Without a link, the folder was deleted or is not found for a while. The next round lists
      // the folders, and tries those again that are still there.
      const begin = state.link === null ? stalledState(state, now) : { ...state, link: null };
      const after = { ...cursor, folders: { ...cursor.folders, [folderId]: begin } };
      return { ...NOTHING, ...progressOf(after) };
    }
    const isAgain = state.stage === 'again';
    const wanted = inTime(page.messages, request);
    // After an import into the mailbox, most of its messages have just been created.
    const isNew = isAgain ? isNews(state) : isReceivedSince(state);
    // Drafts as well: a listing would have to forget their hidden recipients.
    const news = wanted.filter((one) => isNew(one) || one.isDraft).slice(0, MOST_NEWS);
    const old = wanted.filter((one) => !news.includes(one));
    const contents = await this.#messages.withContents(account, news, () => true);
    const messages = [
      ...contents.messages,
      ...old.map((one) => (isAgain ? remoteOf(one, folderId) : listedOf(one, folderId))),
    ];
    const { stall } = state;
    const next: FolderState = {
      ...withoutStall(state, read.limit),
      // Until the folder is listed to its end, it may stop at the same message again.
      ...(stall && page.more ? { stall } : {}),
      link: page.link,
      stage: page.more ? state.stage : isAgain ? 'compare' : 'follow',
    };
    const after = { ...cursor, folders: { ...cursor.folders, [folderId]: next } };
    return {
      ...NOTHING,
      cursor: write(after),
      more: true,
      ...(stall && !page.more ? { read: [folderId] } : {}),
      messages,
      failed: contents.failed,
    };
  }

  /** Looks up some of the messages that the mirror has in a folder and Graph has not listed. */
  async #compare(
    account: ProviderAccount,
    cursor: GraphCursor,
    [folderId, state]: [string, FolderState],
    { known }: SyncPassRequest,
  ): Promise<MailChanges> {
    const mirrored = await known(folderId);
    const after = state.compared ?? '';
    const read = await this.#comparison.compare(account, folderId, mirrored, after, idsOf(cursor));
    const put = (next: FolderState) => ({
      ...cursor,
      folders: { ...cursor.folders, [folderId]: next },
    });
    if (read.found === 'stalled') {
      const stalled = put(stalledState(state, this.clock.now().getTime()));
      return { ...NOTHING, ...progressOf(stalled), ...unreadFolder(cursor, folderId, read.error) };
    }
    const { last, found } = read;
    const next: FolderState = {
      ...withoutStall(state, state.limit),
      ...(last === null ? { stage: 'follow' } : { compared: last }),
    };
    const recovered = state.stall ? { read: [folderId] } : {};
    return { ...NOTHING, cursor: write(put(next)), more: true, ...recovered, ...found };
  }
}

const NOTHING = {
  present: true,
  folders: null,
  renamed: [],
  messages: [],
  removed: [],
} as const satisfies Partial<MailChanges>;

/** The cursor, and whether there is more to do now than to wait for folders that cannot be read. */
function progressOf(cursor: Omit<GraphCursor, 'version'>) {
  const isToRead = Object.values(cursor.folders).some((state) => isToList(state, cursor));
  return { cursor: write(cursor), more: cursor.round.length > 0 || isToRead, ...stallOf(cursor) };
}

/** The state after a page was read. @param limit of the next page */
function withoutStall({ link, stage, counts, readAt }: FolderState, limit?: number): FolderState {
  return { link, stage, counts, readAt, ...(limit === undefined ? {} : { limit }) };
}

function write(cursor: Omit<GraphCursor, 'version'>): string {
  return JSON.stringify({ ...cursor, version: 1 });
}

const inTime = (messages: readonly GraphMessage[], { since }: SyncPassRequest) =>
  messages.filter((message) => since === null || receivedAt(message) >= since);

const isNews =
  ({ readAt }: FolderState) =>
  ({ createdDateTime, receivedDateTime }: GraphMessage): boolean =>
    Date.parse(createdDateTime ?? receivedDateTime ?? '') >= readAt - NEWS_MS;

/** Outlook may have changed the draft for a last time before it sent it. */
const isSentSince =
  ({ readAt }: FolderState) =>
  ({ sentDateTime }: GraphMessage): boolean =>
    Date.parse(sentDateTime ?? '') >= readAt - NEWS_MS;

const isReceivedSince = (state: FolderState) => (message: GraphMessage) =>
  isNews(state)(message) && receivedAt(message).getTime() >= state.readAt - NEWS_MS;

const idsOf = ({ folders }: GraphCursor): ReadonlySet<string> => new Set(Object.keys(folders));

async function knownIn(
  folderIds: readonly string[],
  { known }: SyncPassRequest,
): Promise<string[]> {
  const ids: string[] = [];
  for (const id of folderIds) ids.push(...(await known(id)));
  return ids;
}

function digestOf(folders: readonly RemoteFolder[]): string {
  return createHash('sha256').update(JSON.stringify(folders)).digest('base64url');
}
