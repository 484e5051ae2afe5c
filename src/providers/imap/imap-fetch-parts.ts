import type { FetchMessageObject, ImapFlow } from 'imapflow';
import type { MessageParts, StoredText } from '../port/connector.ts';
import { answersWithin, takeFetchLeftOut } from './imap-connection.ts';
import { planParts, type TextPart } from './imap-parts.ts';

/** So much is fetched of a message's header. Bytes. */
const HEADER_BYTES = 1024 * 1024;
/** So much is fetched of each text, as it is stored. Bytes. */
const TEXT_BYTES = 2 * 1024 * 1024;
/** So much of a message is read whose structure the server does not know. Bytes. */
const HEAD_BYTES = 256 * 1024;

/**
 * What is worth having of a large message: its header, its texts, and what files there are.
 * @param withStructure whether the server is asked for the structure; without it there are no files
 * @returns null: it is gone
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

/** Its files cannot be told without its structure; its text is at the beginning, if it has one. */
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
