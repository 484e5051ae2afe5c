import type { ImapFlow } from 'imapflow';
import {
  transferDecoder,
  transferEncodingOf,
} from '../../formats/mime/reading/transfer-encoding.ts';

/** Bytes of a part that are requested at a time. */
const PIECE_BYTES = 512 * 1024;

/**
 * The bytes of a part of a message, without the transfer encoding. Unlike `ImapFlow.download`, it
 * leaves the charset and the line ends of texts as they are.
 * @param encoding the part's Content-Transfer-Encoding
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
    const bodyParts = [{ key: section, start, maxLength: PIECE_BYTES }];
    const message = await client.fetchOne(`${uid}`, { uid: true, bodyParts }, { uid: true });
    const piece = message ? message.bodyParts?.get(section) : undefined;
    if (!piece || piece.length === 0) break;
    const decoded = decoder.update(piece);
    if (decoded.length > 0) yield decoded;
    start += piece.length;
    // Some servers ignore the limit and send the whole part at once.
    if (piece.length !== PIECE_BYTES) break;
  }
  const rest = decoder.end();
  if (rest.length > 0) yield rest;
}
