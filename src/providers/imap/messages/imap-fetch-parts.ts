import type { FetchMessageObject, ImapFlow } from 'imapflow';
import type { MessageParts, StoredPart } from '../../port/connector.ts';
import { answersWithin, takeFetchLeftOut } from '../sessions/imap-connection.ts';
import { isImapRefusal } from '../imap-error.ts';
import { type PartsPlan, planParts } from './imap-parts.ts';

/** Longest part of a header that is fetched. Bytes. */
const HEADER_BYTES = 1024 * 1024;
/** Longest header of a part that is fetched. Bytes. */
const PART_HEADER_BYTES = 16 * 1024;
/** Parts whose headers are fetched; of others, only what the structure says is known. */
const MOST_PART_HEADERS = 500;
/** Parts of one command: servers limit the length of commands. */
const MOST_PER_COMMAND = 50;
/** How much is read of a message whose structure the server does not know. Bytes. */
const HEAD_BYTES = 256 * 1024;
/** What a server may send more than it was asked for. Bytes. */
const LITTLE_BYTES = 64 * 1024;

/**
 * Fetches the important parts of a large message: its header, its texts, and the headers of its
 * files.
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
  const plan = planParts(message.bodyStructure, headers);
  // Servers describe a multipart that they cannot split as one that is empty.
  if (plan.root.children && plan.leaves.every(({ size }) => size === 0))
    return fetchHead(client, uid, headers);
  return { headers, root: completed(plan.root, await fetchPlanned(client, uid, plan)) };
}

/** What was fetched of a part. */
type Fetched = Partial<Pick<StoredPart, 'header' | 'content'>>;

/** A part that is fetched, and under which name. */
interface Request {
  part: StoredPart;
  what: keyof Fetched;
  key: string;
  maxLength: number;
}

async function fetchPlanned(
  client: ImapFlow,
  uid: number,
  { root, leaves, wanted }: PartsPlan,
): Promise<Map<StoredPart, Fetched>> {
  const headers = root.children
    ? leaves.slice(0, MOST_PART_HEADERS).map((part): Request => {
        return { part, what: 'header', key: `${part.section}.mime`, maxLength: PART_HEADER_BYTES };
      })
    : [];
  const contents = [...wanted].map(([part, maxLength]): Request => {
    return { part, what: 'content', key: part.section, maxLength };
  });
  const fetched = new Map<StoredPart, Fetched>();
  for (const requests of inCommands([...headers, ...contents])) {
    const bodyParts = await fetchSome(client, uid, requests);
    for (const { part, what, key } of requests) {
      const bytes = bodyParts?.get(key);
      if (bytes) fetched.set(part, { ...fetched.get(part), [what]: bytes });
    }
  }
  return fetched;
}

function* inCommands(requests: readonly Request[]): Generator<readonly Request[]> {
  for (let at = 0; at < requests.length; at += MOST_PER_COMMAND)
    yield requests.slice(at, at + MOST_PER_COMMAND);
}

async function fetchSome(
  client: ImapFlow,
  uid: number,
  requests: readonly Request[],
): Promise<FetchMessageObject['bodyParts']> {
  const bodyParts = requests.map(({ key, maxLength }) => ({ key, maxLength }));
  const literalBytes = requests.reduce((sum, { maxLength }) => sum + maxLength, LITTLE_BYTES);
  try {
    const message = await answersWithin(client, { literalBytes }, () =>
      client.fetchOne(`${uid}`, { uid: true, bodyParts }, { uid: true }),
    );
    return message ? message.bodyParts : undefined;
  } catch (error) {
    // Some servers do not know the headers of parts; what the structure says is enough then.
    const contents = requests.filter(({ what }) => what === 'content');
    if (!isImapRefusal(error) || contents.length === requests.length) throw error;
    return contents.length === 0 ? undefined : fetchSome(client, uid, contents);
  }
}

/** The parts with what was fetched of them. */
function completed(part: StoredPart, fetched: ReadonlyMap<StoredPart, Fetched>): StoredPart {
  const { children } = part;
  if (!children) return { ...part, ...fetched.get(part) };
  const all = children.map((child) => completed(child, fetched));
  return { ...part, ...fetched.get(part), children: all };
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
  return { headers, root: null, head: message.source ?? headers };
}
