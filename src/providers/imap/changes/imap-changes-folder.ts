import type { ExpungeEvent, ImapFlow, MailboxObject } from 'imapflow';
import { answerOf, takeVanishedLeftOut } from '../sessions/imap-connection.ts';
import { type FolderState, isWithin, messageId, type UidRange } from './imap-cursor.ts';
import { isImapRefusal, toImapError } from '../imap-error.ts';
import type { FolderStatus } from './imap-changes-folders.ts';
import type { SyncPassResult } from './imap-sync-pass-result.ts';
import { fetchMetas, type MessageMeta } from '../messages/imap-fetch.ts';
import { searchUids } from '../messages/imap-search.ts';

/**
 * Number of newest messages whose flags are re-read in each sync pass, on servers without CONDSTORE
 * (RFC 7162).
 */
const RECENT = 200;

/** Highest number of messages whose changes are requested with one command. */
const MOST_AT_ONCE = 50_000;

/** An open folder, with its status when it was opened. */
export interface OpenFolder extends FolderStatus {
  path: string;
}

/**
 * Opens a folder for reading. A folder that is already open is opened again, to get its current
 * status.
 * @returns `null` if the server refuses to open it
 */
export async function openFolder(client: ImapFlow, path: string): Promise<OpenFolder | null> {
  let mailbox: MailboxObject;
  try {
    mailbox = await client.mailboxOpen(path, { readOnly: true });
  } catch (error) {
    if (isImapRefusal(error)) return null;
    throw error;
  }
  const { uidValidity, uidNext, exists, highestModseq, noModseq } = mailbox;
  const modseq =
    client.enabled.has('CONDSTORE') && !noModseq && highestModseq ? highestModseq.toString() : null;
  const opened = {
    path,
    uidValidity: (uidValidity ?? 0n).toString(),
    messages: exists,
    unseen: null,
    modseq,
  };
  // RFC 3501 requires UIDNEXT, but a server without it must not block the whole mailbox.
  if (uidNext) return { ...opened, uidNext };
  const [last] = exists === 0 ? [] : await fetchMetas(client, `${exists}`, { uid: false });
  return { ...opened, uidNext: (last?.uid ?? 0) + 1 };
}

/**
 * Whether a listed folder does not exist. Servers list such a folder if it was deleted while
 * folders inside it remain.
 */
export async function isMissing(client: ImapFlow, path: string): Promise<boolean> {
  try {
    await client.mailboxOpen(path, { readOnly: true });
    return false;
  } catch (error) {
    if (isImapRefusal(error))
      return toImapError(error, { stage: 'command', secrets: [] }).code === 'not-found';
    throw error;
  }
}

/**
 * Closes the open folder, if there is one. Servers report the current status of other folders, but
 * of the open folder only its status at opening; and some close the connection when the open folder
 * is renamed. A folder that is open for writing is first replaced by the inbox, opened for reading:
 * closing it directly would delete messages marked as deleted (RFC 9051 section 6.4.1).
 */
export async function leaveFolder(client: ImapFlow): Promise<void> {
  if (!client.mailbox) return;
  if (client.mailbox.readOnly !== true) await client.mailboxOpen('INBOX', { readOnly: true });
  await answerOf(client, client.mailboxClose());
}

/**
 * The initial state of a folder that no sync pass has seen.
 * @param isNew true if its messages count as recent, false if they are history
 * @param renewed see `FolderState`
 */
export function beginFolder(
  path: string,
  status: FolderStatus,
  since: number | null,
  { isNew, renewed }: { isNew: boolean; renewed: boolean },
): FolderState {
  const { uidValidity, uidNext, messages, unseen, modseq } = status;
  const all: readonly UidRange[] = messages > 0 && uidNext > 1 ? [[1, uidNext - 1]] : [];
  return {
    path,
    uidValidity,
    next: uidNext,
    count: messages,
    unseen,
    modseq,
    fresh: isNew ? all : [],
    old: isNew ? [] : all,
    reached: null,
    since,
    scan: null,
    shut: false,
    renewed: renewed && all.length > 0,
  };
}

/** Whether STATUS reports anything that has not been processed. */
export function hasChanged(state: FolderState, status: FolderStatus | null): boolean {
  if (!status || state.scan) return true;
  return (
    status.uidValidity !== state.uidValidity ||
    status.uidNext !== state.next ||
    status.messages !== state.count ||
    status.modseq !== state.modseq ||
    (status.modseq === null && status.unseen !== state.unseen)
  );
}

/**
 * Finds the changes in a folder. New messages are only noted in the returned state; removals and
 * flag changes go to `result` as far as the batch has capacity. Nothing beyond the status at
 * opening is recorded as seen, so the next sync pass finds later changes.
 * @param status the folder's STATUS response
 * @returns `null` if the server refuses to open the folder, or if its UIDVALIDITY changed since
 *   the folders were listed
 */
