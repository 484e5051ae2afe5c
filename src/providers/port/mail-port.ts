import type { Readable } from 'node:stream';
import type { ProviderAccount } from './provider-account.ts';
import type {
  ProviderError,
  RefusedRecipient,
  SendPhase,
} from '../../platform/base/errors/provider-error.ts';

/* Reading and sending mail: what a provider of mailboxes implements (`Connector.mail`). */

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
  /** Stays the same until the folder is renamed (`MailChanges.renamed`). */
  providerId: string;
  /** Standard name: inbox, sent, drafts, trash, spam, archive, all, important; null for user-made ones. */
  name: string | null;
  /** Levels of a hierarchy are separated by `/`. */
  displayName: string;
}

/** An attachment, without its bytes. */
export interface RemoteFile {
  /** How `openFile` finds it again. */
  section: string;
  filename: string;
  contentType: string;
  contentDisposition: 'attachment' | 'inline';
  /** Without angle brackets. */
  contentId: string | null;
  /** Bytes, decoded; as the provider says, which may be an estimate. */
  size: number;
}

/**
 * A text of a message as the provider stores it. Connectors do not decode it: the main thread never reads what strangers
 * wrote (docs/adr/0058).
 */
export interface StoredText {
  type: 'text/plain' | 'text/html' | 'text/calendar';
  /** Parameters of its Content-Type, and its Content-Transfer-Encoding; empty: it has none. */
  charset: string;
  format: string;
  delSp: string;
  encoding: string;
  /** May be cut anywhere, at a few megabytes. */
  bytes: Uint8Array;
}

/** What a connector has fetched of a message that is too large to be fetched whole. */
export interface MessageParts {
  /** The header block as it is stored, with its empty line. */
  headers: Buffer;
  /** The plain and HTML texts that are no attachments. */
  texts: readonly StoredText[];
  /** The beginning of the message, header included, where nothing is known of its parts: its texts are read from it. */
  head?: Uint8Array;
  files: readonly RemoteFile[];
  /** The first calendar files, short ones only; absent: it has none. They are among `files` as well. */
  calendars?: readonly StoredText[];
}

/** A message that is new or changed at the provider. */
export interface RemoteMessage {
  providerId: string;
  /** `providerId` of each folder or label it is in. */
  folderIds: readonly string[];
  receivedAt: Date;
  unread: boolean;
  starred: boolean;
  /**
   * Its content, once: for a message the mirror does not have. `mime`: as it is stored; `parts`: what could be fetched
   * of a large one; `unreadable`: the provider cannot give it, `reason` says why; null: only flags or folders changed.
   */
  content:
    | { kind: 'mime'; mime: Buffer }
    | { kind: 'parts'; parts: MessageParts }
    | { kind: 'unreadable'; reason: string }
    | null;
}

export interface MailLook {
  /** `MailChanges.cursor` of the look before; null: the first one. */
  cursor: string | null;
  /** At most so many messages. */
  limit: number;
  /** Messages received earlier are not wanted; null: all are. They are not `removed` either. */
  since: Date | null;
  /** `providerId`s of the messages that the mirror has in a folder, for providers that do not say what is gone. */
  known(folderId: string): Promise<readonly string[]>;
}

export interface MailChanges {
  /** Opaque; give it back next time. Only valid after everything below has been stored. */
  cursor: string;
  /** Whether there is more to fetch at once. */
  more: boolean;
  /**
   * Whether everything that has happened lately is in: what `more` there is to fetch is history, newest first.
   * A mailbox is usable from here on.
   */
  present: boolean;
  /** All folders there are; null: as the look before said. */
  folders: readonly RemoteFolder[] | null;
  /** Folders that were renamed: the `providerId`s of their messages that begin with `messagePrefix.from` begin with `.to` now. */
  renamed: readonly { from: string; to: string; messagePrefix: { from: string; to: string } }[];
  messages: readonly RemoteMessage[];
  /**
   * `providerId`s of messages that are gone. One that was moved elsewhere is gone here and new there: told together, so
   * that it can be recognised.
   */
  removed: readonly string[];
}

export interface MailWatch {
  /** Ends it; resolves when the connection is closed. */
  stop(): Promise<void>;
}

/** Who wants to know what happens to a watched mailbox. */
export interface MailWatcher {
  /** Something has changed: look. May come without a reason. */
  onChange(): void;
  /** The watch has ended by itself and has to be begun anew; null: the provider ended it without saying why. */
  onEnd(error: ProviderError | null): void;
}

/** A draft as it is stored at the provider. */
export interface DraftContent {
  /** Complete RFC 5322 text, with Bcc. */
  mime: Buffer;
  /** With angle brackets; another one for each version of a draft. */
  messageIdHeader: string;
}

/** Reading and sending. */
export interface MailPort {
  /**
   * Sends once. Must not retry; the caller owns retries.
   * @throws {ProviderError} `outcome-unknown` when the content left and no answer came
   */
  send(
    account: ProviderAccount,
    message: OutgoingMessage,
    control: SendControl,
  ): Promise<SendReceipt>;
  /** Looks for a message of ours among the sent ones. */
  findSent(account: ProviderAccount, messageIdHeader: string): Promise<SentLookup>;
  /**
   * Files a copy of a sent message, where sending does not make one by itself; a copy that is there already is enough.
   * Absent: sending makes it.
   */
  fileSent?(account: ProviderAccount, messageIdHeader: string, mime: Buffer): Promise<void>;
  /** Changes since `look.cursor` (null: everything): what is new lately first, then history, newest first. */
  listChanges(account: ProviderAccount, look: MailLook): Promise<MailChanges>;
  /**
   * The message as it is stored at the provider.
   * @throws {ProviderError} `not-found`
   */
  fetchRaw(account: ProviderAccount, providerId: string): Promise<Buffer>;
  /**
   * The decoded bytes of an attachment, as they come from the provider.
   * @param section `RemoteFile.section`; or `#` and a position among the attachments that postal-mime finds in the message,
   *   from 0, for one whose content came as `mime`
   * @throws {ProviderError} `not-found`
   */
  openFile(account: ProviderAccount, providerId: string, section: string): Promise<Readable>;
  /**
   * Tells when a mailbox has changed, where the provider itself can tell this process of any of them. A missed call
   * costs only until the next poll.
   * @returns a function that ends it
   */
  onChange?(listener: (mailbox: { applicationId: string; email: string }) => void): () => void;
  /**
   * Keeps a connection that tells when this mailbox changes. Absent, or `unsupported`: it has to be polled.
   * @throws {ProviderError}
   */
  watch?(account: ProviderAccount, watcher: MailWatcher): Promise<MailWatch>;
}
