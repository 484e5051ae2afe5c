import type { MessageStructureObject } from 'imapflow';
import { WantedParts } from '../../../formats/mime/wanted-parts.ts';
import type { StoredPart } from '../../port/connector.ts';

/** Further parts are left out. */
const MOST_PARTS = 2_000;
/** What is nested deeper is one file. */
const DEEPEST = 100;

/** How much is read of a multipart that the server cannot split. */
const UNSPLIT_BYTES = 256 * 1024;

/** The parts of a message, before anything of them is fetched. */
export interface PartsPlan {
  root: StoredPart;
  /** All parts that are no multiparts, in order, without those beyond the limits. */
  leaves: readonly StoredPart[];
  /**
   * How much to fetch of which parts. Bytes, as they are stored. A multipart is among them if the
   * server may not have been able to split it.
   */
  wanted: ReadonlyMap<StoredPart, number>;
}

/**
 * Plans how a message is fetched in parts. The headers of the parts are made of the structure, and
 * should be replaced by those that the message has: servers repeat malformed fields differently.
 * @param header header of the message
 */
export function planParts(structure: MessageStructureObject, header: Buffer): PartsPlan {
  const choice = new WantedParts();
  const leaves: StoredPart[] = [];
  const wanted = new Map<StoredPart, number>();
  const partOf = (node: MessageStructureObject, depth: number): StoredPart => {
    const isRoot = depth === 0;
    const part = {
      section: sectionOf(node),
      header: isRoot ? header : headerOf(node),
      content: null,
    };
    if (isMultipart(node) && depth < DEEPEST) {
      const children: StoredPart[] = [];
      for (const child of node.childNodes ?? [])
        if (leaves.length < MOST_PARTS) children.push(partOf(child, depth + 1));
      const multipart = { ...part, children, size: 0, isDecoded: false };
      if (!isRoot && isUnsplit(node)) {
        const bytes = choice.bytesOf({
          ...outlineOf(node),
          type: 'text/plain',
          size: UNSPLIT_BYTES,
        });
        if (bytes > 0) wanted.set(multipart, bytes);
      }
      return multipart;
    }
    const { size = 0 } = node;
    const content = size === 0 ? Buffer.alloc(0) : null;
    const leaf = { ...part, children: null, size, content, isDecoded: false };
    leaves.push(leaf);
    const bytes = choice.bytesOf(outlineOf(node));
    if (bytes > 0) wanted.set(leaf, bytes);
    return leaf;
  };
  return { root: partOf(structure, 0), leaves, wanted };
}

/** Servers describe a multipart that they cannot split as one that is empty. */
const isUnsplit = ({ childNodes = [] }: MessageStructureObject): boolean =>
  childNodes.every((child) => !child.childNodes && !child.size);

/** A message within the message has nodes, too. */
const isMultipart = ({ childNodes, type }: MessageStructureObject): boolean =>
  childNodes !== undefined && !type.startsWith('message/');

/**
 * The only part of a message that is not a multipart has no number of its own: its section is 1
 * (RFC 9051 section 6.4.5).
 */
const sectionOf = ({ part }: MessageStructureObject): string => part ?? '1';

function outlineOf({
  type,
  disposition,
  dispositionParameters = {},
  parameters = {},
  size = 0,
}: MessageStructureObject) {
  const filename = dispositionParameters['filename'] ?? parameters['name'] ?? '';
  const isAttachment = Boolean(disposition) && disposition !== 'inline';
  return { type, isAttachment, filename, size };
}

/** The header of a part, made of what the server says about it. */
function headerOf(node: MessageStructureObject): Buffer {
  const { type, parameters = {}, disposition, dispositionParameters = {}, encoding, id } = node;
  const lines = [
    field('Content-Type', type, parameters),
    ...(disposition ? [field('Content-Disposition', disposition, dispositionParameters)] : []),
    ...(encoding ? [field('Content-Transfer-Encoding', encoding)] : []),
    ...(id ? [field('Content-ID', id)] : []),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n`);
}

function field(name: string, value: string, parameters: Record<string, string> = {}): string {
  const all = Object.entries(parameters).map(
    ([key, text]) => `; ${key}="${text.replaceAll(/["\\]/g, '\\$&')}"`,
  );
  return `${name}: ${value}${all.join('')}`.replaceAll(/[\r\n]+/g, ' ');
}

/** The node of a section; `undefined` if the message has none. */
export function nodeAt(
  node: MessageStructureObject,
  section: string,
  depth = 0,
): MessageStructureObject | undefined {
  if (node.part === section || (!node.childNodes && sectionOf(node) === section)) return node;
  if (depth >= DEEPEST) return undefined;
  for (const child of node.childNodes ?? []) {
    const found = nodeAt(child, section, depth + 1);
    if (found) return found;
  }
  return undefined;
}
