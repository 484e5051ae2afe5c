import { receiverText } from './receiver-text.ts';

describe('receiverText', () => {
  it('keeps the given number of bytes, and no half character', () => {
    expect(receiverText(Buffer.from('abcdef'), 4)).toBe('abcd');
    expect(receiverText(Buffer.from('abcü'), 4)).toBe('abc');
  });

  it('removes what a terminal or a page could obey', () => {
    const text = 'one\u001b[31m\r\ntwo\u0000\u202e\u200b\tthree\u0085';
    expect(receiverText(Buffer.from(text), 1_024)).toBe('one[31m\ntwo\tthree');
  });

  it('shows bytes that are not UTF-8 as replacement characters', () => {
    expect(receiverText(Buffer.from([0x61, 0xff, 0x62]), 10)).toBe('a\ufffdb');
  });

  it('is null if nothing can be shown', () => {
    expect(receiverText(Buffer.alloc(0), 10)).toBeNull();
    expect(receiverText(Buffer.from('\u0000 \n'), 10)).toBeNull();
  });
});
