import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import type { RemoteMessage } from '../../providers/port/connector.ts';
import type { ParsedMessage } from '../../mail/parsing/mime-parser.ts';
import { providerThreadKey } from '../../mail/threading/provider-threads.ts';
import { type KnownThread, ThreadPlan } from '../../mail/threading/thread-plan.ts';
import {
  contentKey,
  type KnownMessage,
  type MessageContents,
  type UnplacedMessage,
} from '../../mail/messages/mirror/mirrored-messages.ts';
import { MAX_EMAIL_LENGTH } from '../../mail/messages/filters/people.ts';
import { type SentByUs, storedCopyKey } from '../../mail/outbox/sent-by-us.ts';

/**
 * Fields of a message with an open provider write. What the provider reports for such a field is
 * out of date.
 */
export interface OpenWrite {
  unread: boolean;
  starred: boolean;
  folders: boolean;
}

/** What the mirror knows about the messages of a batch. */
export interface Knowledge {
  known: ReadonlyMap<string, KnownMessage>;
  unplaced: readonly UnplacedMessage[];
  /** By our message id. */
  writes: ReadonlyMap<string, OpenWrite>;
  /** Thread of each key of `threadKeysOf`. */
  threads: ReadonlyMap<string, KnownThread>;
  /** Threads found by subject, by the provider id of the message. */
  subjects: ReadonlyMap<string, string>;
  sent: ReadonlyMap<string, SentByUs>;
  /**
   * Provider ids of versions of our drafts that are being replaced or have just been replaced. They
   * are not added as messages.
   */
  draftVersions: ReadonlySet<string>;
}

/** The mailbox the batch belongs to. */
export interface MailboxTraits {
  email: string;
  /** Provider ids of the drafts folder and of the Sent folder. */
  drafts: string | undefined;
  sent: string | undefined;
}

/**
 * A remote message with its parsed content; `parsed` is `null` if only flags or folders changed.
 */
export interface IncomingMessage {
  remote: RemoteMessage;
  parsed: ParsedMessage | null;
}

/** True if only what a listing shows of the message is known. */
export function isListed({ content }: Pick<RemoteMessage, 'content'>): boolean {
  return content?.kind === 'listed';
}

/** True if the provider failed on the content of the message. */
export function isFailed({ content }: Pick<RemoteMessage, 'content'>): boolean {
  return content?.kind === 'listed' && content.failed !== undefined;
}

/**
 * True if the message can be compared by its content with others. A listed message cannot, because
 * its content is unknown.
 */
export function isComparable(remote: RemoteMessage, { messageIdHeader }: ParsedMessage): boolean {
  return messageIdHeader !== null || !isListed(remote);
}

/** A message to be added to the mirror. */
export interface NewMessage extends ParsedMessage {
  id: string;
  /** `null` for a message that was sent from here and that the provider has not reported yet. */
  providerId: string | null;
  threadId: string;
  remote: RemoteMessage;
  draft: boolean;
  metadata: Record<string, string>;
  /** Addresses of From, To, Cc and Bcc. */
  participants: readonly string[];
}

/** A message whose flags, folders or provider id are to be updated. */
export interface ChangedMessage {
  known: KnownMessage;
  /** The state to show. */
  remote: RemoteMessage;
  draft: boolean;
  foldersChanged: boolean;
  /** True for a sent message whose copy has another date. The message takes that date. */
  redated: boolean;
  /** True if clients can see the change; false if only the provider id changes. */
  visible: boolean;
}

/** A message that the mirror has already, with its content as the provider has it now. */
export interface ReadAgain {
  id: string;
  remote: RemoteMessage;
  parsed: ParsedMessage;
}

/** The changes of a batch. */
export interface MirrorPlan {
  added: NewMessage[];
  changed: ChangedMessage[];
  /** Threads that turned out to be part of other threads. */
  merged: { from: string; into: string }[];
  /** Keys of `threadKeysOf` whose thread is now known. */
  named: { header: string; threadId: string }[];
  /** Threads of messages that the mirror has already and whose provider thread was reported. */
  knownThreadIds: string[];
  /**
   * The provider's state of messages with an open provider write. Used to restore the messages if
   * the provider refuses the write.
   */
  reported: { id: string; remote: RemoteMessage }[];
  /** Drafts that the mirror has already, with their contents now. These may be the same. */
  drafts: ReadAgain[];
  /**
   * Sent messages that the mirror had before the provider reported its copies, with the contents of
   * these copies. Most are the same.
   */
  copies: ReadAgain[];
  /**
   * Provider ids of messages that came without content because the mirror had recognised them, and
   * that the mirror does not have any more. Their contents have to be read.
   */
  missing: string[];
}

