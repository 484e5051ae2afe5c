import { newId } from '../../platform/base/ids/ids.ts';
import type { ParsedMessage } from '../parsing/mime-parser.ts';
import { providerThreadKey } from './provider-threads.ts';
import { isReplySubject, subjectKey } from '../../formats/text/subject.ts';

/** The data of a message that decides its thread. */
export type ThreadedMessage = Pick<
  ParsedMessage,
  'messageIdHeader' | 'inReplyTo' | 'references' | 'subject'
> & {
  date: Date;
  participants: readonly string[];
  /** The provider's own thread; `null` if the provider has no threads. */
  providerThreadId: string | null;
};

/** A thread in the mirror. */
export interface KnownThread {
  threadId: string;
  firstMessageAt: Date;
}

/**
 * The nearest ancestors of a long chain are enough. The limits also prevent a hostile message from
 * merging a whole mailbox.
 */
const MOST_REFERENCES = 20;
const MOST_MERGED = 5;
/** Maximum number of days between messages that are connected only by their subject. */
export const SUBJECT_SPAN_DAYS = 30;
const SUBJECT_SPAN_MS = SUBJECT_SPAN_DAYS * 86_400_000;

/**
 * Keys in `thread_reference` that decide the thread of a message, nearest first: the Message-IDs
 * that it has or names. If the provider has threads, only the provider's thread decides, and the
 * message's own Message-ID is added for messages without a provider thread that name it.
 */
export function threadKeysOf({
  messageIdHeader,
  inReplyTo,
  references,
  providerThreadId,
}: Pick<
  ThreadedMessage,
  'messageIdHeader' | 'inReplyTo' | 'references' | 'providerThreadId'
>): string[] {
  if (providerThreadId !== null)
    return [providerThreadKey(providerThreadId), ...(messageIdHeader ? [messageIdHeader] : [])];
  const named = [inReplyTo, ...references.slice(-MOST_REFERENCES).toReversed()];
  return [...new Set([messageIdHeader, ...named].filter((header) => header !== null))];
}

/**
 * The subject key to search for if nothing else connects a message. Only replies that name no
 * message are searched for.
 * @returns `null` for any other message
 */
export function subjectToFind(message: ThreadedMessage): string | null {
  if (message.providerThreadId !== null) return null;
  if (message.inReplyTo !== null || message.references.length > 0) return null;
  return isReplySubject(message.subject) ? subjectKey(message.subject) : null;
}

/**
 * Puts messages into threads (RFC 5322, 3.6.4), whatever the order in which they arrive. A message
 * joins the threads of all Message-IDs that it has or names, and these threads are merged into the
 * oldest one (ADR 0025). A thread of the provider takes precedence over all headers (ADR 0077).
 */
export class ThreadPlan {
  readonly #threadOf: Map<string, string>;
  readonly #began = new Map<string, Date>();
  /** Target of each thread that was merged. */
  readonly #into = new Map<string, string>();
  readonly #named = new Map<string, string>();
  readonly #begun: {
    key: string;
    threadId: string;
    date: Date;
    participants: readonly string[];
  }[] = [];

  /**
   * @param known thread of each key of `threadKeysOf`
   * @param own address of the account; everybody has it in common, so it connects nothing
   */
  constructor(
    known: ReadonlyMap<string, KnownThread>,
    private readonly own: string,
  ) {
    this.#threadOf = new Map([...known].map(([header, { threadId }]) => [header, threadId]));
    for (const { threadId, firstMessageAt } of known.values())
      this.#began.set(threadId, firstMessageAt);
  }

  /**
   * Chooses the thread of a message. Call it for the oldest message first. A later call may merge
   * the thread, so pass the result to `final` after the last call.
   * @param promised thread that was promised to the client when the message was accepted for
   *   sending
   * @param bySubject thread found by subject
   * @param current thread that the message is in already
   */
  place(
    message: ThreadedMessage,
    promised: string | undefined,
    bySubject: string | undefined,
    current?: KnownThread,
  ): string {
    const keys = threadKeysOf(message);
    const deciding = message.providerThreadId === null ? keys : keys.slice(0, 1);
    if (current && !this.#began.has(current.threadId))
      this.#began.set(current.threadId, current.firstMessageAt);
    const found = new Set([
      ...(current ? [this.final(current.threadId)] : []),
      ...deciding.flatMap((key) => this.#known(key) ?? []),
    ]);
    const nearest = [...found].slice(0, MOST_MERGED);
    const threadId =
      (promised && this.final(promised)) ??
      this.#oldest(nearest) ??
      (bySubject && this.final(bySubject)) ??
      this.#sameSubject(message) ??
      this.#begin(message);
    for (const other of nearest) if (other !== threadId) this.#into.set(other, threadId);
    for (const key of keys) this.note(key, threadId);
    const began = this.#began.get(threadId);
    if (!began || message.date < began) this.#began.set(threadId, message.date);
    return threadId;
  }

  /** Stores the thread of a key, unless the key has one. */
  note(key: string, threadId: string): void {
    if (this.#threadOf.has(key)) return;
    this.#threadOf.set(key, threadId);
    this.#named.set(key, threadId);
  }

  /** The thread that `threadId` was merged into, or `threadId` itself. */
  final(threadId: string): string {
    let at = threadId;
    for (let next = this.#into.get(at); next !== undefined; next = this.#into.get(at)) at = next;
    return at;
  }

  /** Merged threads and their final targets. */
  merged(): { from: string; into: string }[] {
    return [...this.#into.keys()].map((from) => ({ from, into: this.final(from) }));
  }

  /** New keys and their threads. */
  named(): { header: string; threadId: string }[] {
    return [...this.#named].map(([header, threadId]) => ({
      header,
      threadId: this.final(threadId),
    }));
  }

  #known(key: string): string | undefined {
    const threadId = this.#threadOf.get(key);
    return threadId === undefined ? undefined : this.final(threadId);
  }

  #oldest(threadIds: readonly string[]): string | undefined {
    const began = (threadId: string) => this.#began.get(threadId)?.getTime() ?? Infinity;
    return threadIds.toSorted((a, b) => began(a) - began(b))[0];
  }

  /** Searches the threads that began in this batch. */
  #sameSubject(message: ThreadedMessage): string | undefined {
    const key = subjectToFind(message);
    if (key === null) return undefined;
    const others = this.#others(message);
    const found = this.#begun.findLast(
      (one) =>
        one.key === key &&
        message.date.getTime() - one.date.getTime() <= SUBJECT_SPAN_MS &&
        one.participants.some((email) => others.includes(email)),
    );
    return found && this.final(found.threadId);
  }

  #begin(message: ThreadedMessage): string {
    const threadId = newId();
    const key = subjectKey(message.subject);
    const participants = this.#others(message);
    if (key !== null) this.#begun.push({ key, threadId, date: message.date, participants });
    return threadId;
  }

  #others({ participants }: ThreadedMessage): string[] {
    return participants.filter((email) => email !== this.own);
  }
}
