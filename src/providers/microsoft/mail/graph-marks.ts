import { hash } from 'node:crypto';

/*
 * Marks by which Carillon recognises its own messages (ADR 0124). Exchange keeps Message-IDs as a
 * rule; it is not known to promise that.
 */

const MARK_HEADER = 'X-Message-Mark';

/** Internet headers as named properties (MS-OXPROPS, PS_INTERNET_HEADERS). */
export const MARK_PROPERTY = `String {00020386-0000-0000-C000-000000000046} Name ${MARK_HEADER}`;

/** The mark of a message. It reveals nothing about the message and cannot be guessed. */
export const markOf = (messageIdHeader: string): string =>
  hash('sha256', messageIdHeader, 'base64url').slice(0, 22);

/** The mark in the header block of a message; `null` if there is none. */
export const markIn = (headers: string): string | null =>
  /^X-Message-Mark:[ \t]*(\S{1,100})/im.exec(headers)?.[1] ?? null;

/** The message with its mark. The same message has the same mark in every attempt. */
export function withMark(mime: Buffer, messageIdHeader: string): Buffer {
  return Buffer.concat([Buffer.from(`${MARK_HEADER}: ${markOf(messageIdHeader)}\r\n`), mime]);
}
