import { describe, expect, it } from '@jest/globals';
import type { MessageStructureObject } from 'imapflow';
import { readStoredPart } from '../../../formats/mime/reading/stored-part.ts';
import { nodeAt, planParts } from './imap-parts.ts';

describe('the parts of a large message', () => {
  const leaf = (part: string, type: string, more: Partial<MessageStructureObject> = {}) => ({
    part,
    type,
    size: 10,
    ...more,
  });
  const structure: MessageStructureObject = {
    type: 'multipart/mixed',
    childNodes: [
      {
        part: '1',
        type: 'multipart/alternative',
        childNodes: [leaf('1.1', 'text/plain'), leaf('1.2', 'text/html')],
      },
      { ...leaf('2', 'message/rfc822'), childNodes: [leaf('2.1', 'text/plain')] },
      leaf('3', 'text/plain', {
        disposition: 'attachment',
        dispositionParameters: { filename: 'a "b".txt' },
      }),
      leaf('4', 'text/calendar'),
      leaf('5', 'image/png', { id: '<x@y>', encoding: 'BASE64', size: 78 }),
    ],
  };

  it('are fetched if they may be texts or calendars, and a message inside counts as one part', () => {
    const { root, leaves, wanted } = planParts(structure, Buffer.from('Subject: x\r\n'));
    expect(leaves.map(({ section }) => section)).toEqual(['1.1', '1.2', '2', '3', '4', '5']);
    expect([...wanted].map(([{ section }]) => section)).toEqual(['1.1', '1.2', '4']);
    expect(readStoredPart(root).children?.slice(2)).toMatchObject([
      { section: '3', filename: 'a "b".txt', disposition: 'attachment' },
      { section: '4', type: 'text/calendar' },
      { section: '5', contentId: 'x@y', encoding: 'base64', size: 57 },
    ]);
  });

  it('are found by their section, and 1 is the section of the only part', () => {
    const known = ['1.2', '2', '2.1', '5'].map((section) => nodeAt(structure, section)?.part);
    expect(known).toEqual(['1.2', '2', '2.1', '5']);
    expect(['6', '1.3', '', 'x'].map((section) => nodeAt(structure, section))).toEqual(
      Array.from({ length: 4 }, () => undefined),
    );
    expect(nodeAt({ type: 'application/pdf' }, '1')).toEqual({ type: 'application/pdf' });
  });

  it('are followed and listed up to a limit', () => {
    let deep: MessageStructureObject = leaf('1', 'text/plain');
    for (let level = 0; level < 5_000; level += 1)
      deep = { type: 'multipart/mixed', childNodes: [deep] };
    expect(planParts(deep, Buffer.alloc(0)).wanted.size).toBe(0);
    const wide = {
      type: 'multipart/mixed',
      childNodes: Array.from({ length: 16_000 }, (_, n) => leaf(`${n + 1}`, 'text/plain')),
    };
    const { leaves, wanted } = planParts(wide, Buffer.alloc(0));
    expect([leaves.length, wanted.size]).toEqual([2_000, 500]);
  });
});
