import { type HeaderField, headerEndOf, headerFields } from './header-fields.ts';
import type { Notes } from './notes.ts';
import { describePart, type Part, type PartDescription } from './part.ts';
import { bufferOf, decodeTransfer } from './transfer-encoding.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** Longest header of a message that is read. Bytes. */
export const LONGEST_HEADER = 1024 * 1024;
/** Longest header of a part that is read. Bytes. */
const LONGEST_PART_HEADER = 256 * 1024;
/** Headers of all parts of a message. Further parts are left out. Bytes. */
const ALL_PART_HEADERS = 2 * 1024 * 1024;
/** Further parts are left out. */
export const MOST_PARTS = 2_000;
/** Parts in deeper multiparts are left out. */
export const DEEPEST = 100;
/** Longest boundary that is recognized; RFC 2046 section 5.1.1 allows 70 characters. */
const LONGEST_BOUNDARY = 1_000;
const DASH = 0x2d;

/** A message that was split into its parts. */
export interface MimeTree {
  /** Bytes of the message's header, with the empty line. */
  header: Buffer;
  fields: HeaderField[];
  root: Part;
}

interface Node {
  description: PartDescription;
  section: string;
  /** Position where the content begins and, once it is closed, where it ends. */
  start: number;
  end: number;
  /** `null` for a part that is no multipart. */
  children: Node[] | null;
}

/** A line that begins or ends a part. */
interface Boundary {
  /** Position of its multipart among the open ones. */
  level: number;
  /** Whether it ends its multipart. */
  isLast: boolean;
  /** Where the text in front of it ends, and where the text after it begins. */
  before: number;
  after: number;
}

/** Splits a message into its parts (RFC 2046). Never throws. */
export function readMimeTree(mime: Uint8Array, notes: Notes): MimeTree {
  const bytes = bufferOf(mime);
  const { end, content } = headerEndOf(bytes, 0, LONGEST_HEADER);
  const header = bytes.subarray(0, end);
  const fields = headerFields(header);
  const splitter = new Splitter(bytes, notes);
  const root = splitter.split(nodeOf(fields, 'text/plain', '', content));
  return { header, fields, root: splitter.partOf(root) };
}

function nodeOf(
  fields: readonly HeaderField[],
  usualType: string,
  section: string,
  start: number,
): Node {
  const description = describePart(fields, usualType);
  const isMultipart = description.type.startsWith('multipart/') && description.boundary !== '';
  return { description, section, start, end: start, children: isMultipart ? [] : null };
}

class Splitter {
  /** Multiparts that are open, outermost first, and their position by boundary. */
  readonly #open: Node[] = [];
  readonly #levels = new Map<string, number>();
  #count = 0;
  #headerBytes = 0;

  private readonly bytes: Buffer;
  private readonly notes: Notes;

  constructor(bytes: Buffer, notes: Notes) {
    this.bytes = bytes;
    this.notes = notes;
  }

  /** Finds the parts of a message. */
  split(root: Node): Node {
    if (!this.#enter(root)) return { ...root, end: this.bytes.length };
    let current: Node | null = null;
    let position = root.start;
    for (;;) {
      const found = this.#nextBoundary(position);
      if (current) current.end = Math.max(current.start, found?.before ?? this.bytes.length);
      current = null;
      if (!found || this.#isTooMany()) break;
      position = found.after;
      this.#leave(found.isLast ? found.level : found.level + 1);
      const parent = found.isLast ? undefined : this.#open.at(-1);
      if (parent) {
        current = this.#child(parent, position);
        position = current.start;
        this.#enter(current);
      }
    }
    root.end = this.bytes.length;
    return root;
  }

  #isTooMany(): boolean {
    if (this.#count < MOST_PARTS && this.#headerBytes < ALL_PART_HEADERS) return false;
    this.notes.leaveOut('The message has too many parts: the rest is left out');
    return true;
  }

  #child(parent: Node, position: number): Node {
    this.#count += 1;
    const usual = parent.description.type === 'multipart/digest' ? 'message/rfc822' : 'text/plain';
    // A boundary within the header ends the part, which then has no content.
    const isBoundary = (line: number) => this.#boundaryAt(line) !== null;
    const { end, content } = headerEndOf(this.bytes, position, LONGEST_PART_HEADER, isBoundary);
    this.#headerBytes += end - position;
    const siblings = parent.children ?? [];
    const section = `${parent.section === '' ? '' : `${parent.section}.`}${siblings.length + 1}`;
    const child = nodeOf(headerFields(this.bytes.subarray(position, end)), usual, section, content);
    siblings.push(child);
    return child;
  }

  /** Opens a multipart. Returns false for other parts. */
  #enter(node: Node): boolean {
    if (!node.children) return false;
    if (this.#open.length >= DEEPEST) {
      this.notes.leaveOut(`Parts that are nested more than ${DEEPEST} times are left out`);
      node.children = null;
      node.description = { ...node.description, type: 'application/octet-stream' };
      return false;
    }
    this.#levels.set(node.description.boundary, this.#open.length);
    this.#open.push(node);
    return true;
  }

