import { problemsOf, proseOfPage, proseOfSource } from '../../scripts/lib/words.ts';

describe('the word check', () => {
  it('reports a word that has a plainer replacement', () => {
    expect(problemsOf('Rows in hand are released.')).toEqual([expect.stringContaining('claimed')]);
    expect(problemsOf('Claimed rows are released.')).toEqual([]);
  });

  it('reports a sentence of more than 35 words, but accepts two short ones', () => {
    const sentence = (words: number) => `${'word '.repeat(words - 1)}word.`;
    expect(problemsOf(sentence(36))).toEqual([expect.stringContaining('over 35 words')]);
    expect(problemsOf(`${sentence(30)} ${sentence(30)}`)).toEqual([]);
  });

  it('reports file paths and ADR numbers that do not exist', () => {
    expect(problemsOf('See src/nowhere.ts and ADR 9999.')).toEqual([
      'there is no src/nowhere.ts',
      'there is no ADR 9999',
    ]);
    expect(problemsOf('See src/main.ts and ADR 0001.')).toEqual([]);
  });

  it('reads comments and test names, but no code', () => {
    const source = "/** One. */\nconst a = 'two'; // three\nit('four', () => {});\n";
    const prose = proseOfSource('a.spec.ts', source);
    expect(prose.map(({ text, line }) => [text.trim(), line])).toEqual([
      ['One.', 1],
      ['three', 2],
      ['four', 3],
    ]);
  });

  it('reads the paragraphs and list items of a page, but skips code, tables and link targets', () => {
    const page =
      '# Head\n\nOne [two](three.md)\nfour.\n\n- five\n- six\n\n| seven |\n\n```\neight\n```\n';
    expect(proseOfPage(page)).toEqual([
      { text: '# Head', line: 1 },
      { text: 'One [two]\nfour.', line: 3 },
      { text: '- five', line: 6 },
      { text: '- six', line: 7 },
    ]);
  });
});
