import { newId } from '../common/ids/ids.ts';
import type { RemoteMessage } from '../providers/connector.ts';
import type { ParsedMessage } from './mime-parser.ts';

/** A message the mirror has. */
export interface KnownMessage {
  id: string;
  providerId: string;
  threadId: string;
  date: Date;
  unread: boolean;
  starred: boolean;
  draft: boolean;
  /** Provider's ids. */
  folderIds: readonly string[];
}

/** A message that was sent through the outbox: its ids have been told already. */
export interface SentByUs {
  messageIdHeader: string;
  messageId: string;
  threadId: string;
  metadata: Record<string, string> | null;
  /** Whether the mirror has a message with that id. */
  mirrored: boolean;
}

/** What the mirror knows about the messages of a batch. */
export interface Knowledge {
  known: ReadonlyMap<string, KnownMessage>;
  /** Thread of each Message-ID. */
  threads: ReadonlyMap<string, string>;
  sent: ReadonlyMap<string, SentByUs>;
}

/** A remote message with its content; `parsed` is null when only flags or folders changed. */
export interface IncomingMessage {
  remote: RemoteMessage;
  parsed: ParsedMessage | null;
}

/** A message to be written. */
export interface NewMessage extends ParsedMessage {
  id: string;
  threadId: string;
  remote: RemoteMessage;
  draft: boolean;
  metadata: Record<string, string>;
}

/** A message whose flags or folders are to be written. */
export interface ChangedMessage {
  known: KnownMessage;
  remote: RemoteMessage;
  draft: boolean;
  foldersChanged: boolean;
}

/** What a batch changes. */
export interface MirrorPlan {
  added: NewMessage[];
  changed: ChangedMessage[];
}

/** Provider's ids of the folder that holds drafts and of the one that holds sent mail. */
export interface StandardFolders {
  drafts: string | undefined;
  sent: string | undefined;
}

/**
 * Decides what a batch of remote messages changes in the mirror; a batch that was stored before changes nothing.
 * Conversations are found by In-Reply-To and References (RFC 5322, 3.6.4); the copy in Sent of a message of ours
 * takes the ids that the outbox has promised.
 */
export function planBatch(
  incoming: readonly IncomingMessage[],
  { known, threads, sent }: Knowledge,
  folders: StandardFolders,
): MirrorPlan {
  const plan: MirrorPlan = { added: [], changed: [] };
  const threadOf = new Map(threads);
  const taken = new Set<string>();
  const isDraft = (remote: RemoteMessage) =>
    folders.drafts !== undefined && remote.folderIds.includes(folders.drafts);
  const isSent = (remote: RemoteMessage) =>
    folders.sent !== undefined && remote.folderIds.includes(folders.sent);
  const oldestFirst = incoming.toSorted(
    (a, b) => a.remote.receivedAt.getTime() - b.remote.receivedAt.getTime(),
  );
  for (const { remote, parsed } of oldestFirst) {
    const mirrored = known.get(remote.providerId);
    if (mirrored) {
      const change = changeOf(mirrored, remote, isDraft(remote));
      if (change) plan.changed.push(change);
      continue;
    }
    if (!parsed) continue;
    const own = parsed.messageIdHeader === null ? undefined : sent.get(parsed.messageIdHeader);
    const threadId = own?.threadId ?? findThread(parsed, threadOf) ?? newId();
    if (parsed.messageIdHeader !== null) threadOf.set(parsed.messageIdHeader, threadId);
    const promised = own && isSent(remote) && !own.mirrored && !taken.has(own.messageId);
    const id = promised ? own.messageId : newId();
    taken.add(id);
    const metadata = own?.metadata ?? {};
    plan.added.push({ ...parsed, id, threadId, remote, draft: isDraft(remote), metadata });
  }
  return plan;
}

function findThread(
  { messageIdHeader, inReplyTo, references }: ParsedMessage,
  threadOf: ReadonlyMap<string, string>,
): string | undefined {
  // The nearest ancestor is the last of References.
  const candidates = [messageIdHeader, inReplyTo, ...references.toReversed()];
  return candidates.flatMap((header) => (header === null ? [] : (threadOf.get(header) ?? [])))[0];
}

function changeOf(known: KnownMessage, remote: RemoteMessage, draft: boolean): ChangedMessage | undefined {
  const foldersChanged =
    known.folderIds.length !== remote.folderIds.length ||
    remote.folderIds.some((id) => !known.folderIds.includes(id));
  const flagsChanged = known.unread !== remote.unread || known.starred !== remote.starred;
  return foldersChanged || flagsChanged || known.draft !== draft
    ? { known, remote, draft, foldersChanged }
    : undefined;
}
