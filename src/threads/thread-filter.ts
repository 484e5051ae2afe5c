import type { Page } from '../common/http/pagination.schema.ts';
import type {
  MessageFilter,
  MessageFolderRecord,
  MessageRecord,
  Person,
  Span,
} from '../messages/message-filter.ts';

/** Which threads of an account are wanted; what is absent does not restrict. Those without messages never are. */
export interface ThreadFilter extends Pick<
  MessageFilter,
  | 'from'
  | 'to'
  | 'cc'
  | 'bcc'
  | 'anyEmail'
  | 'in'
  | 'notIn'
  | 'unread'
  | 'starred'
  | 'filename'
  | 'subject'
  | 'threadId'
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

/** A message of a thread: what the thread needs to know of it. */
export interface ThreadMessage {
  id: string;
  draft: boolean;
  from: Person[];
  to: Person[];
  cc: Person[];
  bcc: Person[];
  /** Null: it is not one of the newest, whose snippet is the thread's. */
  snippet: string | null;
  hasAttachments: boolean;
  /** Only in the expanded view; without its body. `date` is ISO 8601. */
  expanded: (Omit<MessageRecord, 'date'> & { date: string }) | null;
}

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
  /** And drafts; oldest first. */
  messages: ThreadMessage[];
}
