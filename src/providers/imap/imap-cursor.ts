/** UIDs from `lo` to `hi`, both included; never empty. */
export type UidRange = readonly [lo: number, hi: number];

/** What has been looked at of a folder. */
export interface FolderState {
  /** As the server names it. */
  path: string;
  uidValidity: string;
  /** Every message below this UID has been given, or is in `fresh` or `old`. */
  next: number;
  /** Messages the folder had, when the last one that is gone was looked for. */
  count: number;
  /** Unread ones among them; null: the server did not say. */
  unseen: number | null;
  /** Changes of flags up to here have been given; null: the server keeps no count of changes (RFC 7162). */
  modseq: string | null;
  /** Messages that came lately and have not been given yet; newest range first. */
  fresh: readonly UidRange[];
  /** History that has not been given yet; newest range first. */
  old: readonly UidRange[];
  /** When the message was received that was given last of the history, in Unix seconds; null: none was. */
  reached: number | null;
  /** Messages received before this Unix second were not wanted; null: all were. */
  since: number | null;
  /** Changed flags that are given over several looks: those since `from` of messages below `below`, up to `to`. */
  scan: { from: string | null; to: string; below: number } | null;
  /** The server does not let us in, so what is left of it does not count. */
  shut: boolean;
}

/** What has been looked at of a mailbox. */
export interface ImapCursor {
  folders: readonly FolderState[];
  /** Of the list of folders that was given last. */
  listed: string;
  /** Looks since it was asked what is new. */
  sinceList: number;
  /** Where the turn is at whose flags are read again, on servers that do not tell what changed. */
  turn: { path: string; below: number } | null;
}

const VERSION = 1;

export const EMPTY_CURSOR: ImapCursor = { folders: [], listed: '', sinceList: 0, turn: null };

/** What is stored of a folder as it is, in this order; `scan` and `shut` come behind it. */
const PLAIN = [
  'path', 'uidValidity', 'next', 'count', 'unseen', 'modseq', 'fresh', 'old', 'reached', 'since',
] as const satisfies readonly (keyof FolderState)[]; // prettier-ignore

const pack = (state: FolderState): unknown[] => [
  ...PLAIN.map((name) => state[name]),
  state.scan && [state.scan.from, state.scan.to, state.scan.below],
  state.shut ? 1 : 0,
];

function unpack(packed: readonly unknown[]): FolderState {
  const [scan, shut] = packed.slice(PLAIN.length) as [
    [string | null, string, number] | null,
    0 | 1,
  ];
  return {
    ...(Object.fromEntries(PLAIN.map((name, index) => [name, packed[index]])) as Omit<
      FolderState,
      'scan' | 'shut'
    >),
    scan: scan && { from: scan[0], to: scan[1], below: scan[2] },
    shut: shut === 1,
  };
}

/** JSON with its version, about a hundred bytes a folder. */
export function encodeCursor({ folders, listed, sinceList, turn }: ImapCursor): string {
  return JSON.stringify({ v: VERSION, l: listed, n: sinceList, t: turn, f: folders.map(pack) });
}

/** A cursor that nobody knows, or of another version, is as none: the mailbox is given from its beginning. */
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

/** The ranges without everything from `from` upwards in the first of them. */
export function cutTop([first, ...rest]: readonly UidRange[], from: number): readonly UidRange[] {
  if (!first) return [];
  const [lo, hi] = first;
  const top = Math.min(hi, from - 1);
  return top < lo ? rest : [[lo, top], ...rest];
}

export interface MessagePlace {
  path: string;
  uidValidity: string;
  uid: number;
}

/** What the `providerId`s of a folder's messages begin with. */
export const messagePrefix = (path: string): string => `${path};`;

/** `providerId` of a message: its folder's path, UIDVALIDITY and UID, with semicolons between. */
export const messageId = ({ path, uidValidity, uid }: MessagePlace): string =>
  `${messagePrefix(path)}${uidValidity};${uid}`;

const MESSAGE_ID = /^([^]*);(\d+);(\d+)$/;

/** Reads a `providerId` from its end, because a path may contain anything; null: it is none. */
export function parseMessageId(providerId: string): MessagePlace | null {
  const [, path, uidValidity, uid] = MESSAGE_ID.exec(providerId) ?? [];
  if (!path || uidValidity === undefined || uid === undefined) return null;
  return { path, uidValidity, uid: Number(uid) };
}

const MOST_IN_SET = 200;

/** UIDs as IMAP writes sets of them (`1:4,9`), in sets that fit a line. */
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
