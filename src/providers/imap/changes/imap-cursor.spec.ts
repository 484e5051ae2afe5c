import { describe, expect, it } from '@jest/globals';
import {
  cutTop,
  decodeCursor,
  EMPTY_CURSOR,
  encodeCursor,
  type FolderState,
  isWithin,
  messageId,
  parseMessageId,
  uidSets,
} from './imap-cursor.ts';

const state: FolderState = {
  path: 'Grüße;1;2',
  uidValidity: '4294967295',
  next: 12,
  count: 9,
  unseen: null,
  modseq: '18446744073709551615',
  fresh: [[10, 11]],
  old: [[1, 4]],
  reached: 1_700_000_000,
  since: null,
  scan: { from: '1', to: '2', below: 7 },
  shut: true,
  renewed: true,
};

describe('a cursor', () => {
  it('is the same after encoding and decoding', () => {
    const cursor = {
      folders: [state, { ...state, path: 'INBOX', scan: null, shut: false, renewed: false }],
      listed: 'x',
      sinceList: 3,
      turn: { path: 'a', below: 5 },
    };
    expect(decodeCursor(encodeCursor(cursor))).toEqual(cursor);
  });

  it('is read if an earlier version has stored it, which did not know of renewed folders', () => {
    const cursor = { folders: [state], listed: 'x', sinceList: 3, turn: null };
    const stored = JSON.parse(encodeCursor(cursor)) as { f: unknown[][] };
    for (const folder of stored.f) folder.pop();
    expect(decodeCursor(JSON.stringify(stored)).folders).toEqual([{ ...state, renewed: false }]);
  });

  it.each([null, '', 'nonsense', '7', 'null', '{"v":2}', '{"v":1}'])(
    'starts from the beginning if it is %s',
    (text) => {
      expect(decodeCursor(text)).toEqual(EMPTY_CURSOR);
    },
  );
});

describe('a message id', () => {
  it.each(['INBOX', 'a;b', 'a;1;2', ';', 'line\nbreak'])(
    'leads back to folder and UID for %j',
    (path) => {
      const place = { path, uidValidity: '7', uid: 9 };
      expect(parseMessageId(messageId(place))).toEqual(place);
    },
  );

  it.each(['', 'INBOX', 'INBOX;1', ';1;2', 'INBOX;1;x', 'INBOX;-1;2', 'INBOX;1;2 '])(
    'does not accept %j',
    (id) => {
      expect(parseMessageId(id)).toBeNull();
    },
  );
});

describe('ranges', () => {
  it('lose their top, or the whole first range', () => {
    expect(
      cutTop(
        [
          [5, 9],
          [1, 2],
        ],
        7,
      ),
    ).toEqual([
      [5, 6],
      [1, 2],
    ]);
    expect(
      cutTop(
        [
          [5, 9],
          [1, 2],
        ],
        5,
      ),
    ).toEqual([[1, 2]]);
    expect(cutTop([], 5)).toEqual([]);
  });

  it('report the UIDs they contain', () => {
    const ranges = [
      [5, 9],
      [1, 2],
    ] as const;
    expect([1, 2, 3, 4, 5, 9, 10].filter((uid) => isWithin(ranges, uid))).toEqual([1, 2, 5, 9]);
  });
});

describe('sets of UIDs', () => {
  it('join consecutive UIDs', () => {
    expect(uidSets([3, 1, 2, 9, 7, 7, 8, 20])).toEqual(['1:3,7:9,20']);
    expect(uidSets([])).toEqual([]);
  });

  it('are split if one would not fit in a line', () => {
    const sets = uidSets(Array.from({ length: 1_000 }, (_, n) => 2 * n + 4_000_000_000));
    expect(sets).toHaveLength(5);
    expect(sets.every((set) => set.length < 8_000)).toBe(true);
  });
});
