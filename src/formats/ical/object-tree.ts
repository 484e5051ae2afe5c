import ICAL from 'ical.js';
import { type ContentLine, contentLines } from './content-lines.ts';
import { KEPT, keepLines, MOST_WARNINGS, placeholder, quoted, warn } from './kept-lines.ts';

/*
 * Reads the lines of a calendar file or an address card into the library's components. The library
 * itself gives up a whole file for one line.
 */

/** What a line says: its properties as jCal, and the parts of it that cannot be read. */
export interface ReadLine {
  properties: unknown[][];
  unreadable: { name: string; line: string; why: string }[];
}

/** Reads one line of a component. Both names are in lower case. */
export type LineReader = (line: ContentLine, component: string) => ReadLine;

/** An object with so many or so deeply nested components that it is not read. */
export class TreeLimitError extends Error {
  override name = 'TreeLimitError';
}

/** Most components of an object. */
const MOST_COMPONENTS = 1_000;
/** Deepest nesting of components, with the object itself; the library recurses into each. */
const MOST_DEPTH = 10;
/** Components that contain none of these kinds: one that begins in another ends it. */
const SEPARATE = ['vevent', 'vtodo', 'vjournal', 'vfreebusy', 'vtimezone'];

type JCal = [string, unknown[][], JCal[]];

interface Tree {
  root: JCal;
  /** How many components it has, with the root. */
  components: number;
  kept: string[];
  /** What was left out in each event, and in the rest of the file under its root. */
  left: Map<JCal, string[]>;
  before: string[];
  after: string[];
}

/**
 * Reads the first object of a kind in a text.
 * @param kind `vcalendar` or `vcard`
 * @returns `null` if there is no such object
 * @throws {TreeLimitError}
 */
export function readObjectTree(
  text: string,
  kind: string,
  readLine: LineReader,
): ICAL.Component | null {
  const tree = treeOf(contentLines(text.replace(/^\uFEFF/, '')), kind, readLine);
  if (!tree) return null;
  const root = new ICAL.Component(tree.root);
  keepLines(root, {
    lines: tree.kept,
    before: tree.before.join('\r\n'),
    after: tree.after.join('\r\n'),
  });
  const components = root.getAllSubcomponents();
  for (const [component, texts] of tree.left) {
    const index = tree.root[2].indexOf(component);
    for (const one of texts) warn(index < 0 ? root : components[index], one);
  }
  if (tree.after.length > 0)
    warn(root, `The text after the end of the object is left out: ${quoted(tree.after[0] ?? '')}`);
  return root;
}

const BOUNDARY = /^(BEGIN|END)\s*:\s*(\S+)\s*$/i;

function treeOf(lines: readonly ContentLine[], kind: string, readLine: LineReader): Tree | null {
  const begin = lines.findIndex(
    ({ text }) => BOUNDARY.exec(text)?.[0].replaceAll(/\s/g, '').toLowerCase() === `begin:${kind}`,
  );
  if (begin < 0) return null;
  const root: JCal = [kind, [], []];
  const before = lines.slice(0, begin).map(({ raw }) => raw);
  const tree: Tree = { root, components: 1, kept: [], left: new Map(), before, after: [] };
  const open: JCal[] = [root];
  for (const line of lines.slice(begin + 1)) {
    const current = open.at(-1);
    if (!current) {
      tree.after.push(line.raw);
      continue;
    }
    const [, boundary = '', named = ''] = BOUNDARY.exec(line.text) ?? [];
    const name = named.toLowerCase();
    if (boundary.toUpperCase() === 'BEGIN') openChild(tree, open, name);
    else if (boundary !== '' && open.some(([one]) => one === name)) closeUntil(tree, open, name);
    else addLine(tree, open, readLine(line, current[0]));
  }
  if (open.length > 0) note(tree, open, `The file ends before END:${root[0].toUpperCase()}`);
  return tree;
}

/** Opens a component; one that cannot contain it is closed first. */
function openChild(tree: Tree, open: JCal[], name: string): void {
  const unclosed = SEPARATE.includes(name) && open.find(([one]) => SEPARATE.includes(one));
  if (unclosed) {
    note(tree, open, `There is no END:${unclosed[0].toUpperCase()}`);
    open.length = open.indexOf(unclosed);
  }
  tree.components += 1;
  if (tree.components > MOST_COMPONENTS)
    throw new TreeLimitError(`more than ${MOST_COMPONENTS} components`);
  if (open.length >= MOST_DEPTH)
    throw new TreeLimitError(`components nested deeper than ${MOST_DEPTH}`);
  const child: JCal = [name, [], []];
  open.at(-1)?.[2].push(child);
  open.push(child);
}

function closeUntil(tree: Tree, open: JCal[], name: string): void {
  if (open.at(-1)?.[0] !== name)
    note(tree, open, `There is no END:${open.at(-1)?.[0].toUpperCase()}`);
  while (open.length > 0 && open.pop()?.[0] !== name);
}

function addLine(tree: Tree, open: readonly JCal[], { properties, unreadable }: ReadLine): void {
  const component = open.at(-1)!;
  component[1].push(...properties);
  for (const { name, line, why } of unreadable) {
    component[1].push(placeholder(name, tree.kept.length));
    tree.kept.push(line);
    note(tree, open, `The line ${quoted(line)} cannot be read and is left out: ${why}`);
  }
}

/** Notes a warning about the event that is open; outside of events about the whole file. */
function note(tree: Tree, open: readonly JCal[], text: string): void {
  const about = open[1]?.[0] === 'vevent' ? open[1] : tree.root;
  const texts = tree.left.get(about) ?? [];
  tree.left.set(about, texts);
  if (texts.length < MOST_WARNINGS && !texts.includes(text)) texts.push(text);
}

/** A line that cannot be read at all. */
export function unreadableLine({ raw, text }: ContentLine, why: string): ReadLine {
  const [, name = ''] = /^([\w.-]+)/.exec(text) ?? [];
  return {
    properties: [],
    unreadable: [{ name: name.slice(0, 40).toLowerCase(), line: raw, why }],
  };
}

/**
 * Reads a line with the library.
 * @param design the library's rules for the kind of object
 * @returns `null` if the library cannot read it, or cannot write it again
 */
export function libraryLine(text: string, design: unknown): unknown[] | null {
  try {
    const property = (ICAL.parse as unknown as Parser).property(text, design) as
      | unknown[]
      | undefined;
    if (!property || property[0] === KEPT) return null;
    (ICAL.stringify as unknown as Writer).property(property, design, false);
    return property;
  } catch {
    return null; // the caller reports the line
  }
}

interface Parser {
  property(text: string, design: unknown): unknown;
}
interface Writer {
  property(property: unknown[], design: unknown, noFold: boolean): string;
}
