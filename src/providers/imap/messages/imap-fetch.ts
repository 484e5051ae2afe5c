import type { FetchMessageObject, ImapFlow } from 'imapflow';
import type { MessageContent, MessageParts, StoredPart } from '../../port/connector.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { answersWithin } from '../sessions/imap-connection.ts';
import { uidSets } from '../changes/imap-cursor.ts';
import { isImapRefusal } from '../imap-error.ts';
import { fetchParts } from './imap-fetch-parts.ts';
import type { FatalMessages } from './imap-fatal-messages.ts';

/** Messages larger than this are not fetched whole. Bytes. */
const WHOLE_BYTES = 256 * 1024;
/** Tolerance, because the size that servers report can differ from what they send. Bytes. */
const LITTLE_BYTES = 64 * 1024;
/** No caller requests this many messages at once. */
const MOST_METAS = 200_000;
/**
 * How often a refused message is requested: a server with a temporary fault refuses what it would
 * deliver a moment later.
 */
const TRIES = 4;
/**
 * If this many messages are refused and more are refused than delivered, the server is at fault,
 * not the messages.
 */
const MOST_REFUSED = 3;

export interface MessageMeta {
  uid: number;
  unread: boolean;
  starred: boolean;
  /**
   * INTERNALDATE. If the server reports none or an unreadable one: the `Date` header, else the time
   * of this look.
   */
  receivedAt: Date;
  /** Bytes, as reported by the server. */
  size: number;
  /** With angle brackets. `null` if it was not requested, or if the message has no readable one. */
  messageIdHeader: string | null;
}

/**
 * Flags, dates and sizes of the messages in a range of UIDs or, with `uid: false`, of positions.
 * Newest first.
 */
export async function fetchMetas(
  client: ImapFlow,
  range: string,
  options: { uid?: boolean; changedSince?: bigint; size?: true; messageId?: boolean } = {},
): Promise<MessageMeta[]> {
  const { uid = true, changedSince, size, messageId = false } = options;
  const metas = new Map<number, MessageMeta>();
  const undated = new Set<number>();
  let count = 0;
  const query = { uid: true, flags: true, internalDate: true, ...(size ? { size } : {}) } as const;
  const asked = messageId ? { ...query, headers: ['Message-ID'] } : query;
  for await (const message of client.fetch(range, asked, {
    uid,
    ...(changedSince ? { changedSince } : {}),
  })) {
    // A server may report any message at any time, with any subset of its data.
    if (!message.uid || !message.flags) continue;
    count += 1;
    if (count > MOST_METAS) continue;
    const receivedAt = plausibleDate(message.internalDate);
    if (receivedAt) metas.set(message.uid, metaOf(message, receivedAt));
    else undated.add(message.uid);
  }
  if (count > MOST_METAS)
    throw new ProviderError('temporary', 'The server listed more messages than were requested');
  const missing = [...undated].filter((one) => !metas.has(one));
  for (const meta of await dateByHeader(client, missing, query)) metas.set(meta.uid, meta);
  return [...metas.values()].sort((a, b) => b.uid - a.uid);
}

/**
 * Requests messages again that were reported without a readable date, with their `Date` header.
 * Servers also report messages that were not requested, then without a date.
 */
async function dateByHeader(
  client: ImapFlow,
  uids: readonly number[],
  query: { uid: true; flags: true; internalDate: true; size?: true },
): Promise<MessageMeta[]> {
  const now = new Date();
  const metas: MessageMeta[] = [];
  const wanted = new Set(uids);
  for (const set of uidSets(uids)) {
    const asked = { ...query, headers: ['Date'] };
    for await (const message of client.fetch(set, asked, { uid: true })) {
      if (!message.flags || !wanted.delete(message.uid)) continue;
      const receivedAt = plausibleDate(message.internalDate) ?? dateHeader(message.headers) ?? now;
      metas.push(metaOf(message, receivedAt));
    }
  }
  return metas;
}

