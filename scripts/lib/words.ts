import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { ROOT } from './project.ts';

/** A piece of prose that should be rewritten. */
export interface Finding {
  /** Relative to the project's folder. */
  file: string;
  line: number;
  problem: string;
}

/** A piece of prose: one comment, one test name, or one paragraph of a page. */
interface Prose {
  text: string;
  line: number;
}

/** Words that readers had to guess, with the words to use instead (docs/glossary.md). */
const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [/\bin hand\b/i, 'claimed'],
  [/\bwho(?:ever|mever)\b/i, 'the reader, the caller, the client: name the person or program'],
  [/\bwhat (?:becomes|became|come|came|comes) of\b/i, 'result, outcome'],
  [/\b(?:is|are|was|were) no more(?=[.,;:]|$)/i, 'deleted, removed'],
  [/\bnobody (?:has|knows|asks|is|waits|needs)\b/i, 'a positive statement with its subject'],
  [/\bof the moment\b/i, 'current'],
  [/\bin doubt\b|\bthe doubt\b/i, 'unknown outcome'],
  [/\bput off\b/i, 'deferred'],
  [/\btwins?\b/i, 'duplicate'],
  [/\bhappenings?\b/i, 'event, change'],
  [/\b(?:spec|api facts|design) \d/i, 'the rule itself, or a page, ADR or RFC a reader can open'],
  [/\bspecification \d/i, 'the rule itself, or a page, ADR or RFC a reader can open'],
];
/** Longer sentences have to be read twice. */
const MOST_WORDS = 35;
const MOST_COLUMNS = 100;
/** A path of the project in a sentence. */
const PATH = /(?<![\w/.@-])(?:src|test|docs|scripts|bench|migrations)\/[\w./-]*\w/g;
const ADR = /\bADRs? (\d{4})\b/g;

/**
 * Checks all comments, test names and pages of the project.
 * @returns the findings, in the order of the files
 */
export function checkWords(): Finding[] {
  const sources = ['src', 'test', 'bench', 'scripts'].flatMap((folder) => filesIn(folder, '.ts'));
  const pages = [...filesIn('docs', '.md'), ...filesIn('.', '.md', false)];
  return [
    ...sources.flatMap((file) => [
      ...findingsIn(file, proseOfSource(file, read(file))),
      ...wideComments(file, read(file)),
    ]),
    ...pages.flatMap((file) => [
      ...findingsIn(file, proseOfPage(read(file))),
      ...deadLinks(file, read(file)),
      ...headOfDecision(file, read(file)),
    ]),
  ];
}

function read(file: string): string {
  return fs.readFileSync(path.join(ROOT, file), 'utf8');
}

function filesIn(folder: string, ending: string, recursive = true): string[] {
  return fs
    .readdirSync(path.join(ROOT, folder), { recursive, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending) && !file.startsWith('.groups'))
    .map((file) => path.posix.join(folder, file))
    .toSorted();
}

