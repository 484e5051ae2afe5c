/* What the content of a message is made of (`RemoteMessage.content`). */

/** An attachment, without its bytes. */
export interface RemoteFile {
  /** Identifies the attachment for `openFile`. */
  section: string;
  filename: string;
  contentType: string;
  contentDisposition: 'attachment' | 'inline';
  /** Without angle brackets. */
  contentId: string | null;
  /** Size in bytes after decoding, as reported by the provider. It may be an estimate. */
  size: number;
}

/**
 * A text part of a message as the provider stores it. Connectors must not decode it: untrusted
 * input is decoded in worker threads, never on the main thread (docs/adr/0058).
 */
export interface StoredText {
  type: 'text/plain' | 'text/html' | 'text/calendar';
  /**
   * Parameters of the part's Content-Type, and its Content-Transfer-Encoding. Empty if the part
   * does not have them.
   */
  charset: string;
  format: string;
  delSp: string;
  encoding: string;
  /** May be cut at any byte after a few megabytes. */
  bytes: Uint8Array;
}

/** The fetched parts of a message that is too large to be fetched whole. */
export interface MessageParts {
  /** The header block as it is stored, including the empty line that ends it. */
  headers: Buffer;
  /** The plain and HTML texts that are not attachments. */
  texts: readonly StoredText[];
  /**
   * The beginning of the message, including its header. Present if the structure of the message is
   * unknown: its texts are then read from these bytes.
   */
  head?: Uint8Array;
  files: readonly RemoteFile[];
  /**
   * The first calendar files, short ones only. Absent if the message has none. They are listed in
   * `files` as well.
   */
  calendars?: readonly StoredText[];
}

/**
 * The content of a message.
 * - `mime`: the message as it is stored.
 * - `parts`: what could be fetched of a large message.
 * - `unreadable`: the provider cannot deliver the message; `reason` explains why.
 */
export type MessageContent =
  | { kind: 'mime'; mime: Buffer }
  | { kind: 'parts'; parts: MessageParts }
  | { kind: 'unreadable'; reason: string };

/**
 * What a provider knows about a message whose content is fetched later (docs/adr/0077). For history
 * only: new messages always come with their content. Only for connectors with threads
 * (`RemoteMessage.threadId`) and with `MailPort.readMessages`.
 */
export interface ListedContent {
  kind: 'listed';
  /**
   * The header block as it is stored, or the headers that the provider gives. `null` if listing
   * does not give any: the mirror then shows the message without subject and people until its
   * content is fetched.
   */
  headers: Buffer | null;
  /** Beginning of the text, as the provider gives it; `null` if it gives none. */
  snippet: string | null;
  /** Whether the message has attachments. Absent if the provider does not say. */
  hasFiles?: boolean;
  /**
   * Why the provider failed on the content of a message that it otherwise reports
   * (`FailedMessage`). Such a message may be new. Absent if the content was not requested.
   */
  failed?: string;
}

/**
 * The provider fails on this message, although it answers otherwise: it always responds with an
 * error, or never. The failure is recorded, and the message is requested again later, less and less
 * often, so that it does not delay others.
 */
export interface FailedMessage {
  providerId: string;
  /** The provider's error text. */
  reason: string;
}

/** A part of a mailbox cannot be read now, although the provider answers otherwise. */
export interface Stall {
  /** What cannot be read, and the provider's error text. */
  reason: string;
  /** When this was first noticed. */
  since: Date;
}
