import type { StoredPart } from '../../../formats/mime/reading/stored-part.ts';

/* What the content of a message is made of (`RemoteMessage.content`). */

export type { StoredPart } from '../../../formats/mime/reading/stored-part.ts';

/** The fetched parts of a message that is too large to be fetched whole. */
export interface MessageParts {
  /** The header block as it is stored, including the empty line that ends it. */
  headers: Buffer;
  /**
   * The parts of the message; `null` if their structure is unknown. Connectors must not decode
   * anything: untrusted input is decoded in worker threads, never on the main thread
   * (docs/adr/0058). They fetch the content of those parts that `isWanted` names.
   */
  root: StoredPart | null;
  /**
   * The beginning of the message, including its header, if `root` is `null`. Its text is then read
   * from these bytes.
   */
  head?: Uint8Array;
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
