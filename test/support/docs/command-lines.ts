import { type Code, inlineCode, pagePaths, shellBlocks } from './pages.ts';
import { shellCommands } from './shell-words.ts';

/** A line of `carillon` or `carillon-api` in a page. */
export interface CommandLine {
  /** Where it stands, such as `docs/operating.md:18`. */
  at: string;
  program: 'carillon' | 'carillon-api';
  args: string[];
  /** Whether it stands in running text, which may name a command without its arguments. */
  inText: boolean;
}

const ID = '019aa1b2-0000-7000-8000-000000000001';
/** What stands for the words that a page leaves to its reader. */
const EXAMPLES: Readonly<Record<string, string>> = {
  n: '5',
  level: 'debug',
  time: '10m',
  units: '1000',
  requests: '1000',
};

/** Words before the arguments: how a line calls a program. */
const PROGRAMS = {
  carillon: /^(bin\/)?carillon$|^dist\/src\/cli\/carillon\.js$/,
  'carillon-api': /^(bin\/)?(carillon-api|api)$/,
} as const;

/** The words of a command from the program on, without what runs it elsewhere or as somebody. */
function fromProgram(words: readonly string[]): readonly string[] {
  const [first = ''] = words;
  if (first === 'sudo') return fromProgram(words.slice(1));
  if (/^[A-Z_]+=/.test(first)) return fromProgram(words.slice(1));
  if (first === 'npm') {
    const [, verb, script = '', ...rest] = words.filter((word) => word !== '-s');
    if (verb !== 'run') return [];
    return [script, ...(rest[0] === '--' ? rest.slice(1) : rest)];
  }
  if (first === 'kubectl') return words.includes('--') ? words.slice(words.indexOf('--') + 1) : [];
  if (first === 'docker') {
    if (words[1] !== 'compose') return [];
    const at = words.findIndex((word, index) => index > 2 && PROGRAMS.carillon.test(word));
    return at === -1 ? [] : words.slice(at);
  }
  return words;
}

function toLine(at: string, words: readonly string[], inText = false): CommandLine[] {
  const [name = '', ...rest] = fromProgram(words);
  // An ellipsis stands for more words, or for a body.
  const args = rest
    .filter((word, index) => word !== '…' || rest[index - 1]?.startsWith('--'))
    .map((word) => word.replace(/^--body=…/, '--body={}'));
  if (args.length === 0) return [];
  for (const program of ['carillon', 'carillon-api'] as const)
    if (PROGRAMS[program].test(name)) return [{ at, program, args, inText }];
  return [];
}

/** A form with `<placeholders>`, `[optional words]` and `one|another` as lines without them. */
function expand(text: string): string[] {
  const filled = text
    .replaceAll(/<([a-z_ ]+)>/g, (_, name: string) => EXAMPLES[name] ?? ID)
    .replaceAll(/\[([^\]]+)\]/g, '$1');
  const choice = /[a-z:-]+(?:\|[a-z:-]+)+/.exec(filled)?.[0];
  if (choice === undefined) return [filled];
  return choice.split('|').map((word) => filled.replace(choice, word));
}

function fromBlock({ page, line, text }: Code): CommandLine[] {
  const filled = text.replaceAll(/<([a-z_ ]+)>/g, (_, name: string) => EXAMPLES[name] ?? ID);
  return shellCommands(filled).flatMap(({ words, linesBefore }) =>
    toLine(`${page}:${line + linesBefore}`, words),
  );
}

function fromText({ page, line, text }: Code): CommandLine[] {
  if (!/^(docker |kubectl |npm run |carillon |carillon-api |api )/.test(text)) return [];
  if (text.includes('<group>')) return [];
  return expand(text)
    .flatMap((form) => shellCommands(form))
    .flatMap(({ words }) => toLine(`${page}:${line}`, words, true));
}

/** Every line of npm in the blocks and the text of the pages, as words. */
export function npmLines(): { at: string; words: string[] }[] {
  return pagePaths().flatMap((page) =>
    [...shellBlocks(page), ...inlineCode(page)].flatMap(({ line, text }) =>
      shellCommands(text)
        .map(({ words, linesBefore }) => ({
          at: `${page}:${line + linesBefore}`,
          words: words.slice(words.findIndex((word) => !/^[A-Z_]+=|^sudo$/.test(word))),
        }))
        .filter(({ words }) => words[0] === 'npm'),
    ),
  );
}

/** Every line of `carillon` and `carillon-api` in the pages. */
export function commandLines(): CommandLine[] {
  return pagePaths().flatMap((page) => [
    ...shellBlocks(page).flatMap(fromBlock),
    ...inlineCode(page).flatMap(fromText),
  ]);
}
