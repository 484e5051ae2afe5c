import { newId } from '../../platform/base/ids/ids.ts';
import type { ParsedMessage } from '../parsing/mime-parser.ts';
import { isReplySubject, subjectKey } from './subject.ts';

/** What decides about the conversation of a message. */
export type ThreadedMessage = Pick<
  ParsedMessage,
  'messageIdHeader' | 'inReplyTo' | 'references' | 'subject'
> & { date: Date; participants: readonly string[] };

/** A conversation of the mirror. */
export interface KnownThread {
  threadId: string;
  firstMessageAt: Date;
}

/** Of a long chain the nearest ancestors are enough, and a hostile one cannot glue everything together. */
const MOST_REFERENCES = 20;
const MOST_MERGED = 5;
/** How far apart messages may be that only their subject connects. */
export const SUBJECT_SPAN_DAYS = 30;
const SUBJECT_SPAN_MS = SUBJECT_SPAN_DAYS * 86_400_000;

/** Message-IDs that a message has or names, nearest first. */
export function headersOf({ messageIdHeader, inReplyTo, references }: ThreadedMessage): string[] {
  const named = [inReplyTo, ...references.slice(-MOST_REFERENCES).toReversed()];
  return [...new Set([messageIdHeader, ...named].filter((header) => header !== null))];
}

/**
 * What to look for among subjects, when nothing else connects a message: only for answers that name no message.
 * @returns null: do not look
 */
export function subjectToFind(message: ThreadedMessage): string | null {
  if (message.inReplyTo !== null || message.references.length > 0) return null;
  return isReplySubject(message.subject) ? subjectKey(message.subject) : null;
}

/**
 * Puts messages into conversations (RFC 5322, 3.6.4), in whatever order they come: a message joins those of every
 * Message-ID that it has or names, and what it joins becomes one conversation, the oldest of them (docs/adr/0025).
 */
export class ThreadPlan {
  readonly #threadOf: Map<string, string>;
  readonly #began = new Map<string, Date>();
  /** Conversations that have become part of another one. */
  readonly #into = new Map<string, string>();
  readonly #named = new Map<string, string>();
  readonly #begun: {
    key: string;
    threadId: string;
    date: Date;
    participants: readonly string[];
  }[] = [];

  /**
   * @param known conversation of each Message-ID
   * @param own address of the account: that everybody has in common
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
   * The conversation of a message; call for the oldest first. Final only after the last one: see `final`.
   * @param promised the one it has been said to be in
   * @param bySubject one that its subject connects it with
   */
  place(
    message: ThreadedMessage,
    promised: string | undefined,
    bySubject: string | undefined,
  ): string {
    const headers = headersOf(message);
    const found = new Set(headers.flatMap((header) => this.#known(header) ?? []));
    const nearest = [...found].slice(0, MOST_MERGED);
    const threadId =
      (promised && this.final(promised)) ??
      this.#oldest(nearest) ??
      (bySubject && this.final(bySubject)) ??
      this.#sameSubject(message) ??
      this.#begin(message);
    for (const other of nearest) if (other !== threadId) this.#into.set(other, threadId);
    for (const header of headers) {
      if (this.#threadOf.has(header)) continue;
      this.#threadOf.set(header, threadId);
      this.#named.set(header, threadId);
    }
    const began = this.#began.get(threadId);
    if (!began || message.date < began) this.#began.set(threadId, message.date);
    return threadId;
  }

  /** The conversation that this one has become part of, or itself. */
  final(threadId: string): string {
    let at = threadId;
    for (let next = this.#into.get(at); next !== undefined; next = this.#into.get(at)) at = next;
    return at;
  }

  /** Conversations that are no more, and what they are part of now. */
  merged(): { from: string; into: string }[] {
    return [...this.#into.keys()].map((from) => ({ from, into: this.final(from) }));
  }

  /** Message-IDs that nobody knew, and their conversations. */
  named(): { header: string; threadId: string }[] {
    return [...this.#named].map(([header, threadId]) => ({
      header,
      threadId: this.final(threadId),
    }));
  }

  #known(header: string): string | undefined {
    const threadId = this.#threadOf.get(header);
    return threadId === undefined ? undefined : this.final(threadId);
  }

  #oldest(threadIds: readonly string[]): string | undefined {
    const began = (threadId: string) => this.#began.get(threadId)?.getTime() ?? Infinity;
    return threadIds.toSorted((a, b) => began(a) - began(b))[0];
  }

  /** Among those that have begun in this batch. */
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