/** Addresses of From, To, Cc and Bcc, in lower case and without duplicates. */
export function participantsOf({ from, to, cc, bcc }: ParsedMessage): string[] {
  const emails = [from, to, cc, bcc].flat().map(({ email }) => email.toLowerCase());
  return [...new Set(emails.filter(({ length }) => length <= MAX_EMAIL_LENGTH))];
}

/**
 * Decides what a batch of remote messages changes in the mirror. A batch that was stored before
 * changes nothing. A message that is new in one folder and removed from another is treated as
 * moved. The Sent copy of a message we sent takes the ids that the outbox promised to the client,
 * or completes the message with these ids that the mirror has already. It is found by its
 * Message-ID, or by the id under which the provider stored it.
 */
export function planBatch(
  incoming: readonly IncomingMessage[],
  knowledge: Knowledge,
  mailbox: MailboxTraits,
): MirrorPlan {
  const { known, writes, threads, subjects, sent, draftVersions } = knowledge;
  const plan: MirrorPlan = {
    added: [],
    changed: [],
    merged: [],
    named: [],
    knownThreadIds: [],
    reported: [],
    drafts: [],
    copies: [],
    missing: [],
  };
  const threadPlan = new ThreadPlan(threads, mailbox.email);
  const strays = new UnplacedMessages(knowledge.unplaced, mailbox.sent);
  const recognised = recognisedIn(incoming, knowledge, strays);
  const taken = new Set<string>();
  const isIn = (folderId: string | undefined, remote: RemoteMessage) =>
    folderId !== undefined && remote.folderIds.includes(folderId);
  const oldestFirst = incoming.toSorted(
    (a, b) => a.remote.receivedAt.getTime() - b.remote.receivedAt.getTime(),
  );
  for (const { remote, parsed } of oldestFirst) {
    const copyOf = sent.get(storedCopyKey(remote.providerId));
    // A provider that sends a draft reports it again when it has moved the draft to Sent.
    if (copyOf && isIn(mailbox.drafts, remote) && strays.hasCopy(copyOf)) continue;
    const mirrored =
      known.get(remote.providerId) ??
      recognised.get(remote.providerId) ??
      (copyOf && strays.takeCopy(copyOf)) ??
      (parsed &&
        isComparable(remote, parsed) &&
        strays.take(remote, parsed.messageIdHeader, parsed));
    if (mirrored) {
      const write = writes.get(mirrored.id);
      if (write) plan.reported.push({ id: mirrored.id, remote });
      else if (mirrored.draft && parsed && !isListed(remote))
        plan.drafts.push({ id: mirrored.id, remote, parsed });
      if (isUnreported(mirrored) && parsed && !isListed(remote))
        plan.copies.push({ id: mirrored.id, remote, parsed });
      const change = changeOf(mirrored, remote, write, mailbox.drafts);
      if (change) plan.changed.push(change);
      if (remote.threadId) {
        threadPlan.note(providerThreadKey(remote.threadId), mirrored.threadId);
        plan.knownThreadIds.push(mirrored.threadId);
      }
      continue;
    }
    if (!parsed && remote.messageIdHeader !== undefined) plan.missing.push(remote.providerId);
    if (!parsed || draftVersions.has(remote.providerId)) continue;
    const own =
      copyOf ?? (parsed.messageIdHeader === null ? undefined : sent.get(parsed.messageIdHeader));
    const participants = participantsOf(parsed);
    const providerThreadId = remote.threadId ?? null;
    const threaded = { ...parsed, date: remote.receivedAt, participants, providerThreadId };
    const threadId = threadPlan.place(threaded, own?.threadId, subjects.get(remote.providerId));
    const promised =
      own &&
      (copyOf !== undefined || isIn(mailbox.sent, remote)) &&
      !own.mirrored &&
      !taken.has(own.messageId);
    const id = promised ? own.messageId : newId();
    taken.add(id);
    const { providerId } = remote;
    const [draft, metadata] = [isIn(mailbox.drafts, remote), own?.metadata ?? {}];
    plan.added.push({ ...parsed, id, providerId, threadId, remote, draft, metadata, participants });
  }
  for (const message of plan.added) message.threadId = threadPlan.final(message.threadId);
  return { ...plan, merged: threadPlan.merged(), named: threadPlan.named() };
}

