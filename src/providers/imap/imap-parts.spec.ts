import { describe, expect, it } from '@jest/globals';
import type { MessageStructureObject } from 'imapflow';
import { hasSection, planParts } from './imap-parts.ts';

describe('the parts of a message', () => {
  const leaf = (part: string, type: string, more: Partial<MessageStructureObject> = {}) => ({
    part,
    type,
    ...more,
  });

  it('are texts and files, with a message inside as a file', () => {
    const inside = {
      part: '2',
      type: 'message/rfc822',
      size: 99,
      childNodes: [leaf('2.1', 'text/plain')],
    };
    const structure: MessageStructureObject = {
      type: 'multipart/mixed',
      childNodes: [
        {
          part: '1',
          type: 'multipart/alternative',
          childNodes: [leaf('1.1', 'text/plain'), leaf('1.2', 'text/html')],
        },
        inside,
        leaf('3', 'text/plain', {
          disposition: 'attachment',
          dispositionParameters: { filename: 'a.txt' },
        }),
        leaf('4', 'image/png', {
          id: '<x@y>',
          disposition: 'inline',
          encoding: 'BASE64',
          size: 78,
        }),
      ],
    };
    const { texts, files } = planParts(structure);
    expect(texts.map(({ section }) => section)).toEqual(['1.1', '1.2']);
    expect(files).toMatchObject([
      { section: '2', contentType: 'message/rfc822', size: 99 },
      { section: '3', filename: 'a.txt', contentDisposition: 'attachment' },
      { section: '4', contentId: 'x@y', contentDisposition: 'inline', size: 57 },
    ]);
    expect(['1.2', '2', '2.1', '4'].every((section) => hasSection(structure, section))).toBe(true);
    expect(['5', '1.3', '', 'x'].some((section) => hasSection(structure, section))).toBe(false);
  });

  it('have the section 1 if the message has only one', () => {
    const structure = { type: 'application/pdf' };
    expect(planParts(structure).files).toMatchObject([{ section: '1' }]);
    expect(hasSection(structure, '1')).toBe(true);
  });

  it('are followed and listed up to a limit', () => {
    let deep: MessageStructureObject = leaf('1', 'text/plain');
    for (let level = 0; level < 5_000; level += 1)
      deep = { type: 'multipart/mixed', childNodes: [deep] };
    expect(planParts(deep).texts).toEqual([]);
    const wide = {
      type: 'multipart/mixed',
      childNodes: Array.from({ length: 16_000 }, (_, n) => leaf(`${n + 1}`, 'image/png')),
    };
    expect(planParts(wide).files).toHaveLength(1_000);
  });
});
