import { WantedParts } from '../../../formats/mime/wanted-parts.ts';
import type { StoredPart } from '../../port/connector.ts';
import type { GmailPart } from './gmail-api.ts';

/** Further parts are left out. */
const MOST_PARTS = 2_000;
/** What is nested deeper is one file. */
const DEEPEST = 100;

/** The parts of a large message. */
export interface GmailParts {
  headers: Buffer;
  root: StoredPart;
  /** Texts that Gmail gives as attachments, by part: their bytes are still to be fetched. */
  late: ReadonlyMap<StoredPart, string>;
}

/** Section of a part for `openFile`. */
export const sectionOf = ({ partId }: GmailPart): string => `p${partId}`;

/** The parts of a message, with the contents of its texts as far as Gmail has sent them. */
export function readParts(payload: GmailPart): GmailParts {
  const choice = new WantedParts();
  const late = new Map<StoredPart, string>();
  let count = 0;
  const partOf = (part: GmailPart, depth: number): StoredPart => {
    const base = { section: sectionOf(part), header: headerBlock(part), isDecoded: true };
    if (isMultipart(part) && depth < DEEPEST) {
      const children: StoredPart[] = [];
      for (const child of part.parts)
        if (count < MOST_PARTS) children.push(partOf(child, depth + 1));
      return { ...base, children, size: 0, content: null };
    }
    count += 1;
    const { data, attachmentId, size } = part.body;
    const bytes = choice.bytesOf(outlineOf(part));
    const known =
      data === undefined && (attachmentId !== undefined || size > 0) ? null : (data ?? '');
    const isRead = bytes > 0 || size === 0;
    const content =
      isRead && known !== null ? Buffer.from(known, 'base64url').subarray(0, bytes) : null;
    const leaf = { ...base, children: null, size, content };
    if (bytes > 0 && known === null && attachmentId !== undefined) late.set(leaf, attachmentId);
    return leaf;
  };
  return { headers: headerBlock(payload), root: partOf(payload, 0), late };
}

/** The part of that section; `undefined` if there is none. */
export function partAt(payload: GmailPart, section: string): GmailPart | undefined {
  return leaves(payload).find((part) => sectionOf(part) === section);
}

/** All parts that are not multiparts, in order. */
function leaves(part: GmailPart, depth = 0): GmailPart[] {
  if (!isMultipart(part)) return [part];
  return depth < DEEPEST ? part.parts.flatMap((child) => leaves(child, depth + 1)) : [];
}

/** Gmail shows the parts of a message within the message, too. */
const isMultipart = ({ parts, mimeType }: GmailPart): boolean =>
  parts.length > 0 && !mimeType.toLowerCase().startsWith('message/');

/** Gmail gives the fields of the header unfolded and decoded to text, in their order. */
function headerBlock({ headers, mimeType }: GmailPart): Buffer {
  const hasType = headers.some(({ name }) => name.toLowerCase() === 'content-type');
  const fields = hasType ? headers : [...headers, { name: 'Content-Type', value: mimeType }];
  const lines = fields.map(
    ({ name, value }) => `${name}: ${value.replaceAll(/[\r\n]+/g, ' ')}\r\n`,
  );
  return Buffer.from(`${lines.join('')}\r\n`);
}

function outlineOf({ headers, mimeType, filename, body: { size } }: GmailPart) {
  const field = headers.find(({ name }) => name.toLowerCase() === 'content-disposition');
  const disposition = field?.value.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const isAttachment = disposition !== '' && disposition !== 'inline';
  return { type: mimeType.toLowerCase(), isAttachment, filename, size };
}
