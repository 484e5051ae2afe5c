import { describe, expect, it } from '@jest/globals';
import { unflow } from './flowed-text.ts';

const lines = (...text: string[]) => text.join('\r\n');

describe('unflow', () => {
  it.each([
    ['joins the lines of a paragraph', lines('one ', 'two', 'three'), 'one two\nthree'],
    [
      'ends a paragraph at an empty line',
      lines('> Look it up ', '', 'No, it is true'),
      '> Look it up \n\nNo, it is true',
    ],
    [
      'keeps one mark of a quotation',
      lines('> one ', '> two', '>> a ', '>> b'),
      '> one two\n>> a b',
    ],
    ['ends a paragraph where the depth changes', lines('> one ', 'two'), '> one \ntwo'],
    [
      'removes stuffed spaces',
      lines(' >not quoted', ' From me', '  two'),
      '>not quoted\nFrom me\n two',
    ],
    ['does not join a signature', lines('Bye ', '-- ', 'Ada'), 'Bye \n-- \nAda'],
    ['does not join a quoted signature', lines('> Bye', '> -- ', '> Ada'), '> Bye\n> -- \n> Ada'],
    ['keeps empty quoted lines', lines('> a', '>', '> b'), '> a\n>\n> b'],
  ])('%s', (_, text, expected) => {
    expect(unflow(text, false)).toBe(expected);
  });

  it('removes the space of a flowed line if the sender says so', () => {
    expect(unflow(lines('over ', 'flow', '> over ', '> flow'), true)).toBe('overflow\n> overflow');
  });
});
