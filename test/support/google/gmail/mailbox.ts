import { randomBytes } from 'node:crypto';
import { invalid, notFound } from '../errors.ts';
import type { GoogleHabits } from '../habits.ts';
import { MailHistory } from './history.ts';
import { Labels } from './labels.ts';
import { type Header, headersOf, headerValue, messageIdsIn } from './mime.ts';

/** A message in a mailbox. */
export interface MailMessage {
  id: string;
  threadId: string;
  labels: Set<string>;
  raw: Buffer;
  headers: Header[];
  /** Milliseconds. */
  date: number;
  historyId: number;
  /** Order of arrival. */
  number: number;
}

/** How a message is added. */
export interface NewMessage {
  raw: Buffer;
  labels: Iterable<string>;
  /** Milliseconds. Default: now. */
  date?: number;
  /** The thread that the client asks for. It is used if subject and references fit. */
  threadId?: string;
}

/** Called after every change, with the id of the last one. */
export type OnMailChange = (historyId: number, labelIds: ReadonlySet<string>) => void;

/** A Gmail mailbox: messages, labels, threads, drafts and history. */
export class Mailbox {
  readonly labels = new Labels();
  readonly history: MailHistory;
  /** Message ids by draft id. */
  readonly drafts = new Map<string, string>();
  readonly #messages = new Map<string, MailMessage>();
  /** Messages by the value of their Message-ID header. */
  readonly #byMessageId = new Map<string, MailMessage[]>();
  readonly #habits: GoogleHabits;
  readonly #now: () => number;
  readonly #onChange: OnMailChange;
  #added = 0;

  /** @param habits of the Gmail that has the mailbox */
  constructor(now: () => number, onChange: OnMailChange, habits: GoogleHabits) {
    this.history = new MailHistory(now, () => habits.historyLagMs);
    this.#habits = habits;
    this.#now = now;
    this.#onChange = onChange;
  }

  /** All messages, newest first. */
  messages(): MailMessage[] {
    return [...this.#messages.values()].sort((a, b) => b.date - a.date || b.number - a.number);
  }

  get(id: string): MailMessage {
    const message = this.#messages.get(id);
    if (!/^[\da-f]{1,16}$/.test(id)) throw invalid('Invalid id value');
    if (!message) throw notFound();
    return message;
  }

  find(id: string): MailMessage | null {
    return this.#messages.get(id) ?? null;
  }

  /** Messages of a thread, oldest first. */
  thread(id: string): MailMessage[] {
    const messages = this.messages().filter(({ threadId }) => threadId === id);
    if (messages.length === 0) throw notFound();
    return messages.toReversed();
  }

  /** Adds a message and gives it its thread. */
  add({ raw, labels, date = this.#now(), threadId }: NewMessage): MailMessage {
    const headers = headersOf(raw);
    const id = newId();
    const message: MailMessage = {
      id,
      raw,
      headers,
      date,
      historyId: 0,
      labels: new Set(labels),
      threadId: this.#threadFor(headers, threadId) ?? id,
      number: (this.#added += 1),
    };
    this.#messages.set(id, message);
    for (const own of messageIdsIn(headerValue(headers, 'message-id')))
      this.#byMessageId.set(own, [...(this.#byMessageId.get(own) ?? []), message]);
    if (this.#habits.labelsFirst && message.labels.size > 0)
      this.history.add('labelAdded', shown(message), [...message.labels]);
    message.historyId = this.history.add('messageAdded', shown(message));
    this.#onChange(message.historyId, message.labels);
    return message;
  }

  /** Adds and removes labels. Labels that are there already, or are not, make no history. */
  relabel(message: MailMessage, add: Iterable<string>, remove: Iterable<string>): void {
    const added = [...new Set(add)].filter((id) => !message.labels.has(id));
    const removed = [...new Set(remove)].filter((id) => message.labels.has(id));
    for (const id of added) message.labels.add(id);
    for (const id of removed) message.labels.delete(id);
    if (added.length > 0) message.historyId = this.history.add('labelAdded', shown(message), added);
    if (removed.length > 0)
      message.historyId = this.history.add('labelRemoved', shown(message), removed);
    if (added.length + removed.length > 0)
      this.#onChange(message.historyId, new Set([...message.labels, ...removed]));
  }

  trash(message: MailMessage): void {
    this.relabel(message, ['TRASH'], ['INBOX', 'SPAM']);
  }

  /** Deletes a message for good, with its draft. */
  remove(message: MailMessage): void {
    this.#messages.delete(message.id);
    for (const [draft, id] of this.drafts) if (id === message.id) this.drafts.delete(draft);
    for (const own of messageIdsIn(headerValue(message.headers, 'message-id'))) {
      const others = (this.#byMessageId.get(own) ?? []).filter((other) => other !== message);
      this.#byMessageId.set(own, others);
    }
    this.#onChange(this.history.add('messageDeleted', shown(message)), message.labels);
  }

  /** Deletes a label and takes it off all messages. */
  removeLabel(id: string): void {
    this.labels.remove(id);
    for (const message of this.#messages.values())
      if (message.labels.has(id)) this.relabel(message, [], [id]);
  }

  /** Id of a new draft for a message. */
  addDraft(message: MailMessage): string {
    const id = `r-${BigInt(`0x${newId()}`)}`;
    this.drafts.set(id, message.id);
    return id;
  }

  /**
   * Gmail's rule: the thread that the client names, or the thread of a message that is referred to,
   * if the subject is the same but for Re: and Fwd:.
   */
  #threadFor(headers: Header[], wanted: string | undefined): string | null {
    const references = ['references', 'in-reply-to']
      .flatMap((name) => messageIdsIn(headerValue(headers, name)))
      .flatMap((id) => this.#byMessageId.get(id) ?? []);
    if (wanted !== undefined && ![...this.#messages.values()].some((m) => m.threadId === wanted))
      throw notFound();
    const candidates = wanted === undefined ? references : this.thread(wanted);
    const subject = baseSubject(headers);
    const same = candidates.findLast((message) => baseSubject(message.headers) === subject);
    return same?.threadId ?? null;
  }
}

/** Throws unless all ids of a batch are texts, and there are at most 1,000. */
export function checkedIds(value: unknown): string[] {
  const ids = Array.isArray(value) ? value.map(String) : [];
  if (ids.length === 0) throw invalid('No message ids specified.');
  if (ids.length > 1000) throw invalid('Too many message ids.');
  return ids;
}

function shown({ id, threadId, labels }: MailMessage) {
  return { id, threadId, labelIds: [...labels] };
}

function baseSubject(headers: Header[]): string {
  const subject = headerValue(headers, 'subject') ?? '';
  return subject.replace(/^(\s*(re|fwd?|aw|wg)\s*:\s*)+/i, '').trim();
}

/** 16 hexadecimal digits, as Gmail's ids of messages. */
function newId(): string {
  return `1${randomBytes(8).toString('hex').slice(1)}`;
}
