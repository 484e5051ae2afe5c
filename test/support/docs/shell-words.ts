/** A command of a shell, with the number of line breaks before it. */
export interface ShellCommand {
  words: string[];
  linesBefore: number;
}

/*
 * Comments, continued lines, quotes, substitutions, operators, spaces, and everything else. What
 * stands in quotes or in $(…) is part of a word.
 */
const TOKEN =
  /(?<comment>(?<![^\s])#[^\n]*)|(?<space>\\\n|[ \t]+)|(?<single>'[^']*')|(?<double>"(?:[^"\\]|\\.)*")|(?<substitution>\$\([^)]*\))|(?<redirection>\d?>{1,2}&?|<)|(?<end>\n|&&|\|\|?|;|&|[()])|(?<plain>\\.|[^\s'"|;&()<>])/gsy;

/**
 * Splits lines of a shell into simple commands and their words, as far as documentation needs it:
 * quotes are removed, and targets of redirections are left out. Variables and substitutions stay
 * as they are written.
 */
export function shellCommands(text: string): ShellCommand[] {
  const commands: ShellCommand[] = [];
  let words: string[] = [];
  let word: string | null = null;
  let isTarget = false;
  let lines = 0;
  let begun = 0;
  const endWord = (): void => {
    if (word !== null && !isTarget) words.push(word);
    if (word !== null) isTarget = false;
    word = null;
  };
  const endCommand = (): void => {
    endWord();
    isTarget = false;
    if (words.length > 0) commands.push({ words, linesBefore: begun });
    words = [];
  };
  for (const { 0: token, groups = {} } of text.matchAll(TOKEN)) {
    if (groups['end'] !== undefined) endCommand();
    else if (groups['space'] !== undefined) endWord();
    else if (groups['redirection'] !== undefined) {
      endWord();
      isTarget = true;
    } else if (groups['comment'] === undefined) {
      if (words.length === 0 && word === null) begun = lines;
      const quoted = groups['single'] ?? groups['double'];
      word = (word ?? '') + (quoted === undefined ? token.replace(/^\\/, '') : quoted.slice(1, -1));
    }
    lines += token.split('\n').length - 1;
  }
  endCommand();
  return commands;
}
