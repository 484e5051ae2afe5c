import type { Page } from '../../platform/database/listing.ts';
import type { MetadataFilter } from '../../platform/database/metadata-filter.ts';

/** Which messages of an account are wanted; what is absent does not restrict. */
export interface MessageFilter {
  /** Drafts, and nothing else; default: messages. */
  drafts?: boolean;
  subject?: string | undefined;
  /** Addresses, compared without regard to case. */
  from?: string | undefined;
  to?: string | undefined;
  cc?: string | undefined;
  bcc?: string | undefined;
  anyEmail?: readonly string[] | undefined;
  /** Names, display names or ids of folders or labels; in one of them. */
  in?: readonly string[] | undefined;
  /** In none of them. */
  notIn?: readonly string[] | undefined;
  unread?: boolean | undefined;
  starred?: boolean | undefined;
  filename?: string | undefined;
  hasAttachment?: boolean | undefined;
  threadId?: string | undefined;
  /** Instants are half-open: from the first on, before the second. */
  received?: Span;
  threadStarted?: Span;
  threadLastMessage?: Span;
  metadata?: MetadataFilter | undefined;
}

/** From an instant on, before another one; either may be open. */
export interface Span {
  from: Date | undefined;
  before: Date | undefined;
}

/** A page of messages, in a view. */
export interface MessageListRequest {
  filter: MessageFilter;
  page: Page;
  view: 'ids' | 'count' | undefined;
}

/** A message with everything that is shown of it. */
export interface MessageRecord {
  id: string;
  accountId: string;
  threadId: string;
  subject: string;
  snippet: string;
  body: string | null;
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
  /** Of a draft. */
  version: number;
  replyToMessageId: string | null;
  files: MessageFileRecord[];
  folders: MessageFolderRecord[];
}

/** Somebody in a header. */
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
