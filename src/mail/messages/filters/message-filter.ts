import type { Page } from '../../../platform/database/listing.ts';
import type { TrackingWish } from '../../tracking/tracker.ts';
import type { EventOfMessage } from '../../message-events/message-events.ts';
import type { MetadataFilter } from '../../../platform/database/metadata-filter.ts';

/** Conditions on the messages of an account. An absent field does not restrict the list. */
export interface MessageFilter {
  /** True to list only drafts; default: only messages. */
  drafts?: boolean;
  subject?: string | undefined;
  /** Addresses, compared without regard to case. */
  from?: string | undefined;
  to?: string | undefined;
  cc?: string | undefined;
  bcc?: string | undefined;
  anyEmail?: readonly string[] | undefined;
  /** Names, display names or ids of folders or labels. The message is in at least one of them. */
  in?: readonly string[] | undefined;
  /** The message is in none of these folders or labels. */
  notIn?: readonly string[] | undefined;
  unread?: boolean | undefined;
  starred?: boolean | undefined;
  filename?: string | undefined;
  hasAttachment?: boolean | undefined;
  threadId?: string | undefined;
  /** Spans include their first instant and exclude their second. */
  received?: Span;
  threadStarted?: Span;
  threadLastMessage?: Span;
  metadata?: MetadataFilter | undefined;
}

/** A time span from one instant on and before another. Either end may be open (`undefined`). */
export interface Span {
  from: Date | undefined;
  before: Date | undefined;
}

/** A request for a page of messages in a view. */
export interface MessageListRequest {
  filter: MessageFilter;
  page: Page;
  view: 'ids' | 'count' | undefined;
}

/** A message as it is stored: all that clients see of it, except the content of its events. */
export interface StoredMessage {
  id: string;
  accountId: string;
  threadId: string;
  subject: string;
  snippet: string;
  body: string | null;
  /** What could not be read or was guessed, in plain words. */
  warnings: string[];
  date: Date;
  from: Person[];
  to: Person[];
  cc: Person[];
  bcc: Person[];
  replyTo: Person[];
  unread: boolean;
  starred: boolean;
  metadata: Record<string, string>;
  messageIdHeader: string | null;
  inReplyTo: string | null;
  references: string[];
  draft: boolean;
  /** True while the content is not fetched yet. Unknown fields are then empty. */
  listed: boolean;
  /** Only for drafts. */
  version: number;
  replyToMessageId: string | null;
  /** Only for drafts: notifications that the sender wants about the sent message. */
  tracking: TrackingWish | null;
  files: MessageFileRecord[];
  folders: MessageFolderRecord[];
  /** Events that came with the message; some may have been deleted. `null` if there are none. */
  eventIds: string[] | null;
}

/** A message as clients see it. */
export interface MessageRecord extends StoredMessage {
  events: EventOfMessage[];
}

/** A name and address in a header. */
export interface Person {
  email: string;
  name: string;
}

export interface MessageFileRecord {
  id: string;
  filename: string;
  contentType: string;
  contentDisposition: string;
  contentId: string | null;
  size: number;
}

export interface MessageFolderRecord {
  id: string;
  name: string | null;
  displayName: string;
}
