import { readMimeTree } from './reading/mime-tree.ts';
import { Notes } from './reading/notes.ts';
import { sortParts } from './reading/sort-parts.ts';

/*
 * Runs in worker threads for `openAttachment`. Node loads this file directly, in tests too, so it
 * may import only files whose types Node itself can strip.
 */

/** The bytes of the file at a position of `sortParts`; `null` if there is none. */
export function attachmentAt({
  mime,
  position,
}: {
  mime: Uint8Array;
  position: number;
}): Uint8Array | null {
  const notes = new Notes();
  const { files } = sortParts(readMimeTree(mime, notes).root, notes);
  return files.find((file) => file.position === position)?.part.content ?? null;
}
