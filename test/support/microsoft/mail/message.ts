import type { ItemIds } from '../graph/item-ids.ts';
import type { Json } from '../http/types.ts';

export interface Recipient {
  name: string;
  address: string;
}

export interface StoredAttachment {
  id: string;
  kind: 'file' | 'item' | 'reference';
  name: string;
  contentType: string;
  isInline: boolean;
  contentId: string | null;
  content: Buffer;
  modified: Date;
}

/** Content of a message, without its place in a mailbox. */
export interface MessageContent {
  subject: string;
  body: { contentType: 'text' | 'html'; content: string };
  from: Recipient | null;
  sender: Recipient | null;
  to: Recipient[];
  cc: Recipient[];
  bcc: Recipient[];
  replyTo: Recipient[];
  /** With angle brackets. */
  internetMessageId: string;
  /** Header fields in their order; empty for messages that were not written as MIME. */
  headers: { name: string; value: string }[];
  attachments: StoredAttachment[];
  importance: 'low' | 'normal' | 'high';
  sent: Date;
  isReadReceiptRequested: boolean;
  isDeliveryReceiptRequested: boolean;
  /** The message as it was written; `null` if it is composed from the other fields. */
  mime: Buffer | null;
}

/** A message in a mailbox. */
export interface StoredMessage extends MessageContent, ItemIds {
  folderId: string;
  conversationId: string;
  /** base64 */
  conversationIndex: string;
  received: Date;
  created: Date;
  modified: Date;
  isRead: boolean;
  isDraft: boolean;
  /** Whether it was written in this mailbox: it was not received. */
  isOwn: boolean;
  flag: Json;
  categories: string[];
  inferenceClassification: 'focused' | 'other';
  /** Grows with every change. */
  version: number;
}

/** Changes to flags and the like that do not touch the content. */
export type MessagePatch = Partial<Omit<StoredMessage, keyof ItemIds | 'folderId' | 'version'>>;
