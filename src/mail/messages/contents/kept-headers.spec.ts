import { keptHeaders } from './kept-headers.ts';

describe('kept header lines', () => {
  it('are the fields that the categories of messages depend on, with their continuation lines', () => {
    const block = [
      'Received: from a by b;',
      '\tMon, 1 Jan 2026 10:00:00 +0000',
      'LIST-UNSUBSCRIBE: <mailto:out@lists.test>,',
      ' <https://lists.test/out>',
      'Subject: Precedence: bulk',
      'Precedence: bulk',
      'X-List-Name: a',
      'X-Mailchimp-Id: 7',
      '',
      '',
    ].join('\r\n');
    expect(keptHeaders(block).split('\n')).toEqual([
      'LIST-UNSUBSCRIBE: <mailto:out@lists.test>,',
      ' <https://lists.test/out>',
      'Precedence: bulk',
      'X-List-Name: a',
      'X-Mailchimp-Id: 7',
    ]);
  });

  it.each([
    ['an empty block', ''],
    ['lines without a name', ': a\nno colon\n b\n'],
    ['continuation lines without a field', ' Precedence: bulk\n\tList-Id: x'],
  ])('are none of %s', (_what, block) => {
    expect(keptHeaders(block)).toBe('');
  });

  it('stay the same if they are chosen again', () => {
    const kept = keptHeaders('List-Id: a\n b\nTo: c\nprecedence: list');
    expect(kept).toBe('List-Id: a\n b\nprecedence: list');
    expect(keptHeaders(kept)).toBe(kept);
  });
});
