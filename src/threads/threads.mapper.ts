import { fromUnixSeconds, toUnixSeconds, toUnixSecondsOrNull } from '../common/time/unix-seconds.ts';
import type { OrganizationUnit } from '../grants/grant-status.ts';
import type { Person, Span } from '../messages/message-filter.ts';
import { folderView, span, toMessageView } from '../messages/messages.mapper.ts';
import type { ThreadFilter, ThreadMessage, ThreadRecord } from './thread-filter.ts';
import type { ListThreadsQuery, ThreadView } from './threads.schema.ts';

/** The filters of a query, in the terms of the service. Dates are strict, as those of threads are for messages. */
export function toThreadFilter(query: ListThreadsQuery): ThreadFilter {
  const strict = { beforeInclusive: false };
  return {
    subject: query.subject,
    from: query.from,
    to: query.to,
    cc: query.cc,
    bcc: query.bcc,
    anyEmail: query.any_email,
    in: query.in,
    notIn: query.not_in,
    unread: query.unread,
    starred: query.starred,
    filename: query.filename,
    threadId: query.thread_id,
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
  const messages = thread.messages.filter(({ draft }) => !draft);
  const drafts = thread.messages.filter(({ draft }) => draft);
  const idsOf = (list: readonly ThreadMessage[]) => list.map(({ id }) => id);
  const viewsOf = (list: readonly ThreadMessage[]) => list.flatMap((one) => inThread(one, organizationUnit));
  const folders = thread.folders.map(folderView);
  return {
    id: thread.id,
    object: 'thread',
    account_id: thread.accountId,
    subject: thread.subject,
    participants: participantsOf(messages),
    first_message_timestamp: toUnixSeconds(thread.firstMessageAt),
    last_message_timestamp: toUnixSeconds(thread.lastMessageAt),
    last_message_received_timestamp: toUnixSecondsOrNull(thread.lastReceivedAt),
    last_message_sent_timestamp: toUnixSecondsOrNull(thread.lastSentAt),
    snippet: messages.at(-1)?.snippet ?? '',
    unread: thread.unread,
    starred: thread.starred,
    has_attachments: messages.some(({ hasAttachments }) => hasAttachments),
    version: thread.version,
    // The official client takes the presence of a key for the kind of account.
    ...(organizationUnit === 'label' ? { labels: folders } : { folders }),
    ...(view === 'expanded'
      ? { messages: viewsOf(messages), drafts: viewsOf(drafts) }
      : { message_ids: idsOf(messages), draft_ids: idsOf(drafts) }),
    ...(jobStatusId === undefined ? {} : { job_status_id: jobStatusId }),
  };
}

function inThread({ draft, expanded }: ThreadMessage, unit: OrganizationUnit) {
  if (!expanded) return [];
  const { body, events, object, ...rest } = toMessageView(
    { ...expanded, date: new Date(expanded.date) },
    unit,
  );
  void [body, events, object];
  return [
    {
      ...rest,
      object: draft ? ('draft' as const) : ('message' as const),
      ...(draft ? { version: expanded.version } : {}),
    },
  ];
}

/** Everybody once, in the order of their first message; a name beats none. */
function participantsOf(messages: readonly ThreadMessage[]): Person[] {
  const people = new Map<string, Person>();
  for (const { from, to, cc, bcc } of messages) {
    for (const { email, name } of [...from, ...to, ...cc, ...bcc]) {
      const key = email.toLowerCase();
      const known = people.get(key);
      if (!known) people.set(key, { email, name });
      else if (known.name === '' && name !== '') people.set(key, { ...known, name });
    }
  }
  return [...people.values()];
}
