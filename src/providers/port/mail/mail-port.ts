import type { Readable } from 'node:stream';
import type { MessageIds, MessageIdsRequest } from './message-ids.ts';
import type {
  RemoteFolder,
  SyncPassRequest,
  MailChanges,
  ReadRequest,
  ReadMessage,
  MailWatch,
  MailWatcher,
} from './mail-changes.ts';
import type { ProviderAccount } from '../provider-account.ts';
import type { SentLookup, SentTraces } from './sent-lookup.ts';
import type { RefusedRecipient, SendPhase } from '../../../platform/base/errors/provider-error.ts';

/*
 * Reading and sending mail (`Connector.mail`). `mail-changes.ts` has what is read, and
 * `mailbox-port.ts` how a mailbox is changed.
 */

/** A message ready to be sent. It is composed once and is identical in every attempt. */
export interface OutgoingMessage {
  /** With angle brackets. It is also the Message-ID in `mime`. */
  messageIdHeader: string;
  /** Complete MIME text without a Bcc header. */
  mime: Buffer;
  envelope: {
    from: string;
    /** Every recipient that no attempt has delivered to yet. */
    recipients: readonly string[];
  };
  /**
   * Bcc recipients: for the sender's own copy, and for providers that take the recipients from the
   * message (`MailPort.recipientsFrom`). They are in `envelope.recipients` as well.
   */
  bcc: readonly { email: string; name: string }[];
  /**
   * The provider's id of the thread that the message replies to. Absent or `null` if it replies to
   * nothing, or if the provider has no threads.
   */
  threadId?: string | null;
}

/** A message in the sender's mailbox. */
export interface StoredCopy {
  /** As in `RemoteMessage.providerId`. */
  providerId: string;
  /** The provider's thread of the message. `null` if the provider has no threads. */
  threadId: string | null;
}

export interface SendReceipt {
  accepted: readonly string[];
  /** Recipients refused for good, although the provider accepted the message for others. */
  refused: readonly RefusedRecipient[];
  /**
   * Recipients refused temporarily, although the provider accepted the message for others. The
   * caller sends to them again later.
   */
  deferred: readonly RefusedRecipient[];
  /** The provider's reply text or message id, for the timeline. */
  response: string;
  /**
   * The sender's own copy, if the provider filed one and its response names it. The mirrored
   * message then gets the ids that were announced for the sent message, even if the provider
   * changed its Message-ID.
   */
  stored?: StoredCopy;
  /**
   * Seconds after which the provider has usually filed the sender's own copy. The mailbox is then
   * synced, so that the copy appears soon. Absent if the provider files none.
   */
  copyAfterSeconds?: number;
}

/** How a connector and its caller communicate during one send. */
export interface SendControl {
  /**
   * Aborted when the caller stops waiting for the result. The connector must stop before the
   * content is sent.
   */
  signal: AbortSignal;
  /**
   * Call it right before each phase. The `confirmation` phase begins with the end-of-content mark;
   * a server does not accept a message before that mark. If `onPhase` throws, the connector must
   * not begin the phase: it ends the exchange with the server and rethrows the same error.
   */
  onPhase(phase: SendPhase): void;
}

/** A draft as it is stored at the provider. */
export interface DraftContent {
  /** Complete RFC 5322 text, with Bcc. */
  mime: Buffer;
  /** With angle brackets. Each version of a draft has a different one. */
  messageIdHeader: string;
  /** As in `OutgoingMessage`. */
  threadId?: string | null;
}