export async function inspectFolder(
  client: ImapFlow,
  state: FolderState,
  status: FolderStatus | null,
  result: SyncPassResult,
): Promise<FolderState | null> {
  const folder = await openFolder(client, state.path);
  if (folder?.uidValidity !== state.uidValidity) return null;
  const arrivals: readonly UidRange[] =
    folder.uidNext > state.next ? [[state.next, folder.uidNext - 1]] : [];
  const came =
    folder.uidNext > state.next ? await countOf(client, state.next, folder.uidNext - 1) : 0;
  const seen = await giveFlags(client, state, folder, result);
  // Servers do not report messages that arrived and were removed between two sync passes. The
  // mirror may still know such a message, if Carillon stored it.
  const isShort = came < Math.max(folder.uidNext - state.next, 0);
  if (isShort || (!seen.vanishedReported && folder.messages - came !== state.count))
    await giveRemovals(client, state, folder, result);
  return {
    ...state,
    next: Math.max(folder.uidNext, state.next),
    count: folder.messages,
    unseen: status?.unseen ?? null,
    modseq: seen.modseq,
    scan: seen.scan,
    fresh: [...arrivals, ...state.fresh],
  };
}

interface Seen {
  modseq: string | null;
  scan: FolderState['scan'];
  /** Whether the server reported the removed messages (VANISHED, RFC 7162). */
  vanishedReported: boolean;
}

/** Returns messages whose flags changed. */
async function giveFlags(
  client: ImapFlow,
  state: FolderState,
  folder: OpenFolder,
  result: SyncPassResult,
): Promise<Seen> {
  if (folder.modseq === null) return { modseq: null, scan: null, vanishedReported: false };
  const scan = state.scan ?? {
    from: knownModseq(state, folder.modseq),
    to: folder.modseq,
    below: state.next,
  };
  if (scan.from === folder.modseq)
    return { modseq: folder.modseq, scan: null, vanishedReported: false };
  const reportsVanished =
    client.enabled.has('QRESYNC') && scan.from !== null && state.scan === null;
  const vanished = (event: ExpungeEvent) => {
    const { uid, vanished } = event;
    if (!vanished || uid === undefined || isPending(state, uid) || uid >= state.next) return;
    result.remove(messageId({ ...state, uid }));
  };
  client.on('expunge', vanished);
  try {
    takeVanishedLeftOut(client);
    const below = await giveScan(client, state, folder, scan, result);
    const vanishedReported = reportsVanished && !takeVanishedLeftOut(client);
    if (below === null) return { modseq: scan.to, scan: null, vanishedReported };
    return { modseq: state.modseq, scan: { ...scan, below }, vanishedReported };
  } finally {
    client.off('expunge', vanished);
  }
}

/**
 * The MODSEQ to continue from. `null` if it is too high for this server: a server restored from a
 * backup counts from an earlier number.
 */
function knownModseq({ modseq }: FolderState, present: string): string | null {
  return modseq !== null && BigInt(modseq) <= BigInt(present) ? modseq : null;
}

/**
 * Returns the messages whose flags changed, newest first. The first request covers up to about
 * 50,000 messages. A scan that continues from the previous sync pass, or has no MODSEQ to start
 * from, begins with smaller parts.
 * @returns the UID to continue below, or `null` if all changes were returned
 */
async function giveScan(
  client: ImapFlow,
  state: FolderState,
  folder: OpenFolder,
  { from, below }: NonNullable<FolderState['scan']>,
  result: SyncPassResult,
): Promise<number | null> {
  let hi = below - 1;
  let span = state.scan || from === null ? result.room * 4 : spanOf(folder, MOST_AT_ONCE);
  while (hi >= 1) {
    if (result.room <= 0) return hi + 1;
    const lo = Math.max(1, hi - span + 1);
    const since = from === null ? {} : { changedSince: BigInt(from) };
    const changed = await fetchMetas(client, `${lo}:${hi}`, since);
    const rest = giveEach(state, changed, result, result.room);
    if (rest !== null) return rest + 1;
    hi = lo - 1;
    span = Math.min(span * 4, spanOf(folder, MOST_AT_ONCE));
  }
  return null;
}

/** @returns the UID of the first message that did not fit in the batch, or `null` if all fitted */
function giveEach(
  state: FolderState,
  metas: readonly MessageMeta[],
  result: SyncPassResult,
  room: number,
): number | null {
  let left = room;
  for (const meta of metas) {
    if (meta.uid >= state.next || isPending(state, meta.uid) || isUnwanted(meta, state.since))
      continue;
    if (left <= 0) return meta.uid;
    left -= 1;
    result.give(state, meta, null);
  }
  return null;
}

