import type { ZodType } from 'zod';
import type { ProviderName } from './provider-name.ts';
import type { RefusedRecipient, SendPhase } from './provider-error.ts';

/*
 * The port every provider implements. Plain values in, plain values or `ProviderError` out: no entity, no ORM.
 * Connectors are stateless; the account is an argument. Every method may throw `ProviderError`; anything else it
 * throws is a bug and treated as `temporary`.
 */

/** An account as a connector sees it. */
export interface ProviderAccount {
  accountId: string;
  applicationId: string;
  /** Lower case. */
  email: string;
  name: string;
  organizationUnit: 'folder' | 'label';
  /** What the connector's `settingsSchema` produced when the account was connected. */
  settings: Readonly<Record<string, unknown>>;
}

/** What the provider says about an account whose credentials it accepted. */
export interface VerifiedAccount {
  email: string;
  name: string;
  organizationUnit: 'folder' | 'label';
}

export interface Connector {
  readonly name: ProviderName;
  /** Settings accepted when an account is connected; unknown keys are dropped. */
  readonly settingsSchema: ZodType<Record<string, unknown>>;
  /**
   * Checks the credentials with the provider before a grant is made.
   * @throws {ProviderError} `auth-invalid` when they are refused
   */
  verify(account: Omit<ProviderAccount, 'accountId'>): Promise<VerifiedAccount>;
  readonly mail?: MailPort;
  readonly calendar?: CalendarPort;
}

/** A message ready to be sent: composed once, identical in every attempt. */
export interface OutgoingMessage {
  /** With angle brackets; also in the MIME. */
  messageIdHeader: string;
  /** Without a Bcc header. */
  mime: Buffer;
  envelope: {
    from: string;
    /** Everybody who has not accepted yet. */
    recipients: readonly string[];
  };
  /** For the sender's own copy. */
  bcc: readonly { email: string; name: string }[];
}

export interface SendReceipt {
  /** Addresses the provider accepted. */
  accepted: readonly string[];
  /** Addresses it refused for good although it accepted the message for others. */
  refused: readonly RefusedRecipient[];
  /** Addresses it would not take now, while it accepted the message for others: send to them again later. */
  deferred: readonly RefusedRecipient[];
  /** The provider's own words or id, for the timeline. */
  response: string;
}

/** Answer of a look-up of a sent message. */
export interface SentLookup {
  found: boolean;
  /** Whether "not found" proves that it was not sent. */
  conclusive: boolean;
}

/** What the sender may be told while it works. */
export interface SendControl {
  /** Aborted when the result will not be waited for any more: stop before the content leaves. */
  signal: AbortSignal;
  /**
   * Called right before each phase; `confirmation` begins with the end of the content, without which a server does nothing.
   * When it throws, the phase must not begin: leave the exchange and let the error through as it is.
   */
  onPhase(phase: SendPhase): void;
}

export interface RemoteFolder {
  providerId: string;
  /** Standard name: inbox, sent, drafts, trash, spam, archive, all, important; null for user-made ones. */
  name: string | null;
  displayName: string;
}

/** A message that is new or changed at the provider. */
export interface RemoteMessage {
  providerId: string;
  /** `providerId` of each folder or label it is in. */
  folderIds: readonly string[];
  receivedAt: Date;
  unread: boolean;
  starred: boolean;
  /** The message as it is stored there; null when only flags or folders changed and the mirror has the rest. */
  mime: Buffer | null;
}

export interface MailChanges {
  /** Opaque; give it back next time. Only valid after everything below has been stored. */
  cursor: string;
  /** Whether there is more to fetch at once. */
  more: boolean;
  messages: readonly RemoteMessage[];
  /** `providerId`s of messages that are gone. */
  removed: readonly string[];
}

export interface MailPort {
  /**
   * Sends once. Must not retry; the caller owns retries.
   * @throws {ProviderError} `outcome-unknown` when the content left and no answer came
   */
  send(account: ProviderAccount, message: OutgoingMessage, control: SendControl): Promise<SendReceipt>;
  /** Looks for a message of ours among the sent ones. */
  findSent(account: ProviderAccount, messageIdHeader: string): Promise<SentLookup>;
  listFolders(account: ProviderAccount): Promise<readonly RemoteFolder[]>;
  /** Changes since `cursor` (null: everything), oldest first, at most `limit` messages. */
  listChanges(account: ProviderAccount, cursor: string | null, limit: number): Promise<MailChanges>;
  /**
   * The message as it is stored at the provider.
   * @throws {ProviderError} `not-found`
   */
  fetchRaw(account: ProviderAccount, providerId: string): Promise<Buffer>;
  /**
   * Tells when a mailbox has changed, where the provider can. A missed call costs only until the next poll.
   * @returns a function that ends it
   */
  onChange?(listener: (mailbox: { applicationId: string; email: string }) => void): () => void;
}

/** A calendar as the provider keeps it. */
export interface CalendarContent {
  name: string;
  description: string | null;
  location: string | null;
  timezone: string | null;
}

export interface RemoteCalendar extends CalendarContent {
  providerId: string;
  isPrimary: boolean;
  readOnly: boolean;
}

/** An event as the provider keeps it: the wire's own field names (api facts 7.3), times in Unix seconds. */
export type EventContent = Readonly<Record<string, unknown>>;

export interface CalendarPort {
  listCalendars(account: ProviderAccount): Promise<readonly RemoteCalendar[]>;
  /** @param key the same key makes the same calendar: a repeated call after a crash makes no second one */
  createCalendar(
    account: ProviderAccount,
    key: string,
    calendar: CalendarContent,
  ): Promise<{ providerId: string }>;
  /** @throws {ProviderError} `not-found` */
  updateCalendar(account: ProviderAccount, providerId: string, calendar: CalendarContent): Promise<void>;
  /** A calendar that is already gone is not an error. */
  deleteCalendar(account: ProviderAccount, providerId: string): Promise<void>;
  /** @param key as for calendars */
  createEvent(
    account: ProviderAccount,
    calendarProviderId: string,
    key: string,
    event: EventContent,
  ): Promise<{ providerId: string; icalUid: string }>;
  /** @throws {ProviderError} `not-found` */
  updateEvent(account: ProviderAccount, providerId: string, event: EventContent): Promise<void>;
  /** An event that is already gone is not an error. */
  deleteEvent(account: ProviderAccount, providerId: string): Promise<void>;
}
