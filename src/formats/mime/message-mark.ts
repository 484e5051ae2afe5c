import { hash } from 'node:crypto';
import { isId } from '../../platform/base/ids/ids.ts';

/*
 * Marks by which Carillon recognises its own messages at providers that replace Message-IDs (ADR
 * 0123). A mark is the hash of the Message-ID, then the id with which that Message-ID begins, if
 * Carillon has generated it.
 */

/** Header with the mark. Recipients see it, too. */
export const MARK_HEADER = 'X-Message-Mark';

const DIGEST_LENGTH = 22;
const ID_LENGTH = 36;

/** How a marked message came to its provider: it was sent, filed as a copy, or saved as a draft. */
export type MarkKind = 'send' | 'copy' | 'draft';

/**
 * The id with which a Message-ID begins that Carillon has generated; `null` for others. Some other
 * programs write such ids, too.
 */
export function idOfMessageId(messageIdHeader: string): string | null {
  const id = messageIdHeader.slice(1, 1 + ID_LENGTH);
  return isId(id) ? id : null;
}

/**
 * The digest of a mark: 128 bits of a hash of the Message-ID. Nobody can guess it who does not know
 * the Message-ID.
 */
export const markDigest = (messageIdHeader: string): string =>
  hash('sha256', messageIdHeader, 'base64url').slice(0, DIGEST_LENGTH);

/** The mark of a message, which says nothing that its Message-ID does not say. */
export function markOf(messageIdHeader: string): string {
  const id = idOfMessageId(messageIdHeader);
  return markDigest(messageIdHeader) + (id === null ? '' : `.${id}`);
}

/** The mark of a message with what was done with it. */
export const markOfKind = (kind: MarkKind, messageIdHeader: string): string =>
  `${kind}.${markOf(messageIdHeader)}`;

/** A mark that was read from a message. */
export interface ReadMark {
  /** The id with which the Message-ID began; `null` if the sender chose the Message-ID. */
  id: string | null;
  /** `markDigest` of the Message-ID. */
  digest: string;
}

const MARK = new RegExp(
  `^${MARK_HEADER}:(?:[ \\t]|\\r?\\n[ \\t])*(?:[a-z]+\\.)?([\\w-]{${DIGEST_LENGTH}})(?:\\.(\\S{${ID_LENGTH}}))?[ \\t]*\\r?$`,
  'im',
);

/** Reads the mark in the header block of a message; `null` if there is none. */
export function markIn(headers: string): ReadMark | null {
  const [, digest, id = ''] = MARK.exec(headers) ?? [];
  if (digest === undefined) return null;
  return { id: isId(id) ? id : null, digest };
}

/** The message with a mark. The same message has the same mark in every attempt. */
export function withMark(mime: Buffer, mark: string): Buffer {
  return Buffer.concat([Buffer.from(`${MARK_HEADER}: ${mark}\r\n`), mime]);
}
