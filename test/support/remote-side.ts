import type { RemoteStub } from './remote-stub/remote-stub.ts';
import type { StubAnswer, StubRequest } from './remote-stub/messages.ts';
import type { AcceptedMessage } from './smtp-sink-protocol.ts';

/** A message in a mailbox at a provider, as a client of Carillon would see it. */
export interface SeenMessage {
  subject: string;
  unread: boolean;
  starred: boolean;
  /** Display names of its folders or labels, sorted. */
  folders: string[];
}

/** What a mailbox at a provider contains, in a form that both providers share. Lists are sorted. */
export interface SeenMailbox {
  /** Without drafts. */
  messages: SeenMessage[];
  /** Subjects. */
  drafts: string[];
  /** Display names of the folders or labels that the user made. */
  folders: string[];
  /** Names, without the first one. */
  calendars: string[];
  /** Titles of all calendars, series once. */
  events: string[];
  /** Full names. */
  contacts: string[];
}

/** A provider's stub in a form that tests of several providers share. */
export interface RemoteSide {
  readonly provider: 'google' | 'microsoft';
  readonly stub: RemoteStub;
  /** Environment of a process that uses the stub. */
  readonly environment: Record<string, string>;
  /** Settings of the integration. */
  readonly integration: object;
  /** Responses of a provider that refuses requests as too many. */
  readonly tooMany: readonly StubAnswer[];
  /** Adds a person, and returns the settings with which the account is connected. */
  addUser(email: string): object;
  /** Puts a message into Inbox as if it had arrived. */
  deliver(email: string, subject: string): Promise<void>;
  /** Whether a request sends a message. */
  isSend(request: StubRequest): boolean;
  /** Whether a request is for a token. */
  isToken(request: StubRequest): boolean;
  /**
   * Every message that was accepted for sending, repetitions included, with the Message-ID with
   * which it was sent.
   */
  accepted(): AcceptedMessage[];
  /** The Message-ID that the provider has replaced with `id`; `id` itself if it replaced none. */
  messageIdAsSent(id: string): string;
  /** How many copies of a message with this Message-ID are in a mailbox, apart from Sent. */
  received(email: string, messageId: string): number;
  seen(email: string): SeenMailbox;
  /**
   * Every mail about an event that the provider sent, as the kind (`invitation`, `update`,
   * `cancellation`) and the title. Sorted.
   */
  meetingMails(): string[];
  /** The quotas that a mailbox has exceeded, with its use. */
  overQuota(email: string): string[];
  /** Makes cursors of mail, calendars and contacts unusable. */
  expireCursors(): void;
  /** Ends all access tokens. */
  expireTokens(): void;
  /** Ends everything that the person has agreed to. */
  revoke(email: string): void;
}

/** Sorts by the JSON of the entries. */
export function sorted<T>(entries: Iterable<T>): T[] {
  const key = (entry: T) => JSON.stringify(entry);
  return [...entries].toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}