/** Reading and sending mail of one account. */
export interface MailPort {
  /**
   * Where the provider takes the recipients of a message from. Default `envelope`.
   *
   * - `envelope`: from `OutgoingMessage.envelope`. It may accept the message for some recipients
   *   only, and the caller sends to the others again.
   * - `headers`: from To, Cc and Bcc of the message. It accepts or refuses the message as a whole:
   *   `deferred` and `refused` of its receipts are empty. The caller gives it every message for all
   *   of its recipients, never for some. The connector adds the Bcc recipients, for example with
   *   `withBcc` of `formats/mime`, and the provider removes them from what others receive.
   */
  readonly recipientsFrom?: 'envelope' | 'headers';
  /**
   * Sends the message once. Connectors must not retry; the caller decides about retries. Which code
   * to throw when a limit is reached:
   *
   * - `rate-limited`: too many requests or messages in a short time, for example Gmail's
   *   `rateLimitExceeded` and `userRateLimitExceeded`, any 429 of Graph, and our own
   *   `BudgetExhaustedError`. Only this message waits.
   * - `quota-exhausted`: the account may send no more messages today, for example Gmail's
   *   `dailyLimitExceeded` and Graph's `ErrorExceededMessageLimit`. All messages of the account
   *   wait, and a mailing service may take over.
   *
   * In both cases `retryAfterSeconds` is the wait that the provider names, if it names one.
   * @throws {ProviderError} `outcome-unknown` if the content was sent and no reply arrived. Every
   *   other code means that the message was not sent
   */
  send(
    account: ProviderAccount,
    message: OutgoingMessage,
    control: SendControl,
  ): Promise<SendReceipt>;
  /**
   * The server that gets the account's messages, such as `smtp.example.com:587`. Messages for one
   * server share a limit. Default: the provider's name, because all of its accounts share a server.
   */
  sendsTo?(account: ProviderAccount): string;
  /**
   * Whether `findSent` can prove that a message was not sent. If `false`, a look-up that finds
   * nothing is never `conclusive`. Default: `true`.
   */
  readonly provesAbsence?: boolean;
  /**
   * Whether messages that this port sends bear a mark (`formats/mime/message-mark.ts`), because the
   * provider may replace Message-IDs. Copies in Sent are then recognised by it. Default: `false`.
   */
  readonly marksSent?: boolean;
  /** Looks a message up among the sent ones. `traces` make more look-ups conclusive. */
  findSent(
    account: ProviderAccount,
    messageIdHeader: string,
    traces?: SentTraces,
  ): Promise<SentLookup>;
  /**
   * Files a copy of a sent message, for providers whose sending does not do so by itself. Does
   * nothing if the copy is already there. Absent if sending makes the copy.
   */
  fileSent?(account: ProviderAccount, messageIdHeader: string, mime: Buffer): Promise<void>;
  /**
   * Files a copy of a message that a mailing service has sent for the account. Does nothing if the
   * copy is already there.
   */
  fileRelayed(account: ProviderAccount, messageIdHeader: string, mime: Buffer): Promise<void>;
  /**
   * Returns the changes since `request.cursor` (`null`: everything): recent changes first, then
   * history, newest first.
   * @throws {ProviderError} `unsupported` if the account's credentials do not cover mail. Calendars
   *   and contacts are then read without it
   */
  listChanges(account: ProviderAccount, request: SyncPassRequest): Promise<MailChanges>;
  /**
   * Reads messages by their ids. Contents are requested for listed messages (`ListedContent`), and
   * for messages that `listChanges` returned without content and the mirror does not have. States
   * are requested for the audit (ADR 0080). Required if `listChanges` returns listed messages, or
   * with `listIds`.
   * @returns by `providerId`; `null` only if the provider says that there is no such message. Ids
   *   that are missing in the map were not read this time, for example because the quota is used up
   *   or the contents are too large for one call: ask for them again. At least one id is answered
   * @throws {ProviderError} if nothing can be read now
   */
  readMessages?(
    account: ProviderAccount,
    request: ReadRequest,
  ): Promise<ReadonlyMap<string, ReadMessage | null>>;
  /**
   * Returns the message as it is stored at the provider.
   * @throws {ProviderError} `not-found`
   */
  fetchRaw(account: ProviderAccount, providerId: string): Promise<Buffer>;
  /**
   * Streams the decoded bytes of an attachment from the provider.
   * @param section `StoredPart.section`. For a message whose content came as `mime`: `#` and the
   *   position of the file, as in `sortParts` of `formats/mime`
   * @throws {ProviderError} `not-found`
   */
  openFile(account: ProviderAccount, providerId: string, section: string): Promise<Readable>;
  /**
   * Calls `listener` when a mailbox has changed. Implemented if one subscription in this process
   * covers all mailboxes of the provider. If a call is missed, the change is found by the next
   * poll.
   * @returns a function that ends the subscription
   */
  onChange?(listener: (mailbox: { applicationId: string; email: string }) => void): () => void;
  /**
   * Keeps a connection open that reports changes of this mailbox. The mailbox is polled instead if
   * this method is absent or throws `unsupported`.
   * @throws {ProviderError} `unsupported` if this mailbox cannot be watched
   */
  watch?(account: ProviderAccount, watcher: MailWatcher): Promise<MailWatch>;
  /**
   * Lists the ids of all messages of a part of a folder, without content. The audit compares them
   * with the mirror (ADR 0080). It must list every message of the requested time that stays in the
   * folder while the pages are read. It may list messages outside that time, too. Absent if the
   * mirror of this provider cannot be audited; otherwise `readMessages` and `listFolders` must be
   * implemented as well.
   * @throws {ProviderError} `not-found` if the folder cannot be opened or was deleted; `conflict`
   *   if the cursor is not valid any more: list the folder from the beginning
   */
  listIds?(account: ProviderAccount, request: MessageIdsRequest): Promise<MessageIds>;
  /**
   * Lists the folders of the mailbox, so that a full audit finds those that the mirror lacks.
   * Folders that cannot be opened may be left out. Required with `listIds`.
   */
  listFolders?(account: ProviderAccount): Promise<readonly RemoteFolder[]>;
  /**
   * Returns the number of messages in each folder by `RemoteFolder.providerId`, with one request or
   * few. A folder whose number is unknown is left out. Absent if counting costs as much as listing.
   */
  countMessages?(account: ProviderAccount): Promise<ReadonlyMap<string, number>>;
}
