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
  beginFolder(path, status(uidValidity, uidNext), null, { isNew: false, renewed: false });

describe('a renamed folder', () => {
  it('is found when one folder disappears and a matching new one appears', () => {
    expect(
      findRenamings([known('A', '1'), known('B', '2')], [listed('B', '2'), listed('C', '1', 12)]),
    ).toEqual([{ from: 'A', to: 'C' }]);
  });

  it.each([
    ['another UIDVALIDITY', [listed('C', '3')]],
    ['a lower UIDNEXT', [listed('C', '1', 9)]],
    ['no status', [listed('C', null)]],
    ['two matching folders', [listed('C', '1'), listed('D', '1')]],
    ['an old folder that still exists', [listed('A', '1'), listed('C', '1')]],
    ['an old folder that may still exist', [listed('A', null), listed('C', '1')]],
  ])('is not found with %s', (_, folders) => {
    expect(findRenamings([known('A', '1')], folders)).toEqual([]);
  });

  it('is not found if two folders that disappeared match', () => {
    expect(findRenamings([known('A', '1'), known('B', '1')], [listed('C', '1')])).toEqual([]);
  });

  it('is found if another folder has taken its name', () => {
    expect(findRenamings([known('A', '1')], [listed('A', '2'), listed('B', '1')])).toEqual([
      { from: 'A', to: 'B' },
    ]);
  });

  it('is reported after the renaming that frees its new name', () => {
    expect(
      findRenamings([known('A', '1'), known('B', '2')], [listed('B', '1'), listed('C', '2')]),
    ).toEqual([
      { from: 'B', to: 'C' },
      { from: 'A', to: 'B' },
    ]);
  });

  it('is not found if names were exchanged, because no order is safe', () => {
    expect(
      findRenamings([known('A', '1'), known('B', '2')], [listed('A', '2'), listed('B', '1')]),
    ).toEqual([]);
  });
});

describe('a list of folders', () => {
  it('has the same digest in any order', () => {
    const [a, b] = [listed('A', '1'), listed('B', '2')];
    expect(digestOf([a, b])).toBe(digestOf([b, a]));
    expect(digestOf([a, b])).not.toBe(digestOf([a, { ...b, displayName: 'b' }]));
  });

  it('starts with the folders that users open first', () => {
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
