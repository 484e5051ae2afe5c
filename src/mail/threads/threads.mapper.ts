import {
  fromUnixSeconds,
  toUnixSeconds,
  toUnixSecondsOrNull,
} from '../../platform/base/time/unix-seconds.ts';
import type { OrganizationUnit } from '../../platform/auth/grant-status.ts';
import type { Person, Span } from '../messages/message-filter.ts';
import { commonFilter, folderView, span, toMessageView } from '../messages/messages.mapper.ts';
import type { ThreadFilter, ThreadMessage, ThreadRecord } from './thread-filter.ts';
import type { ListThreadsQuery, ThreadView } from './threads.schema.ts';

/** The filters of a query, in the terms of the service. Dates are strict, as those of threads are for messages. */
export function toThreadFilter(query: ListThreadsQuery): ThreadFilter {
  const strict = { beforeInclusive: false };
  return {
    ...commonFilter(query),
    started: span(query.started_after, query.started_before, strict),
    lastMessage: span(query.last_message_after, query.last_message_before, strict),
    lastUpdated: updated(query),
  };
}

/** A second and a span may both be given: what lies in both of them. */
function updated({
  last_updated_timestamp: second,
  last_updated_after: after,
  last_updated_before: before,
}: ListThreadsQuery): Span {
  const given = span(after, before, { beforeInclusive: false });
  if (second === undefined) return given;
  const [from, until] = [fromUnixSeconds(second), fromUnixSeconds(second + 1)];
  return {
    from: given.from && given.from > from ? given.from : from,
    before: given.before && given.before < until ? given.before : until,
  };
}

/** A thread as it is answered (api facts 5.2). @param jobStatusId the job that carries a change to the provider */
export function toThreadView(
  thread: ThreadRecord,
  organizationUnit: OrganizationUnit,
  view?: 'ids' | 'count' | 'expanded',
  jobStatusId?: string,
): ThreadView {
  const viewsOf = (drafts: boolean) =>
    thread.messages
      .filter(({ draft }) => draft === drafts)
      .map((one) => inThread(thread, one, organizationUnit));
  const folders = thread.folders.map(folderView);
  return {
    id: thread.id,
    object: 'thread',
    account_id: thread.accountId,
    subject: thread.subject,
    participants: participantsOf(thread.people),
    first_message_timestamp: toUnixSeconds(thread.firstMessageAt),
    last_message_timestamp: toUnixSeconds(thread.lastMessageAt),
    last_message_received_timestamp: toUnixSecondsOrNull(thread.lastReceivedAt),
    last_message_sent_timestamp: toUnixSecondsOrNull(thread.lastSentAt),
    snippet: thread.snippet,
    unread: thread.unread,
    starred: thread.starred,
    has_attachments: thread.hasAttachments,
    version: thread.version,
    // The official client takes the presence of a key for the kind of account.
    ...(organizationUnit === 'label' ? { labels: folders } : { folders }),
    ...(view === 'expanded'
      ? { messages: viewsOf(false), drafts: viewsOf(true) }
      : { message_ids: thread.messageIds, draft_ids: thread.draftIds }),
    ...(jobStatusId === undefined ? {} : { job_status_id: jobStatusId }),
  };
}

/** What is not read of the message is not shown either. */
const UNREAD_PARTS = { body: null, messageIdHeader: null, inReplyTo: null, references: [] };

function inThread(
  { id: threadId, accountId }: ThreadRecord,
  message: ThreadMessage,
  unit: OrganizationUnit,
) {
  const whole = {
    ...message,
    ...UNREAD_PARTS,
    accountId,
    threadId,
    date: fromUnixSeconds(message.date),
  };
  const { body, events, object, ...rest } = toMessageView(whole, unit);
  void [body, events, object];
  return {
    ...rest,
    object: message.draft ? ('draft' as const) : ('message' as const),
    ...(message.draft ? { version: message.version } : {}),
  };
}

/** Everybody once, where they are first; a name beats none. */
function participantsOf(everybody: readonly Person[]): Person[] {
  const people = new Map<string, Person>();
  for (const { email, name } of everybody) {
    const key = email.toLowerCase();
    const known = people.get(key);
    if (!known) people.set(key, { email, name });
    else if (known.name === '' && name !== '') people.set(key, { ...known, name });
  }
  return [...people.values()];
}
