import { newId } from '../platform/base/ids/ids.ts';
import type { RemoteMessage } from '../providers/port/connector.ts';
import type { ParsedMessage } from '../mail/parsing/mime-parser.ts';
import { type KnownThread, ThreadPlan } from '../mail/threading/thread-plan.ts';
import {
  contentKey,
  type KnownMessage,
  type StrayMessage,
} from '../mail/messages/mirrored-messages.ts';
import { MAX_EMAIL_LENGTH } from '../mail/messages/people.ts';
import type { SentByUs } from '../mail/outbox/sent-by-us.ts';

/** What of a message is being written to the provider right now: what the provider says of it is out of date. */
export interface OpenWrite {
  unread: boolean;
  starred: boolean;
  folders: boolean;
}

/** What the mirror knows about the messages of a batch. */
export interface Knowledge {
  known: ReadonlyMap<string, KnownMessage>;
  strays: readonly StrayMessage[];
  /** By our id of the message. */
  writes: ReadonlyMap<string, OpenWrite>;
  /** Conversation of each Message-ID. */
  threads: ReadonlyMap<string, KnownThread>;
  /** Conversations that subjects connect messages with, by the provider's id of the message. */
  subjects: ReadonlyMap<string, string>;
  sent: ReadonlyMap<string, SentByUs>;
  /** Provider's ids of versions of our drafts that are being replaced or have just been: they are not messages. */
  draftVersions: ReadonlySet<string>;
}

/** Whose mailbox it is. */
export interface MailboxTraits {
  email: string;
  /** Provider's ids of the folder that holds drafts and of the one that holds sent mail. */
  drafts: string | undefined;
  sent: string | undefined;
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
  /** Addresses of from, to, cc and bcc. */
  participants: readonly string[];
}

/** A message whose flags, folders or place are to be written. */
export interface ChangedMessage {
  known: KnownMessage;
  /** As it is to be shown. */
  remote: RemoteMessage;
  draft: boolean;
  foldersChanged: boolean;
  /** Whether anything changes that can be seen; false: only what the provider calls it. */
  visible: boolean;
}

/** What a batch changes. */
export interface MirrorPlan {
  added: NewMessage[];
  changed: ChangedMessage[];
  /** Conversations that have turned out to be part of others. */
  merged: { from: string; into: string }[];
  /** Message-IDs whose conversation is known now. */
  named: { header: string; threadId: string }[];
  /** What the provider says of messages with an open write: they are to be so if it does not take that. */
  said: { id: string; remote: RemoteMessage }[];
}

/** Addresses of from, to, cc and bcc, each once, lower case. */
export function participantsOf({ from, to, cc, bcc }: ParsedMessage): string[] {
  const emails = [from, to, cc, bcc].flat().map(({ email }) => email.toLowerCase());
  return [...new Set(emails.filter(({ length }) => length <= MAX_EMAIL_LENGTH))];
}

/**
 * Decides what a batch of remote messages changes in the mirror; a batch that was stored before changes nothing.
 * A message that is new in one place and gone from another is the same message; the copy in Sent of a message of ours
 * takes the ids that the outbox has promised.
 */
export function planBatch(
  incoming: readonly IncomingMessage[],
  knowledge: Knowledge,
  mailbox: MailboxTraits,
): MirrorPlan {
  const { known, writes, threads, subjects, sent, draftVersions } = knowledge;
  const plan: MirrorPlan = { added: [], changed: [], merged: [], named: [], said: [] };
  const threadPlan = new ThreadPlan(threads, mailbox.email);
  const strays = new Strays(knowledge.strays);
  const taken = new Set<string>();
  const isIn = (folderId: string | undefined, remote: RemoteMessage) =>
    folderId !== undefined && remote.folderIds.includes(folderId);
  const oldestFirst = incoming.toSorted(
    (a, b) => a.remote.receivedAt.getTime() - b.remote.receivedAt.getTime(),
  );
  for (const { remote, parsed } of oldestFirst) {
    const mirrored = known.get(remote.providerId) ?? (parsed && strays.take(parsed, remote));
    if (mirrored) {
      const write = writes.get(mirrored.id);
      if (write) plan.said.push({ id: mirrored.id, remote });
      const change = changeOf(mirrored, remote, write, mailbox.drafts);
      if (change) plan.changed.push(change);
      continue;
    }
    if (!parsed || draftVersions.has(remote.providerId)) continue;
    const own = parsed.messageIdHeader === null ? undefined : sent.get(parsed.messageIdHeader);
    const participants = participantsOf(parsed);
    const threaded = { ...parsed, date: remote.receivedAt, participants };
    const threadId = threadPlan.place(threaded, own?.threadId, subjects.get(remote.providerId));
    const promised =
      own && isIn(mailbox.sent, remote) && !own.mirrored && !taken.has(own.messageId);
    const id = promised ? own.messageId : newId();
    taken.add(id);
    const [draft, metadata] = [isIn(mailbox.drafts, remote), own?.metadata ?? {}];
    plan.added.push({ ...parsed, id, threadId, remote, draft, metadata, participants });
  }
  for (const message of plan.added) message.threadId = threadPlan.final(message.threadId);
  return { ...plan, merged: threadPlan.merged(), named: threadPlan.named() };
}

/** Messages that look for their new place; each finds one at most. */
class Strays {
  readonly #byHeader: Map<string | null, StrayMessage[]>;

  constructor(strays: readonly StrayMessage[]) {
    this.#byHeader = Map.groupBy(strays, ({ messageIdHeader }) => messageIdHeader);
  }

  /** Of several copies the one that was received at the same time. */
  take(parsed: ParsedMessage, { receivedAt }: RemoteMessage): StrayMessage | undefined {
    const candidates = this.#byHeader.get(parsed.messageIdHeader);
    if (!candidates || candidates.length === 0) return undefined;
    const key = parsed.messageIdHeader === null ? contentKey(parsed) : null;
    const same = candidates.filter((one) => one.contentKey === key);
    const found = same.find(({ date }) => date.getTime() === receivedAt.getTime()) ?? same[0];
    if (found) candidates.splice(candidates.indexOf(found), 1);
    return found;
  }
}

/** What is being written stays as the mirror shows it: the provider will say the same soon. */
function changeOf(
  known: KnownMessage,
  said: RemoteMessage,
  write: OpenWrite | undefined,
  drafts: string | undefined,
): ChangedMessage | undefined {
  const remote: RemoteMessage = {
    ...said,
    unread: write?.unread ? known.unread : said.unread,
    starred: write?.starred ? known.starred : said.starred,
    folderIds: write?.folders ? known.folderIds : said.folderIds,
  };
  const foldersChanged =
    known.folderIds.length !== remote.folderIds.length ||
    remote.folderIds.some((id) => !known.folderIds.includes(id));
  const draft = drafts !== undefined && remote.folderIds.includes(drafts);
  const visible =
    foldersChanged ||
    known.draft !== draft ||
    known.unread !== remote.unread ||
    known.starred !== remote.starred;
  return visible || known.providerId !== remote.providerId
    ? { known, remote, draft, foldersChanged, visible }
    : undefined;
}
