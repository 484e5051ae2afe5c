import {
  fromUnixSeconds,
  toUnixSeconds,
  toUnixSecondsOrNull,
} from '../../platform/base/time/unix-seconds.ts';
import type { OrganizationUnit } from '../../platform/auth/grant-status.ts';
import type { Person, Span } from '../messages/filters/message-filter.ts';
import { commonFilter, folderView, span, toMessageView } from '../messages/messages.mapper.ts';
import type { ThreadFilter, ThreadMessage, ThreadRecord } from './thread-filter.ts';
import type { ListThreadsQuery, ThreadView } from './threads.schema.ts';

/**
 * Converts a query of `GET /threads` to the service's filter. All times are exclusive, like the
 * thread times of `GET /messages`.
 */
export function toThreadFilter(query: ListThreadsQuery): ThreadFilter {
  const strict = { beforeInclusive: false };
  return {
    ...commonFilter(query),
    started: span(query.started_after, query.started_before, strict),
    lastMessage: span(query.last_message_after, query.last_message_before, strict),
    lastUpdated: updated(query),
  };
}

/**
 * Converts the filters of the last update. If both a second and a span are given, both must match.
 */
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

/**
 * Converts a thread to its response.
 * @param jobStatusId job that carries a change to the provider; only after a change
 */
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
    // The official client detects the kind of account from the presence of one of these keys.
    ...(organizationUnit === 'label' ? { labels: folders } : { folders }),
    ...(view === 'expanded'
      ? { messages: viewsOf(false), drafts: viewsOf(true) }
      : { message_ids: thread.messageIds, draft_ids: thread.draftIds }),
    ...(jobStatusId === undefined ? {} : { job_status_id: jobStatusId }),
  };
}

/** Parts of a message that are not read for threads and therefore not shown. */
const UNREAD_PARTS = {
  body: null,
  warnings: [],
  messageIdHeader: null,
  inReplyTo: null,
  references: [],
};

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
  const { body, object, ...rest } = toMessageView(whole, unit);
  void [body, object];
  return {
    ...rest,
    object: message.draft ? ('draft' as const) : ('message' as const),
    ...(message.draft ? { version: message.version } : {}),
  };
}

/** Merges people by address, each at their first position. A name replaces an empty one. */
function participantsOf(people: readonly Person[]): Person[] {
  const merged = new Map<string, Person>();
  for (const { email, name } of people) {
    const key = email.toLowerCase();
    const known = merged.get(key);
    if (!known) merged.set(key, { email, name });
    else if (known.name === '' && name !== '') merged.set(key, { ...known, name });
  }
  return [...merged.values()];
}