/**
 * Re-reads the flags of a folder's newest messages, on a server that does not report flag changes.
 * @param room highest number of messages
 */
export async function rereadRecentFlags(
  client: ImapFlow,
  state: FolderState,
  result: SyncPassResult,
  room: number,
): Promise<void> {
  const folder = await openFolder(client, state.path);
  if (!folder || folder.uidValidity !== state.uidValidity || folder.messages === 0) return;
  const first = Math.max(1, folder.messages - Math.min(RECENT, room) + 1);
  giveEach(state, await fetchMetas(client, `${first}:*`, { uid: false }), result, room);
}

/**
 * Re-reads the flags of one batch of messages, on a server that does not report flag changes.
 * @param below the batch consists of UIDs below this one
 * @returns the UID to continue below, or `null` at the end of the folder
 */
export async function rereadNextFlags(
  client: ImapFlow,
  state: FolderState,
  below: number,
  result: SyncPassResult,
): Promise<number | null> {
  const folder = await openFolder(client, state.path);
  if (!folder || folder.uidValidity !== state.uidValidity) return null;
  const hi = Math.min(below, state.next) - 1;
  if (hi < 1) return null;
  const lo = Math.max(1, hi - spanOf(folder, result.room) + 1);
  const rest = giveEach(state, await fetchMetas(client, `${lo}:${hi}`), result, result.room);
  if (rest !== null) return rest + 1;
  return lo > 1 ? lo : null;
}

/** Estimates how many UIDs contain the wanted number of messages. */
export function spanOf({ uidNext, messages }: FolderStatus, wanted: number): number {
  return Math.ceil(Math.max(wanted, 1) * Math.max(1, uidNext / Math.max(messages, 1)));
}

const isPending = ({ fresh, old }: FolderState, uid: number) =>
  isWithin(fresh, uid) || isWithin(old, uid);

/** Whether a message was received before the requested period. */
export const isUnwanted = ({ receivedAt }: MessageMeta, since: number | null): boolean =>
  since !== null && receivedAt.getTime() < since * 1000;

/**
 * Reports removed messages of a folder that no sync pass has seen, if Carillon itself stored
 * messages there.
 */
export async function findRemovedOfUnseenFolder(
  client: ImapFlow,
  state: FolderState,
  result: SyncPassResult,
): Promise<void> {
  if ((await result.known(state.path)).length === 0) return;
  const folder = await openFolder(client, state.path);
  if (folder?.uidValidity === state.uidValidity) await giveRemovals(client, state, folder, result);
}

/**
 * Finds removed messages by comparing the folder with the mirror. Used when the counts show that
 * something was removed.
 */
async function giveRemovals(
  client: ImapFlow,
  state: FolderState,
  folder: OpenFolder,
  result: SyncPassResult,
): Promise<void> {
  const ranges = folder.messages === 0 ? [] : await searchUids(client, { all: true });
  for (const { providerId, uidValidity, uid } of await result.known(state.path)) {
    // This message arrived after the folder was opened. The mirror already knows it, because it was
    // moved here through the API.
    if (uidValidity === state.uidValidity && uid >= folder.uidNext) continue;
    if (uidValidity !== state.uidValidity || !isWithinSorted(ranges, uid))
      result.remove(providerId);
  }
}

async function countOf(client: ImapFlow, lo: number, hi: number): Promise<number> {
  const found = await answerOf(
    client,
    client.search({ uid: `${lo}:${hi}` }, { uid: true, returnOptions: ['COUNT'] }),
  );
  return Array.isArray(found) ? found.length : (found.count ?? 0);
}

function isWithinSorted(ranges: readonly UidRange[], uid: number): boolean {
  let [from, to] = [0, ranges.length - 1];
  while (from <= to) {
    const middle = (from + to) >> 1;
    const [lo, hi] = ranges[middle] as UidRange;
    if (uid < lo) to = middle - 1;
    else if (uid > hi) from = middle + 1;
    else return true;
  }
  return false;
}

/**
 * The ranges without the UIDs below the first message of the requested period.
 * @param since Unix seconds
 */
export async function trimmed(
  client: ImapFlow,
  ranges: readonly UidRange[],
  since: number,
): Promise<readonly UidRange[]> {
  const uid = ranges.map(([lo, hi]) => `${lo}:${hi}`).join(',');
  // Servers compare days, in their own time zone.
  const day = new Date((since - 2 * 86_400) * 1000);
  const found = await answerOf(
    client,
    client.search({ uid, since: day }, { uid: true, returnOptions: ['MIN'] }),
  );
  const min = Array.isArray(found) ? found[0] : found.min;
  if (!min) return [];
  return ranges.flatMap(([lo, hi]): UidRange[] => (hi < min ? [] : [[Math.max(lo, min), hi]]));
}
