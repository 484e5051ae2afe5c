import { describe, expect, it } from '@jest/globals';
import { beginFolder } from './imap-changes-folder.ts';
import { digestOf, findRenamings, inOrder, type ListedFolder } from './imap-changes-folders.ts';

const status = (uidValidity: string, uidNext = 10) => {
  return { uidValidity, uidNext, messages: 3, unseen: null, modseq: null };
};
const listed = (path: string, uidValidity: string | null, uidNext = 10): ListedFolder => ({
  providerId: path,
  name: null,
  displayName: path,
  status: uidValidity === null ? null : status(uidValidity, uidNext),
});
const known = (path: string, uidValidity: string, uidNext = 10) =>
  beginFolder(path, status(uidValidity, uidNext), null, false);

describe('a renamed folder', () => {
  it('is one that is gone, and one that is new and can be it', () => {
    expect(
      findRenamings([known('A', '1'), known('B', '2')], [listed('B', '2'), listed('C', '1', 12)]),
    ).toEqual([{ from: 'A', to: 'C' }]);
  });

  it.each([
    ['another UIDVALIDITY', [listed('C', '3')]],
    ['fewer UIDs given out', [listed('C', '1', 9)]],
    ['nothing known of it', [listed('C', null)]],
    ['two that could be it', [listed('C', '1'), listed('D', '1')]],
    ['still there', [listed('A', '1'), listed('C', '1')]],
    ['still there, as far as anybody knows', [listed('A', null), listed('C', '1')]],
  ])('is none: %s', (_, folders) => {
    expect(findRenamings([known('A', '1')], folders)).toEqual([]);
  });

  it('is none when two that are gone could have become it', () => {
    expect(findRenamings([known('A', '1'), known('B', '1')], [listed('C', '1')])).toEqual([]);
  });

  it('is recognised when another has taken its name', () => {
    expect(findRenamings([known('A', '1')], [listed('A', '2'), listed('B', '1')])).toEqual([
      { from: 'A', to: 'B' },
    ]);
  });

  it('is told after the one whose name it takes', () => {
    expect(
      findRenamings([known('A', '1'), known('B', '2')], [listed('B', '1'), listed('C', '2')]),
    ).toEqual([
      { from: 'B', to: 'C' },
      { from: 'A', to: 'B' },
    ]);
  });

  it('is none when names were exchanged, for which there is no order', () => {
    expect(
      findRenamings([known('A', '1'), known('B', '2')], [listed('A', '2'), listed('B', '1')]),
    ).toEqual([]);
  });
});

describe('a list of folders', () => {
  it('is the same in any order', () => {
    const [a, b] = [listed('A', '1'), listed('B', '2')];
    expect(digestOf([a, b])).toBe(digestOf([b, a]));
    expect(digestOf([a, b])).not.toBe(digestOf([a, { ...b, displayName: 'b' }]));
  });

  it('begins with what people look at first', () => {
    const folder = (path: string, name: string | null) => ({ ...listed(path, '1'), name });
    const folders = [
      folder('Z', null),
      folder('D', 'drafts'),
      folder('S', 'sent'),
      folder('INBOX', 'inbox'),
      folder('T', 'trash'),
    ];
    expect(inOrder(folders).map(({ providerId }) => providerId)).toEqual([
      'INBOX',
      'S',
      'D',
      'Z',
      'T',
    ]);
  });
});
