/** UIDs from `lo` to `hi`, both included; never empty. */
export type UidRange = readonly [lo: number, hi: number];

/** Sync progress of one folder. */
export interface FolderState {
  /** Path of the folder, as named by the server. */
  path: string;
  uidValidity: string;
  /** Every message below this UID has been returned, or is in `fresh` or `old`. */
  next: number;
  /** Number of messages in the folder when removed messages were last looked for. */
  count: number;
  /** Number of unread messages among them. `null` if the server did not report it. */
  unseen: number | null;
  /**
   * Flag changes up to this MODSEQ have been returned. `null` if the server has no CONDSTORE (RFC
   * 7162).
   */
  modseq: string | null;
  /** Recent messages that have not been returned yet; newest range first. */
  fresh: readonly UidRange[];
  /** History that has not been returned yet; newest range first. */
  old: readonly UidRange[];
  /**
   * When the last returned message of the history was received, in Unix seconds. `null` if none was
   * returned.
   */
  reached: number | null;
  /** Messages received before this Unix second were not requested. `null` if all were. */
  since: number | null;
  /**
   * Flag changes that need several sync passes: changes after MODSEQ `from`, up to `to`, of
   * messages with UIDs below `below`. `null` if there is no such scan.
   */
  scan: { from: string | null; to: string; below: number } | null;
  /**
   * True if the server refuses access to the folder. Its remaining messages are then not waited
   * for.
   */
  shut: boolean;
  /**
   * True until all messages are returned of a folder that is new since the first sync pass, or has
   * another UIDVALIDITY. The mirror may have its messages under other ids.
   */
  renewed: boolean;
}

/** Sync progress of a mailbox. */
export interface ImapCursor {
  folders: readonly FolderState[];
  /** Digest of the list of folders that was returned last. */
  listed: string;
  /** Sync passes since the folders were last listed. */
  sinceList: number;
  /**
   * On servers that do not report flag changes: the folder whose flags are re-read next, from UIDs
   * below `below` downwards.
   */
  turn: { path: string; below: number } | null;
}

const VERSION = 1;

export const EMPTY_CURSOR: ImapCursor = { folders: [], listed: '', sinceList: 0, turn: null };

/**
 * Fields of a folder that are stored unchanged, in this order; `scan`, `shut` and `renewed` follow.
 */
const PLAIN = [
  'path',
  'uidValidity',
  'next',
  'count',
  'unseen',
  'modseq',
  'fresh',
  'old',
  'reached',
  'since',
] as const satisfies readonly (keyof FolderState)[];

const pack = (state: FolderState): unknown[] => [
  ...PLAIN.map((name) => state[name]),
  state.scan && [state.scan.from, state.scan.to, state.scan.below],
  state.shut ? 1 : 0,
  state.renewed ? 1 : 0,
];

function unpack(packed: readonly unknown[]): FolderState {
  const [scan, shut, renewed] = packed.slice(PLAIN.length) as [
    [string | null, string, number] | null,
    0 | 1,
    (0 | 1)?,
  ];
  return {
    ...(Object.fromEntries(PLAIN.map((name, index) => [name, packed[index]])) as Omit<
      FolderState,
      'scan' | 'shut' | 'renewed'
    >),
    scan: scan && { from: scan[0], to: scan[1], below: scan[2] },
    shut: shut === 1,
    renewed: renewed === 1,
  };
}

/** The cursor as JSON with a version, about a hundred bytes per folder. */
export function encodeCursor({ folders, listed, sinceList, turn }: ImapCursor): string {
  return JSON.stringify({ v: VERSION, l: listed, n: sinceList, t: turn, f: folders.map(pack) });
}

/**
 * Reads a cursor. An unreadable cursor, or one of another version, counts as none: the mailbox is
 * synchronised from the beginning.
 */
export function decodeCursor(text: string | null): ImapCursor {
  if (text === null) return EMPTY_CURSOR;
  try {
    const { v, l, n, t, f } = JSON.parse(text) as {
      v: number;
      l: string;
      n: number;
      t: ImapCursor['turn'];
      f: unknown[][];
    };
    if (v !== VERSION) return EMPTY_CURSOR;
    return { listed: l, sinceList: n, turn: t, folders: f.map(unpack) };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return EMPTY_CURSOR;
    throw error;
  }
}

export const isWithin = (ranges: readonly UidRange[], uid: number): boolean =>
  ranges.some(([lo, hi]) => uid >= lo && uid <= hi);

/** The ranges without the UIDs from `from` upwards in the first range. */
export function cutTop([first, ...rest]: readonly UidRange[], from: number): readonly UidRange[] {
  if (!first) return [];
  const [lo, hi] = first;
  const top = Math.min(hi, from - 1);
  return top < lo ? rest : [[lo, top], ...rest];
}

export interface MessageLocation {
  path: string;
  uidValidity: string;
  uid: number;
}

/** The common beginning of the `providerId`s of a folder's messages. */
export const messagePrefix = (path: string): string => `${path};`;

/** `providerId` of a message: path of its folder, UIDVALIDITY and UID, separated by semicolons. */
export const messageId = ({ path, uidValidity, uid }: MessageLocation): string =>
  `${messagePrefix(path)}${uidValidity};${uid}`;

const MESSAGE_ID = /^([^]*);(\d+);(\d+)$/;

/**
 * Reads a `providerId`. It is matched from the end, because a path may contain any character.
 * `null` if the text is not one.
 */
export function parseMessageId(providerId: string): MessageLocation | null {
  const [, path, uidValidity, uid] = MESSAGE_ID.exec(providerId) ?? [];
  if (!path || uidValidity === undefined || uid === undefined) return null;
  return { path, uidValidity, uid: Number(uid) };
}

const MOST_IN_SET = 200;

/** Writes UIDs as IMAP sets (`1:4,9`), split so that each fits in a command line. */
export function uidSets(uids: readonly number[]): string[] {
  const sorted = [...new Set(uids)].sort((a, b) => a - b);
  const runs: [number, number][] = [];
  for (const uid of sorted) {
    const last = runs.at(-1);
    if (last && last[1] + 1 === uid) last[1] = uid;
    else runs.push([uid, uid]);
  }
  const sets: string[] = [];
  for (let index = 0; index < runs.length; index += MOST_IN_SET) {
    const part = runs.slice(index, index + MOST_IN_SET);
    sets.push(part.map(([lo, hi]) => (lo === hi ? `${lo}` : `${lo}:${hi}`)).join(','));
  }
  return sets;
}
