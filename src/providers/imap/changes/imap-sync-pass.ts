import type { ImapFlow } from 'imapflow';
import type { MailChanges, SyncPassRequest } from '../../port/connector.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import {
  beginFolder,
  findRemovedOfUnseenFolder,
  rereadRecentFlags,
  rereadNextFlags,
  hasChanged,
  inspectFolder,
  isMissing,
  isUnwanted,
  leaveFolder,
  openFolder,
  type OpenFolder,
  spanOf,
  trimmed,
} from './imap-changes-folder.ts';
import {
  digestOf,
  findRenamings,
  inOrder,
  listFolders,
  type ListedFolder,
} from './imap-changes-folders.ts';
import { SyncPassResult } from './imap-sync-pass-result.ts';
import {
  cutTop,
  decodeCursor,
  encodeCursor,
  type FolderState,
  type ImapCursor,
} from './imap-cursor.ts';
import { fetchContents, fetchMetas, fitting, type MessageMeta } from '../messages/imap-fetch.ts';
import type { FatalMessages } from '../messages/imap-fatal-messages.ts';

/** While history is being fetched, only every fourth sync pass checks for new changes. */
const LOOKS_PER_LIST = 4;
/** A new folder with more messages than this counts as history. */
const MOST_FRESH = 500;
/**
 * Messages fetched at once from a folder whose history has not been started, and from all other
 * folders.
 */
const FIRST_PORTION = 25;
const PORTION = 250;
/** Most ranges of UIDs that one sync pass searches without finding a message. */
const MOST_WINDOWS = 10;
/**
 * Number of folders whose first batch must be fetched before the mailbox is usable: the inbox and
 * the next ones in order.
 */
const FIRST_FOLDERS = 3;

const toSeconds = (at: Date) => Math.floor(at.getTime() / 1000);
const isOpenTo = ({ shut }: FolderState) => !shut;
const isUnread = ({ fresh, old }: FolderState) => fresh.length + old.length > 0;

/** One sync pass over a mailbox, on one connection. */
export class MailboxSyncPass {
  readonly #result: SyncPassResult;
  readonly #cursor: ImapCursor;
  readonly #since: number | null;
  /** In the order in which they are processed. */
  #states: Map<string, FolderState>;
  #listed: string;
  #turn: ImapCursor['turn'];
  #open: OpenFolder | null = null;
  /** Folders whose newest messages may have changed flags, on servers without CONDSTORE. */
  readonly #uncounted = new Set<string>();
  /** Whether a folder changed between being listed and being opened. */
  #changedMeanwhile = false;

  constructor(
    private readonly client: ImapFlow,
    private readonly request: SyncPassRequest,
    private readonly fatal: FatalMessages,
  ) {
    this.#cursor = decodeCursor(request.cursor);
    this.#states = new Map(this.#cursor.folders.map((state) => [state.path, state]));
    this.#listed = this.#cursor.listed;
    this.#turn = this.#cursor.turn;
    this.#since = request.since && toSeconds(request.since);
    this.#result = new SyncPassResult(request);
  }

