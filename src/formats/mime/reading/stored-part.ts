import { headerFields } from './header-fields.ts';
import { describePart, type Part, type PartDescription } from './part.ts';
import { bufferOf, decodeTransfer } from './transfer-encoding.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** A part of a message that was fetched in parts. Nothing in it is decoded by the connector. */
export interface StoredPart {
  /** Identifies the part for `MailPort.openFile`. */
  section: string;
  /** Header of the part as it is stored; for the only part of a message, that of the message. */
  header: Uint8Array;
  /**
   * The parts of a multipart; `null` for every other part, also for a message within the message.
   */
  children: readonly StoredPart[] | null;
  /** Size in bytes, as the provider reports it. */
  size: number;
  /**
   * The content as it is stored; `null` if it was not fetched. Of a multipart, it is fetched if the
   * provider says that the parts are empty.
   */
  content: Uint8Array | null;
  /** Whether `content` and `size` are without the transfer encoding. */
  isDecoded: boolean;
}

/** The same part as the reader of whole messages gives it. Never throws. */
export function readStoredPart(stored: StoredPart, usualType = 'text/plain'): Part {
  const description = describePart(headerFields(bufferOf(stored.header)), usualType);
  const { section, children } = stored;
  const isMultipart = description.type.startsWith('multipart/');
  if (children && !isUnsplit(stored, description)) {
    const type = isMultipart ? description.type : 'multipart/mixed';
    const usual = type === 'multipart/digest' ? 'message/rfc822' : 'text/plain';
    const parts = children.map((child) => readStoredPart(child, usual));
    return { ...description, type, section, children: parts, size: 0, content: null, isCut: false };
  }
  const type = children
    ? 'text/plain'
    : isMultipart
      ? 'application/octet-stream'
      : description.type;
  const encoding = stored.isDecoded ? 'identity' : description.encoding;
  const content = stored.content && decodeTransfer(stored.content, encoding);
  const isCut = stored.content !== null && stored.content.length < stored.size;
  const size = content && !isCut ? content.length : decodedSize(stored, description);
  return { ...description, type, section, children: null, size, content, isCut };
}

/** Whether a multipart has content and no boundary: then it is read as plain text. */
const isUnsplit = ({ content }: StoredPart, { boundary }: PartDescription): boolean =>
  content !== null && content.length > 0 && !bufferOf(content).includes(`--${boundary}`);

/** Base64 has four characters for three bytes, and a line break after 76 characters. */
function decodedSize({ size, isDecoded }: StoredPart, { encoding }: PartDescription): number {
  return encoding === 'base64' && !isDecoded ? Math.floor((size * 57) / 78) : size;
}
