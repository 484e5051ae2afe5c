import { BodyReader, type BodyTexts } from './body-text.ts';
import type { HeaderField } from './header-fields.ts';
import { readMimeTree } from './mime-tree.ts';
import { Notes } from './notes.ts';
import type { Part } from './part.ts';
import { type FilePart, sortParts } from './sort-parts.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** The content of a message: its parts, its body and its files. */
export interface MimeContent {
  root: Part;
  texts: BodyTexts;
  files: readonly FilePart[];
}

/** A message that was read whole. */
export interface MimeMessage extends MimeContent {
  /** Bytes of the header, with the empty line. */
  header: Buffer;
  fields: readonly HeaderField[];
  notes: Notes;
}

/**
 * Longest body in UTF-16 units. The rest of a longer one is left out; the provider has all of it.
 */
export const LONGEST_BODY = 8 * 1024 * 1024;

/**
 * Reads a message. Never throws: what cannot be read costs only itself, and is noted.
 * @param most longest body in UTF-16 units
 */
export function readMime(mime: Uint8Array, most = LONGEST_BODY): MimeMessage {
  const notes = new Notes();
  const { header, fields, root } = readMimeTree(mime, notes);
  return { header, fields, notes, ...readContent(root, notes, most) };
}

/** Reads the body of a message from its parts, and lists its files. Never throws. */
export function readContent(root: Part, notes: Notes, most = LONGEST_BODY): MimeContent {
  const { body, files } = sortParts(root, notes);
  return { root, texts: new BodyReader(most, notes).read(body), files };
}
