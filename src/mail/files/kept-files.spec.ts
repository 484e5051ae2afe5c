import { type ComparedFile, pairFiles } from './kept-files.ts';

const file = (filename: string, contentId: string | null = null): ComparedFile => ({
  filename,
  contentId,
  size: 1_000,
  contentType: filename.endsWith('.png') ? 'image/png' : 'text/plain',
});

describe('pairFiles', () => {
  const cases: [string, ComparedFile[], ComparedFile[], [number, number][]][] = [
    [
      'of the same order',
      [file('a'), file('b')],
      [file('a'), file('b')],
      [
        [0, 0],
        [1, 1],
      ],
    ],
    [
      'of another order',
      [file('a'), file('b')],
      [file('b'), file('a')],
      [
        [0, 1],
        [1, 0],
      ],
    ],
    ['beside a file that the copy has more', [file('a')], [file('footer'), file('a')], [[0, 1]]],
    ['beside a file that the copy lacks', [file('a'), file('b')], [file('b')], [[1, 0]]],
    ['not of one name without Content-IDs', [file('a'), file('a')], [file('a'), file('a')], []],
    [
      'of one name with Content-IDs',
      [file('a', 'x'), file('a', 'y')],
      [file('a', 'x'), file('a', 'y')],
      [
        [0, 0],
        [1, 1],
      ],
    ],
    ['whose line ends differ', [file('a')], [{ ...file('a'), size: 1_050 }], [[0, 0]]],
    ['not of another size', [file('a')], [{ ...file('a'), size: 300 }], []],
    ['not of one name if the copy lacks one of them', [file('a'), file('a')], [file('a')], []],
    [
      'whose media types differ in capitals',
      [file('a')],
      [{ ...file('a'), contentType: 'Text/Plain' }],
      [[0, 0]],
    ],
    ['not of other media types', [file('a')], [{ ...file('a'), contentType: 'text/html' }], []],
    ['of one Content-ID', [file('i.png', 'x')], [file('i.png', 'x')], [[0, 0]]],
    ['that have lost their Content-ID', [file('i.png', 'x')], [file('i.png')], [[0, 0]]],
    [
      'not of other Content-IDs',
      [file('i.png', 'x'), file('i.png', 'y')],
      [file('i.png', 'y'), file('i.png', 'x')],
      [],
    ],
  ];

  it.each(cases)('pairs files %s', (_, before, after, expected) => {
    const found = pairFiles(before, after);
    expect(found.map(([one, other]) => [before.indexOf(one), after.indexOf(other)])).toEqual(
      expected,
    );
  });
});
