import { shellCommands } from './shell-words.ts';

const words = (text: string): string[][] => shellCommands(text).map((each) => each.words);

describe('shellCommands', () => {
  it('splits lines, lists and pipes into commands, and leaves out comments and redirections', () => {
    expect(words('a b # c d\ne && f; g | h < file > out 2>&1')).toEqual([
      ['a', 'b'],
      ['e'],
      ['f'],
      ['g'],
      ['h'],
    ]);
  });

  it('keeps what is quoted or substituted in one word, over several lines', () => {
    expect(words(`a --body='{\n "b": 1 }' "c d"e $(date +%s) \\\n  f#g`)).toEqual([
      ['a', '--body={\n "b": 1 }', 'c de', '$(date +%s)', 'f#g'],
    ]);
  });

  it('counts the lines before a command', () => {
    expect(shellCommands("a \\\n b 'c\nd'\n\n# e\nf").map((each) => each.linesBefore)).toEqual([
      0, 5,
    ]);
  });

  it('finds the command in a substitution of a process', () => {
    expect(words('source <(carillon completion bash)')).toEqual([
      ['source'],
      ['carillon', 'completion', 'bash'],
    ]);
  });
});
