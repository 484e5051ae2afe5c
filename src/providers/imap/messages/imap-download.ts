import type { ImapFlow } from 'imapflow';
import {
  transferDecoder,
  transferEncodingOf,
} from '../../../formats/mime/reading/transfer-encoding.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';

/** Bytes of a part that are requested at a time. */
export const PIECE_BYTES = 512 * 1024;

/**
 * The bytes of a part of a message, without the transfer encoding. Unlike `ImapFlow.download`, it
 * leaves the charset and the line ends of texts as they are.
 * @param encoding the part's Content-Transfer-Encoding
 * @throws {ProviderError} `not-found` if the message was removed, maybe between two pieces
 * @throws the library's errors
 */
export async function* decodedSection(
  client: ImapFlow,
  uid: number,
  section: string,
  encoding: string,
): AsyncGenerator<Buffer> {
  const decoder = transferDecoder(transferEncodingOf(encoding));
  for (let start = 0; ;) {
    const piece = await pieceOf(client, uid, section, start);
    const decoded = decoder.update(piece);
    if (decoded.length > 0) yield decoded;
    start += piece.length;
    // Some servers ignore the limit and send the whole part at once.
    if (piece.length !== PIECE_BYTES) break;
  }
  const rest = decoder.end();
  if (rest.length > 0) yield rest;
}

/**
 * The bytes of a section from a position on, at most `PIECE_BYTES` if the server obeys the limit.
 * @returns an empty buffer behind the end of the section
 */
async function pieceOf(
  client: ImapFlow,
  uid: number,
  section: string,
  start: number,
): Promise<Buffer> {
  const query = { uid: true, bodyParts: [{ key: section, start, maxLength: PIECE_BYTES }] };
  let piece: Buffer | undefined;
  // Servers may report new flags of this and other messages in between (RFC 9051 section 7.5.2).
  for await (const message of client.fetch(`${uid}`, query, { uid: true })) {
    if (message.uid !== uid || !message.bodyParts?.has(section)) continue;
    // The library has no bytes for NIL, which some servers send for an empty section.
    piece ??= message.bodyParts.get(section) || Buffer.alloc(0);
  }
  if (piece) return piece;
  throw new ProviderError('not-found', 'The message was removed, or its part cannot be read');
}
