import type { Page } from '../../platform/database/listing.ts';
import type {
  MessageFilter,
  MessageFolderRecord,
  MessageRecord,
  Person,
  Span,
} from '../messages/message-filter.ts';

/** Which threads of an account are wanted; what is absent does not restrict. Those without messages never are. */
export interface ThreadFilter extends Omit<
  MessageFilter,
  'drafts' | 'hasAttachment' | 'metadata' | 'received' | 'threadStarted' | 'threadLastMessage'
> {
  started?: Span;
  lastMessage?: Span;
  lastUpdated?: Span;
}

/** A page of threads, in a view. */
export interface ThreadListRequest {
  filter: ThreadFilter;
  page: Page;
  view: 'ids' | 'count' | 'expanded' | undefined;
}

/** A message of a thread in the expanded view; without its body. `date` is in Unix seconds. */
export type ThreadMessage = Omit<
  MessageRecord,
  'date' | 'accountId' | 'threadId' | 'body' | 'messageIdHeader' | 'inReplyTo' | 'references'
> & { date: number };

/** A thread with everything that is shown of it. */
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
  /** Everybody in its messages, drafts apart, in the order of these; nobody twice with the same address and name. */
  people: Person[];
  /** Of its newest message. */
  snippet: string;
  hasAttachments: boolean;
  /** Oldest first. */
  messageIds: string[];
  /** Oldest first. */
  draftIds: string[];
  /** And drafts, oldest first: in the expanded view, otherwise empty. */
  messages: ThreadMessage[];
}
