import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../../scripts/lib/project.ts';

/** Folders and files with pages for users and contributors. */
const PLACES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench',
  'docs',
  'deploy',
  'examples',
  'clients',
];

/** A piece of code in a page. */
export interface Code {
  /** Path of the page in the tree. */
  page: string;
  /** Line of the page in which the code begins, from 1. */
  line: number;
  text: string;
}

/** Paths of all pages in the tree: Markdown for users and contributors, decisions included. */
export function pagePaths(): string[] {
  return PLACES.flatMap((place) => {
    if (place.endsWith('.md')) return [place];
    return fs
      .readdirSync(path.join(ROOT, place), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md') && !file.includes('node_modules'))
      .map((file) => `${place}/${file}`);
  });
}

export const readPage = (page: string): string => fs.readFileSync(path.join(ROOT, page), 'utf8');

const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length;

/** A block of shell lines. */
export interface ShellBlock extends Code {
  /**
   * Whether a test runs it (`test/long/doc-lines`): its fence says "sh runs". Readers do not see
   * that word.
   */
  runs: boolean;
}

/** Blocks of shell lines, in their order. */
export function shellBlocks(page: string): ShellBlock[] {
  const text = readPage(page);
  return [...text.matchAll(/^( *)```sh( runs)?\n([\s\S]*?)^ *```$/gm)].map((match) => ({
    page,
    line: lineOf(text, match.index) + 1,
    text: match[3]?.replaceAll(new RegExp(`^${match[1] ?? ''}`, 'gm'), '') ?? '',
    runs: match[2] !== undefined,
  }));
}

/** Code in running text, outside of blocks. */
export function inlineCode(page: string): Code[] {
  const text = readPage(page);
  // Blocks become empty lines, so that the numbers of lines stay right.
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, (block) =>
    '\n'.repeat(block.split('\n').length - 1),
  );
  return [...prose.matchAll(/`([^`\n]+)`/g)].map((match) => ({
    page,
    line: lineOf(prose, match.index),
    text: match[1] ?? '',
  }));
}
