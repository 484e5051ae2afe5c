import type { Address } from '../../platform/base/text/address.ts';
import type { TrackingWish } from '../tracking/tracker.ts';

/** A file of an outgoing message. */
export interface OutgoingFile {
  id: string;
  object: 'file';
  filename: string;
  content_type: string;
  size: number;
}

/** Content of an outgoing message as it is stored, in the wire's names (`original_data`). */
export interface OutgoingContent {
  from: Address[];
  to: Address[];
  cc: Address[];
  bcc: Address[];
  reply_to: Address[];
  subject: string;
  /** HTML as the sender gave it; the message that is sent may have tracking added. */
  body: string;
  reply_to_message_id?: string | null;
  file_ids?: string[];
  /** The files of `file_ids`, as the official clients read them. */
  files?: OutgoingFile[];
  metadata?: Record<string, string>;
  tracking?: TrackingWish;
  /** The draft the message was made from. */
  draft?: { id: string; version: number };
}

/**
 * Fields of a message in a request, in the wire's names. `null` and `undefined` mean that the field
 * was not given.
 */
export interface MessageFields extends Partial<
  Record<'from' | 'to' | 'cc' | 'bcc' | 'reply_to', Address[] | undefined>
> {
  subject?: string | null | undefined;
  /** HTML. */
  body?: string | null | undefined;
  /** Conversation of the message; stored as the message that it replies to. */
  thread_id?: string | null | undefined;
  reply_to_message_id?: string | null | undefined;
  file_ids?: string[] | null | undefined;
  metadata?: Record<string, string> | null | undefined;
  tracking?: TrackingWish | null | undefined;
}

/**
 * The tracking that a request asks for. `undefined` if it names none; clients send an empty object
 * for tracking that was not set.
 */
export function givenTracking(wish: TrackingWish | null | undefined): TrackingWish | undefined {
  return wish && Object.values(wish).some((value) => value !== undefined) ? wish : undefined;
}

/** The account's address as a sender. */
export function ownAddress(account: { email: string; name: string }): Address {
  return { email: account.email, name: account.name };
}

/** Content of a new message; `from` defaults to the account. */
export function toContent(
  body: MessageFields,
  account: { email: string; name: string },
): OutgoingContent {
  return {
    from: body.from?.length ? body.from : [ownAddress(account)],
    to: body.to ?? [],
    cc: body.cc ?? [],
    bcc: body.bcc ?? [],
    reply_to: body.reply_to ?? [],
    subject: body.subject ?? '',
    body: body.body ?? '',
    ...(body.reply_to_message_id ? { reply_to_message_id: body.reply_to_message_id } : {}),
    ...fileIds(body.file_ids),
    ...(body.metadata ? { metadata: body.metadata } : {}),
    ...(body.tracking ? { tracking: body.tracking } : {}),
  };
}

/**
 * Ids of files as they are stored: without duplicates, and in lower case, the spelling that is
 * searched for. Absent if there are none.
 */
export function fileIds(
  ids: readonly string[] | null | undefined,
): Pick<OutgoingContent, 'file_ids'> {
  return ids?.length ? { file_ids: [...new Set(ids.map((id) => id.toLowerCase()))] } : {};
}