  async run(): Promise<MailChanges> {
    const asks = !this.#isHistoryOnly || this.#cursor.sinceList + 1 >= LOOKS_PER_LIST;
    if (asks) await this.#whatChanged();
    await this.#giveContents();
    const isDone = !this.#any((state) => isUnread(state) || state.scan !== null);
    if (asks && isDone) await this.#readFlagsAgain();
    const isSettled = !asks || (await this.#isSettled());
    // `more` is false only if this sync pass checked for new changes and processed all of them.
    const more = !isDone || !asks || !isSettled;
    // The connection may be unused for a long time now.
    if (!more) await leaveFolder(this.client);
    const sinceList = more && !asks ? this.#cursor.sinceList + 1 : 0;
    const folders = [...this.#states.values()].map((state) => ({
      ...state,
      renewed: state.renewed && isUnread(state),
    }));
    const cursor = {
      folders,
      listed: this.#listed,
      sinceList: isDone && !asks ? LOOKS_PER_LIST : sinceList,
      turn: this.#turn,
    };
    return {
      ...this.#result.changes(),
      cursor: encodeCursor(cursor),
      more,
      present: isSettled && this.#isPresent,
      mayTurnUp: folders.some(({ renewed }) => renewed),
    };
  }

  /**
   * Whether the removals of this sync pass are final. Folders are inspected one after another, so a
   * message that is moved during the pass may look removed before it is seen in its new folder.
   * After a removal the folders are therefore listed again, and none may have changed since its
   * inspection.
   */
  async #isSettled(): Promise<boolean> {
    if (this.#changedMeanwhile || !this.#result.hasRemoved) return !this.#changedMeanwhile;
    await leaveFolder(this.client);
    const folders = await listFolders(this.client);
    return (
      folders.every(({ providerId, status }) => {
        const state = this.#states.get(providerId);
        return state !== undefined && (state.shut || !hasChanged(state, status));
      }) &&
      [...this.#states.keys()].every((path) =>
        folders.some(({ providerId }) => providerId === path),
      )
    );
  }

  /**
   * Marks a folder as inaccessible for this sync pass. This counts as a change only if it was
   * accessible before, because some servers list folders that cannot be opened.
   */
  #shut(state: FolderState): FolderState {
    const before = this.#cursor.folders.find(({ path }) => path === state.path);
    if (!before?.shut) this.#changedMeanwhile = true;
    return { ...state, shut: true };
  }

  #any(test: (state: FolderState) => boolean): boolean {
    return [...this.#states.values()].some((state) => isOpenTo(state) && test(state));
  }

  /** Whether the previous sync pass left only history to fetch. */
  get #isHistoryOnly(): boolean {
    return (
      this.#any(({ old }) => old.length > 0) &&
      !this.#any(({ fresh, scan }) => fresh.length > 0 || scan !== null)
    );
  }

  get #isPresent(): boolean {
    if (this.#any(({ fresh, scan }) => fresh.length > 0 || scan !== null)) return false;
    return [...this.#states.values()]
      .slice(0, FIRST_FOLDERS)
      .every(({ old, reached, shut }) => shut || old.length === 0 || reached !== null);
  }

  async #whatChanged(): Promise<void> {
    await this.fatal.watch([], () => leaveFolder(this.client));
    const folders: ListedFolder[] = [];
    for (const folder of inOrder(await listFolders(this.client))) {
      const isThere = folder.status !== null || !(await isMissing(this.client, folder.providerId));
      if (isThere) folders.push(folder);
    }
    // There is always an inbox. Accepting an empty list would empty the mirror.
    if (folders.length === 0) throw new ProviderError('temporary', 'The server listed no folders');
    const digest = digestOf(folders);
    if (digest !== this.#listed) {
      this.#result.folders = folders.map(({ providerId, name, displayName }) => ({
        providerId,
        name,
        displayName,
      }));
      this.#listed = digest;
    }
    this.#rename(folders);
    const before = this.#states;
    this.#states = new Map();
    const isFirst = before.size === 0;
    for (const folder of folders) {
      const known = before.get(folder.providerId);
      before.delete(folder.providerId);
      const state = await this.#inspect(folder, known, isFirst);
      if (state) this.#states.set(folder.providerId, state);
    }
    for (const path of before.keys()) await this.#removeAll(path);
  }

  #rename(folders: readonly ListedFolder[]): void {
    for (const renaming of findRenamings([...this.#states.values()], folders)) {
      const { from, to } = renaming;
      const state = this.#states.get(from);
      if (!state) continue;
      this.#states.delete(from);
      this.#states.set(to, { ...state, path: to });
      this.#result.rename(renaming);
    }
  }

  /**
   * Finds the changes of a listed folder. If its UIDVALIDITY has changed, no known UID is valid any
   * more: all known messages are removed, and the folder is read like a new one. Contents are
   * fetched only of messages that the mirror does not recognise.
   * @returns `null` if the server refused to open the folder; the next sync pass tries again
   */
  async #inspect(
    { providerId: path, status }: ListedFolder,
    known: FolderState | undefined,
    isFirst: boolean,
  ): Promise<FolderState | null> {
    let state = known && { ...known, shut: false };
    if (state && status && status.uidValidity !== state.uidValidity) {
      await this.#removeAll(path);
      state = undefined;
    }
    if (!state) {
      const found = status ?? (await openFolder(this.client, path));
      const isNew = !isFirst && (found?.messages ?? 0) <= MOST_FRESH;
      const begun = found && beginFolder(path, found, this.#since, { isNew, renewed: !isFirst });
      if (begun && !isFirst) await findRemovedOfUnseenFolder(this.client, begun, this.#result);
      return begun;
    }
    if (state.since !== null && (this.#since === null || this.#since < state.since)) {
      // A longer period is requested than before. Messages that were already returned may come
      // again.
      state = {
        ...state,
        since: this.#since,
        reached: null,
        old: state.next > 1 ? [[1, state.next - 1]] : [],
      };
    }
    const changed = hasChanged(state, status);
    if (changed || path.toUpperCase() === 'INBOX') this.#uncounted.add(path);
    if (!changed) return state;
    return (await inspectFolder(this.client, state, status, this.#result)) ?? this.#shut(state);
  }

  async #removeAll(path: string): Promise<void> {
    for (const { providerId } of await this.#result.known(path)) this.#result.remove(providerId);
  }

  /**
   * Fetches contents: first the recent messages, folder by folder; then history, starting with the
   * folder whose next message is the newest.
   */
  async #giveContents(): Promise<void> {
    for (let windows = 0; windows < MOST_WINDOWS && this.#result.room > 0;) {
      const states = [...this.#states.values()].filter(isOpenTo);
      const state = states.find(({ fresh }) => fresh.length > 0) ?? nextInHistory(states);
      if (!state) return;
      if (!(await this.#giveSome(state, 2 ** windows))) windows += 1;
    }
  }

  /**
   * @param width factor for the number of UIDs to search, relative to the expected number
   * @returns whether any messages were returned
   */
  async #giveSome(state: FolderState, width: number): Promise<boolean> {
    const folder = await this.#openFolder(state.path);
    if (!folder || folder.uidValidity !== state.uidValidity) {
      this.#states.set(state.path, this.#shut(state));
      return false;
    }
    const kind = state.fresh.length > 0 ? 'fresh' : 'old';
    const isBegun = kind === 'fresh' || state.reached !== null || state.since === null;
    const ranges = isBegun ? state[kind] : await trimmed(this.client, state.old, state.since ?? 0);
    const [range] = ranges;
    if (!range) {
      this.#states.set(state.path, { ...state, [kind]: [] });
      return false;
    }
    const wanted = Math.min(this.#result.room, portionOf(state, kind));
    const lo = Math.max(range[0], range[1] - spanOf(folder, wanted) * width + 1);
    const asked = { size: true, messageId: state.renewed } as const;
    const metas = (await fetchMetas(this.client, `${lo}:${range[1]}`, asked))
      .filter(({ uid }) => uid >= lo && uid <= range[1])
      .filter((meta) => !isUnwanted(meta, this.#since));
    const given = await this.#giveMessages(state, metas, wanted);
    const last = given.at(-1);
    const reached = last ? toSeconds(last.receivedAt) : state.reached;
    const rest = cutTop(ranges, last && given.length < metas.length ? last.uid : lo);
    this.#states.set(state.path, {
      ...state,
      [kind]: rest,
      ...(kind === 'old' ? { reached } : {}),
    });
    return given.length > 0;
  }

  async #giveMessages(
    state: FolderState,
    metas: readonly MessageMeta[],
    wanted: number,
  ): Promise<readonly MessageMeta[]> {
    const first = metas.slice(0, wanted);
    const recognised = await this.#result.recognised(first);
    const isNew = ({ uid }: MessageMeta) => !recognised.has(uid);
    const chosen = fitting(
      first.map((meta) => (isNew(meta) ? meta : { ...meta, size: 0 })),
      this.#result.bytes,
    );
    const { contents, bytes, leftAt } = await fetchContents(
      this.client,
      chosen.filter(isNew),
      this.#result.bytes,
      this.fatal,
    );
    this.#result.spend(bytes);
    const given = leftAt === null ? chosen : chosen.filter(({ uid }) => uid > leftAt);
    for (const meta of given) {
      const content = contents.get(meta.uid) ?? null;
      if (content || !isNew(meta)) this.#result.give(state, meta, content, !isNew(meta));
    }
    return given;
  }

  async #openFolder(path: string): Promise<OpenFolder | null> {
    if (this.#open?.path !== path) this.#open = await openFolder(this.client, path);
    return this.#open;
  }

  /**
   * Re-reads flags on servers without CONDSTORE: of the newest messages of some folders, and of all
   * messages in rotation.
   */
  async #readFlagsAgain(): Promise<void> {
    const states = [...this.#states.values()].filter(
      (state) => isOpenTo(state) && state.modseq === null,
    );
    for (const state of states.filter(({ path }) => this.#uncounted.has(path))) {
      const room = Math.floor(this.#result.room / 2);
      if (room > 0) await rereadRecentFlags(this.client, state, this.#result, room);
    }
    const at = Math.max(
      0,
      states.findIndex(({ path }) => path === this.#turn?.path),
    );
    const state = states[at];
    if (!state) this.#turn = null;
    if (!state || this.#result.room <= 0) return;
    const from = this.#turn?.path === state.path ? this.#turn.below : state.next;
    const below = await rereadNextFlags(this.client, state, from, this.#result);
    const next = states[(at + 1) % states.length] ?? state;
    this.#turn =
      below === null ? { path: next.path, below: next.next } : { path: state.path, below };
  }
}

function portionOf({ path, reached }: FolderState, kind: 'fresh' | 'old'): number {
  return kind === 'fresh' || reached !== null || path.toUpperCase() === 'INBOX'
    ? PORTION
    : FIRST_PORTION;
}

/**
 * Folders whose history has not been started come first, in their order. Afterwards comes the
 * folder with the newest remaining message.
 */
function nextInHistory(states: readonly FolderState[]): FolderState | undefined {
  const left = states.filter(({ old }) => old.length > 0);
  return (
    left.find(({ reached }) => reached === null) ??
    left.reduce<FolderState | undefined>(
      (newest, state) => (newest && (newest.reached ?? 0) >= (state.reached ?? 0) ? newest : state),
      undefined,
    )
  );
}