/** True for a message that was sent from here and that the provider has not reported yet. */
export function isUnreported({ providerId, draft }: KnownMessage): boolean {
  return providerId === null && !draft;
}

/**
 * Unplaced messages, to be matched with the new messages of the batch. Each is matched at most
 * once.
 */
class UnplacedMessages {
  readonly #byHeader: Map<string | null, UnplacedMessage[]>;

  /** @param sentFolder provider id of the Sent folder */
  constructor(
    strays: readonly UnplacedMessage[],
    private readonly sentFolder: string | undefined,
  ) {
    this.#byHeader = Map.groupBy(strays, ({ messageIdHeader }) => messageIdHeader);
  }

  /** True if the mirror has the sent message and waits for its copy. */
  hasCopy({ messageIdHeader, messageId }: SentByUs): boolean {
    return this.#byHeader.get(messageIdHeader)?.some(({ id }) => id === messageId) ?? false;
  }

  /**
   * Takes out the sent message whose copy the provider has named. The provider may have changed the
   * Message-ID.
   */
  takeCopy({ messageIdHeader, messageId }: SentByUs): UnplacedMessage | undefined {
    const candidates = this.#byHeader.get(messageIdHeader) ?? [];
    const index = candidates.findIndex(({ id }) => id === messageId);
    return index === -1 ? undefined : candidates.splice(index, 1)[0];
  }

  /**
   * Takes out the unplaced message that matches, or `undefined` if none does. Among several copies,
   * one of the same folder wins, then one that was received at the same time. A sent message that
   * waits for its copy matches only in Sent: somebody who writes to himself gets the same message
   * in the inbox, too.
   * @param contents decide about a message without a Message-ID
   */
  take(
    { receivedAt, folderIds }: RemoteMessage,
    messageIdHeader: string | null,
    contents: MessageContents | null,
  ): UnplacedMessage | undefined {
    const candidates = this.#byHeader.get(messageIdHeader);
    if (!candidates || candidates.length === 0) return undefined;
    const key = messageIdHeader === null && contents ? contentKey(contents) : null;
    const likeness = ({ date, folderIds: before }: UnplacedMessage): number =>
      (folderIds.some((id) => before.includes(id)) ? 2 : 0) +
      (date.getTime() === receivedAt.getTime() ? 1 : 0);
    const isInSent = this.sentFolder !== undefined && folderIds.includes(this.sentFolder);
    const [found] = candidates
      .filter((one) => one.contentKey === key && (isInSent || !isUnreported(one)))
      .toSorted((a, b) => likeness(b) - likeness(a));
    if (found) candidates.splice(candidates.indexOf(found), 1);
    return found;
  }
}

/**
 * The messages of the mirror that have come without content under new provider ids. They are
 * matched before all others, because only they have no content.
 */
function recognisedIn(
  incoming: readonly IncomingMessage[],
  { known }: Knowledge,
  strays: UnplacedMessages,
): ReadonlyMap<string, UnplacedMessage> {
  const recognised = new Map<string, UnplacedMessage>();
  for (const { remote } of incoming) {
    const { providerId, messageIdHeader } = remote;
    if (messageIdHeader === undefined || known.has(providerId)) continue;
    const found = strays.take(remote, messageIdHeader, null);
    if (found) recognised.set(providerId, found);
  }
  return recognised;
}

/**
 * Fields with an open provider write keep the value the mirror shows: the provider will report the
 * same value soon.
 */
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
  const redated =
    isUnreported(known) && toUnixSeconds(known.date) !== toUnixSeconds(said.receivedAt);
  const visible =
    foldersChanged ||
    redated ||
    known.draft !== draft ||
    known.unread !== remote.unread ||
    known.starred !== remote.starred;
  return visible || known.providerId !== remote.providerId
    ? { known, remote, draft, foldersChanged, redated, visible }
    : undefined;
}