  /** Closes the multiparts from a level on. */
  #leave(level: number): void {
    for (const { description } of this.#open.splice(level)) {
      // Some programs use the same boundary for a multipart and its parent.
      const outer = this.#open.findLastIndex(
        (one) => one.description.boundary === description.boundary,
      );
      if (outer === -1) this.#levels.delete(description.boundary);
      else this.#levels.set(description.boundary, outer);
    }
  }

  /** The next line that is the boundary of an open multipart. */
  #nextBoundary(from: number): Boundary | null {
    let line = this.#lineOfDashes(from);
    for (; line !== -1; line = this.#lineOfDashes(line + 1)) {
      const found = this.#boundaryAt(line);
      if (found) return found;
    }
    return null;
  }

  /** The boundary in the line that begins at a position. `null` if it is another line. */
  #boundaryAt(line: number): Boundary | null {
    const { bytes } = this;
    if (bytes[line] !== DASH || bytes[line + 1] !== DASH) return null;
    const lineEnd = bytes.indexOf('\n', line);
    const end = lineEnd === -1 ? bytes.length : lineEnd;
    if (end - line > LONGEST_BOUNDARY) return null;
    const text = bytes.toString('utf8', line + 2, end).trimEnd();
    const isOpening = this.#levels.has(text);
    const level = this.#levels.get(isOpening ? text : text.replace(/--$/, ''));
    if (level === undefined) return null;
    return {
      level,
      isLast: !isOpening,
      before: this.#beforeBreak(line),
      after: Math.min(bytes.length, end + 1),
    };
  }

  /** Position of a line that begins with `--`. */
  #lineOfDashes(from: number): number {
    const { bytes } = this;
    const isAtStart = from === 0 || bytes[from - 1] === 0x0a;
    if (isAtStart && bytes[from] === DASH && bytes[from + 1] === DASH) return from;
    const found = bytes.indexOf('\n--', from, 'latin1');
    return found === -1 ? -1 : found + 1;
  }

  /** The line break in front of a boundary belongs to the boundary. */
  #beforeBreak(line: number): number {
    if (this.bytes[line - 1] !== 0x0a) return line;
    return this.bytes[line - 2] === 0x0d ? line - 2 : line - 1;
  }

  /** The part with its content. A multipart without parts is read as text. */
  partOf(node: Node): Part {
    const { description, start, end } = node;
    const base = { ...description, section: node.section || '1', isCut: false };
    if (node.children && node.children.length > 0)
      return {
        ...base,
        children: node.children.map((child) => this.partOf(child)),
        size: end - start,
        content: null,
      };
    const content = decodeTransfer(this.bytes.subarray(start, end), description.encoding);
    const isEmptyMultipart = description.type.startsWith('multipart/');
    if (isEmptyMultipart) this.notes.guess('A multipart without parts is read as plain text');
    const type = isEmptyMultipart ? 'text/plain' : description.type;
    return { ...base, type, children: null, size: content.length, content };
  }
}
