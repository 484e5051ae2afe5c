import type { FetchMessageObject, ImapFlow } from 'imapflow';
import type { MessageParts, StoredText } from '../port/connector.ts';
import { answersWithin, takeFetchLeftOut } from './imap-connection.ts';
import { planParts, type TextPart } from './imap-parts.ts';

/** Longest part of a header that is fetched. Bytes. */
const HEADER_BYTES = 1024 * 1024;
/** Longest part of each text that is fetched, as it is stored. Bytes. */
const TEXT_BYTES = 2 * 1024 * 1024;
/** How much is read of a message whose structure the server does not know. Bytes. */
const HEAD_BYTES = 256 * 1024;

/**
 * Fetches the important parts of a large message: its header, its texts, and the list of its files.
 * @param withStructure whether to request the structure; without it no files are listed
 * @returns `null` if the message was removed
 */
export async function fetchParts(
  client: ImapFlow,
  uid: number,
  withStructure: boolean,
): Promise<MessageParts | null> {
  const query = {
    uid: true,
    bodyStructure: withStructure,
    bodyParts: [{ key: 'HEADER', maxLength: HEADER_BYTES }],
  };
  takeFetchLeftOut(client);
  const message = await client.fetchOne(`${uid}`, query, { uid: true });
  if (!message && withStructure && takeFetchLeftOut(client)) return fetchParts(client, uid, false);
  if (!message) return null;
  const headers = message.headers ?? Buffer.from('\r\n');
  if (!message.bodyStructure) return fetchHead(client, uid, headers);
  const { texts, files, calendars } = planParts(message.bodyStructure);
  const wanted = [...texts, ...calendars];
  const stored = wanted.length === 0 ? undefined : await fetchTexts(client, uid, wanted);
  const storedOf = (parts: readonly TextPart[]): StoredText[] =>
    parts.flatMap(({ section, ...part }) => {
      const bytes = stored?.get(section);
      return bytes ? [{ ...part, bytes }] : [];
    });
  return { headers, texts: storedOf(texts), files, calendars: storedOf(calendars) };
}

async function fetchTexts(
  client: ImapFlow,
  uid: number,
  texts: readonly TextPart[],
): Promise<FetchMessageObject['bodyParts']> {
  const bodyParts = texts.map(({ section }) => ({ key: section, maxLength: TEXT_BYTES }));
  const message = await answersWithin(
    client,
    { literalBytes: (texts.length + 1) * TEXT_BYTES },
    () => client.fetchOne(`${uid}`, { uid: true, bodyParts }, { uid: true }),
  );
  return message ? message.bodyParts : undefined;
}

/**
 * Without the structure the files cannot be listed. The text, if any, is expected at the beginning.
 */
async function fetchHead(
  client: ImapFlow,
  uid: number,
  headers: Buffer,
): Promise<MessageParts | null> {
  const message = await client.fetchOne(
    `${uid}`,
    { uid: true, source: { maxLength: HEAD_BYTES } },
    { uid: true },
  );
  if (!message) return null;
  return { headers, texts: [], head: message.source ?? headers, files: [] };
}
