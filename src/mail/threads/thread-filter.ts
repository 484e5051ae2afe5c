import type { Page } from '../../platform/database/listing.ts';
import type {
  MessageFilter,
  MessageFolderRecord,
  MessageRecord,
  Person,
  Span,
  StoredMessage,
} from '../messages/filters/message-filter.ts';

/**
 * Conditions on the threads of an account. An absent field does not restrict the list. Threads
 * without messages are never listed.
 */
export interface ThreadFilter extends Omit<
  MessageFilter,
  'drafts' | 'hasAttachment' | 'metadata' | 'received' | 'threadStarted' | 'threadLastMessage'
> {
  started?: Span;
  lastMessage?: Span;
  lastUpdated?: Span;
}

/** A request for a page of threads in a view. */
export interface ThreadListRequest {
  filter: ThreadFilter;
  page: Page;
  view: 'ids' | 'count' | 'expanded' | undefined;
}

type NotOfThreads =
  | 'date'
  | 'accountId'
  | 'threadId'
  | 'body'
  | 'warnings'
  | 'messageIdHeader'
  | 'inReplyTo'
  | 'references';

/** A message of a thread in the expanded view, without its body. `date` is in Unix seconds. */
export type ThreadMessage = Omit<MessageRecord, NotOfThreads> & { date: number };

/** A message of a thread as the mail stores it. */
export type StoredThreadMessage = Omit<StoredMessage, NotOfThreads> & { date: number };

/** A thread with everything that clients can see and that the mail stores. */
export interface StoredThread extends Omit<ThreadRecord, 'messages'> {
  messages: StoredThreadMessage[];
}

/** A thread with everything that clients can see. */
export interface ThreadRecord {
  id: string;
  accountId: string;
  subject: string;
  firstMessageAt: Date;
  lastMessageAt: Date;
  lastReceivedAt: Date | null;
  lastSentAt: Date | null;
  unread: boolean;
  starred: boolean;
  version: number;
  folders: MessageFolderRecord[];
  /**
   * People in its messages, without drafts, in the order of the messages; no address appears twice
   * with the same name.
   */
  people: Person[];
  /** Snippet of its newest message. */
  snippet: string;
  hasAttachments: boolean;
  /** Oldest first. */
  messageIds: string[];
  /** Oldest first. */
  draftIds: string[];
  /** Messages and drafts, oldest first. Filled only in the expanded view. */
  messages: ThreadMessage[];
}
