import { hash } from 'node:crypto';

/* Marks by which Carillon recognises its own messages at Gmail (ADR 0123). */

/**
 * Header with the mark. Gmail may replace the Message-ID of a message that it sends; people report
 * that it keeps headers of other names. Recipients see the header, too.
 */
export const MARK_HEADER = 'X-Message-Mark';

/** How a marked message came to Gmail: it was sent, filed as a copy, or saved as a draft. */
export type MarkKind = 'send' | 'copy' | 'draft';

/**
 * The mark of a message: 128 bits of a hash of its Message-ID. Who does not know the Message-ID
 * cannot guess the mark, and a mark tells nothing about its message.
 */
export function markOf(kind: MarkKind, messageIdHeader: string): string {
  return `${kind}.${hash('sha256', messageIdHeader, 'base64url').slice(0, 22)}`;
}

/** The message with its mark. The same message has the same mark in every attempt. */
export function withMark(mime: Buffer, kind: MarkKind, messageIdHeader: string): Buffer {
  return Buffer.concat([Buffer.from(`${MARK_HEADER}: ${markOf(kind, messageIdHeader)}\r\n`), mime]);
}