function dateHeader(headers: Buffer | undefined): Date | null {
  const [, value = ''] =
    /^date:([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)/im.exec(headers?.toString('latin1') ?? '') ?? [];
  return plausibleDate(value.replace(/\([^()]*\)/g, '').trim());
}

/** Some servers report the beginning of 1970 for an unknown date. Milliseconds. */
const EARLIEST_MS = 2 * 86_400_000;

function plausibleDate(value: Date | string | undefined): Date | null {
  const date = new Date(value ?? Number.NaN);
  return date.getTime() > EARLIEST_MS ? date : null;
}

/** The only Message-ID of a header block without other fields. */
const MESSAGE_ID = /^message-id:\s*(<[^<>\s]+>)\s*$/i;

function metaOf({ uid, flags, size, headers }: FetchMessageObject, receivedAt: Date): MessageMeta {
  return {
    uid,
    unread: !flags?.has('\\Seen'),
    starred: flags?.has('\\Flagged') ?? false,
    receivedAt,
    size: size ?? 0,
    messageIdHeader: MESSAGE_ID.exec(headers?.toString('latin1') ?? '')?.[1] ?? null,
  };
}

/** The first messages that fit into `bytes`; at least one. */
export function fitting(metas: readonly MessageMeta[], bytes: number): readonly MessageMeta[] {
  let sum = 0;
  const end = metas.findIndex(({ size }, index) => {
    sum += Math.min(size, WHOLE_BYTES);
    return index > 0 && sum > bytes;
  });
  return end === -1 ? metas : metas.slice(0, end);
}

/** Contents of messages by UID, and their total size. */
export interface Contents {
  contents: ReadonlyMap<number, MessageContent>;
  bytes: number;
  /**
   * UID of the first message that did not fit; it and all after it were not fetched. `null` if all
   * were.
   */
  leftAt: number | null;
}

/**
 * Fetches contents: small messages whole and together, large ones in parts. Messages that were
 * removed meanwhile are left out. A message that the server refuses repeatedly, even when requested
 * alone, is `unreadable`.
 * @param metas newest first
 * @param bytes once this is used up, the remaining large messages are not fetched
 * @throws the library's errors: for a lost connection, or if the server refuses everything
 */
export async function fetchContents(
  client: ImapFlow,
  metas: readonly MessageMeta[],
  bytes: number,
  fatal: FatalMessages,
): Promise<Contents> {
  const contents = new Map<number, MessageContent>();
  const nameOf = (uid: number) => `${client.mailbox ? client.mailbox.path : ''};${uid}`;
  for (const { uid } of metas.filter((meta) => fatal.mustSkip(nameOf(meta.uid)))) {
    contents.set(uid, {
      kind: 'unreadable',
      reason: 'The connection ends whenever this message is requested',
    });
  }
  const asked = metas.filter(({ uid }) => !contents.has(uid));
  const smallOnes = asked.filter(({ size }) => size <= WHOLE_BYTES);
  const small = smallOnes.map(({ uid }) => uid);
  // A server that reported a small message must not send a large one instead.
  const said = smallOnes.reduce((sum, { size }) => sum + LITTLE_BYTES + 2 * size, 0);
  const most = Math.max(LITTLE_BYTES + 2 * WHOLE_BYTES, fatal.careful ? 0 : said);
  const sources = await answersWithin(client, { literalBytes: most }, () =>
    fatal.careful
      ? oneByOne(client, small, (uid, fetch) => fatal.watch([nameOf(uid)], fetch))
      : fatal.watch(small.map(nameOf), () => allTogether(client, small)),
  );
  let spent = 0;
  for (const [uid, content] of sources) {
    contents.set(uid, content);
    if (content.kind === 'mime') spent += content.mime.length;
  }
  for (const { uid } of asked.filter(({ size }) => size > WHOLE_BYTES)) {
    if (spent > bytes) return { contents, bytes: spent, leftAt: uid };
    const content = await fatal.watch([nameOf(uid)], () =>
      largeOne(client, uid, !fatal.mayBeFatal(nameOf(uid))),
    );
    if (content) contents.set(uid, content);
    if (content?.kind === 'parts') spent += bytesOf(content.parts);
  }
  return { contents, bytes: spent, leftAt: null };
}

const bytesOf = ({ headers, root, head }: MessageParts) =>
  headers.length + (head?.length ?? 0) + (root ? contentBytes(root) : 0);

const contentBytes = ({ content, children }: StoredPart): number =>
  (children ?? []).reduce((sum, child) => sum + contentBytes(child), content?.length ?? 0);

type Found = Map<number, MessageContent>;

/** Requests all messages with one command, then the missing ones one by one. */
async function allTogether(client: ImapFlow, uids: readonly number[]): Promise<Found> {
  const found: Found = new Map();
  for (const set of uidSets(uids)) {
    try {
      for await (const { uid, source } of client.fetch(
        set,
        { uid: true, source: true },
        { uid: true },
      )) {
        if (source) found.set(uid, { kind: 'mime', mime: source });
      }
    } catch (error) {
      if (!isImapRefusal(error)) throw error;
    }
  }
  const missing = uids.filter((uid) => !found.has(uid));
  let refused = 0;
  for (const uid of missing) {
    const answer = await sourceOf(client, uid);
    if ('error' in answer) refused += 1;
    if ('error' in answer && refused >= MOST_REFUSED && found.size < refused) throw answer.error;
    const content = contentOf(answer);
    if (content) found.set(uid, content);
  }
  return found;
}

async function oneByOne(
  client: ImapFlow,
  uids: readonly number[],
  watch: <T>(uid: number, fetch: () => Promise<T>) => Promise<T>,
): Promise<Found> {
  const found: Found = new Map();
  for (const uid of uids) {
    const content = contentOf(await watch(uid, () => sourceOf(client, uid)));
    if (content) found.set(uid, content);
  }
  return found;
}

const sourceOf = (client: ImapFlow, uid: number) =>
  insistOn(() => client.fetchOne(`${uid}`, { uid: true, source: true }, { uid: true }));

async function largeOne(
  client: ImapFlow,
  uid: number,
  withStructure: boolean,
): Promise<MessageContent | null> {
  const answer = await insistOn(() => fetchParts(client, uid, withStructure));
  if ('error' in answer) return unreadable(answer.error);
  return answer.value && { kind: 'parts', parts: answer.value };
}

function contentOf(answer: Answer<FetchMessageObject | false | undefined>): MessageContent | null {
  if ('error' in answer) return unreadable(answer.error);
  if (!answer.value) return null;
  const { source } = answer.value;
  return source
    ? { kind: 'mime', mime: source }
    : { kind: 'unreadable', reason: 'The server returns no content for this message' };
}

function unreadable(error: unknown): MessageContent {
  const { responseText } = error as { responseText?: unknown };
  const words = typeof responseText === 'string' ? responseText.slice(0, 500) : '';
  return {
    kind: 'unreadable',
    reason: `The server refuses this message: ${words || 'without a reason'}`,
  };
}

type Answer<T> = { value: T } | { error: unknown };

/** Repeats a request that the server refuses, a few times. */
async function insistOn<T>(ask: () => Promise<T>): Promise<Answer<T>> {
  let refusal: unknown;
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      return { value: await ask() };
    } catch (error) {
      if (!isImapRefusal(error)) throw error;
      refusal = error;
    }
  }
  return { error: refusal };
}