/** Returns the comments and the names of tests. */
export function proseOfSource(file: string, text: string): Prose[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1;
  const comments = commentsOf(source).map(({ pos, end }) => ({
    text: text.slice(pos, end).replace(/^[ \t]*(?:\/\*\*?|\*\/|\/\/|\*(?!\*))[ \t]?|\*\/$/gm, ''),
    line: lineOf(pos),
  }));
  const names: Prose[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^(?:it|describe)\b/.test(node.expression.getText(source))) {
      const [name] = node.arguments;
      if (name && ts.isStringLiteralLike(name))
        names.push({ text: name.text, line: lineOf(name.getStart(source)) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...comments, ...names];
}

function commentsOf(source: ts.SourceFile): ts.CommentRange[] {
  const comments = new Map<number, ts.CommentRange>();
  const visit = (node: ts.Node): void => {
    const ranges = [
      ...(ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(source.text, node.getEnd()) ?? []),
    ];
    for (const range of ranges) comments.set(range.pos, range);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...comments.values()];
}

/** Returns the paragraphs of a page, without code, tables and link targets. */
export function proseOfPage(text: string): Prose[] {
  const prose: Prose[] = [];
  let isCode = false;
  let isNew = true;
  for (const [index, line] of text.split('\n').entries()) {
    if (/^\s*```/.test(line)) isCode = !isCode;
    if (isCode || /^\s*(?:```|\||<|$)/.test(line)) {
      isNew = true;
      continue;
    }
    const words = line.replaceAll(/\]\([^)]*\)/g, ']');
    const last = prose.at(-1);
    if (last && !isNew && !/^\s*(?:[-*#]|\d+\.) /.test(line)) last.text += `\n${words}`;
    else prose.push({ text: words, line: index + 1 });
    isNew = false;
  }
  return prose;
}

function findingsIn(file: string, prose: readonly Prose[]): Finding[] {
  return prose.flatMap(({ text, line }) =>
    problemsOf(text).map((problem) => ({ file, line, problem })),
  );
}

/**
 * True if the file or folder exists. The ending of a file may be missing, as in `test/long/kill`.
 */
function isThere(name: string): boolean {
  const file = path.join(ROOT, name);
  if (fs.existsSync(file)) return true;
  const folder = path.dirname(file);
  const begins = (entry: string) => entry.startsWith(path.basename(file));
  return fs.existsSync(folder) && fs.readdirSync(folder).some(begins);
}

/** Returns the problems of a piece of prose. */
export function problemsOf(text: string): string[] {
  const plain = text.replaceAll(/`[^`]*`/g, 'code');
  const words = REPLACEMENTS.flatMap(([word, instead]) => {
    const found = word.exec(plain);
    return found ? [`"${found[0]}": write ${instead}`] : [];
  });
  const long = plain
    .split(/(?<=[.!?][*)"'”]{0,3})\s+|\n\s*\n|\n\s*(?=[-*@]|\d+\.)/)
    .filter((sentence) => sentence.split(/\s+/).length > MOST_WORDS)
    .map(
      (sentence) =>
        `a sentence of over ${MOST_WORDS} words: ${sentence.trim().replaceAll(/\s+/g, ' ').slice(0, 60)}…`,
    );
  const paths = [...text.matchAll(PATH)]
    .map(([name]) => name)
    .filter((name) => !isThere(name))
    .map((name) => `there is no ${name}`);
  const decisions = [...text.matchAll(ADR)]
    .filter(([, number]) => number && !adrs().has(number))
    .map(([name]) => `there is no ${name}`);
  return [...words, ...long, ...paths, ...decisions];
}

/** Finds comments that are too wide. Prettier wraps code only. */
function wideComments(file: string, text: string): Finding[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  return commentsOf(source).flatMap(({ pos, end }) => {
    const lines = text.slice(text.lastIndexOf('\n', pos) + 1, end).split('\n');
    const isWide = lines.some((line) => line.length > MOST_COLUMNS && /^\s*\/?[/*]/.test(line));
    const { line } = source.getLineAndCharacterOfPosition(pos);
    const problem = `a comment wider than ${MOST_COLUMNS} columns`;
    return isWide && !lines.join('').includes('://') ? [{ file, line: line + 1, problem }] : [];
  });
}

let numbers: Set<string> | undefined;
function adrs(): Set<string> {
  numbers ??= new Set(filesIn('docs/adr', '.md').map((file) => path.basename(file).slice(0, 4)));
  return numbers;
}

function deadLinks(file: string, text: string): Finding[] {
  return text.split('\n').flatMap((line, index) =>
    [...line.matchAll(/\]\((?!\w+:)([^)#\s]+)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !fs.existsSync(path.join(ROOT, path.dirname(file), target)))
      .map((target) => ({ file, line: index + 1, problem: `the link ${target} leads nowhere` })),
  );
}

/** Checks that an ADR names its status and date. */
function headOfDecision(file: string, text: string): Finding[] {
  if (!/^docs\/adr\/\d{4}-/.test(file)) return [];
  const missing = [
    ['Status', /^- Status: (?:accepted|superseded by \[\d{4}\])/m],
    ['Date', /^- Date: \d{4}-\d{2}-\d{2}$/m],
  ] as const;
  return missing
    .filter(([, pattern]) => !pattern.test(text))
    .map(([name]) => ({ file, line: 1, problem: `no line "- ${name}: …"` }));
}
