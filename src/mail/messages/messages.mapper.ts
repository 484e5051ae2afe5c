import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { OrganizationUnit } from '../../platform/auth/grant-status.ts';
import { fromUnixSeconds, toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import { metadataFilter } from '../../platform/database/metadata-filter.ts';
import type {
  MessageFilter,
  MessageFolderRecord,
  MessageRecord,
  Span,
} from './filters/message-filter.ts';
import type { MessageChange } from './message-changes.service.ts';
import type {
  ListMessagesQuery,
  MessageView,
  StateFields,
  UpdateMessage,
} from './messages.schema.ts';

/**
 * Converts seconds to a span of instants. Responses show whole seconds, so "after" begins with the
 * next second. Otherwise a client that asks for messages after the last one it has seen would get
 * that message again.
 * @param options.beforeInclusive true to include the second `before` itself
 */
export function span(
  after: number | undefined,
  before: number | undefined,
  { beforeInclusive }: { beforeInclusive: boolean },
): Span {
  return {
    from: after === undefined ? undefined : fromUnixSeconds(after + 1),
    before:
      before === undefined ? undefined : fromUnixSeconds(beforeInclusive ? before + 1 : before),
  };
}

type CommonQuery = Pick<
  ListMessagesQuery,
  | 'subject'
  | 'from'
  | 'to'
  | 'cc'
  | 'bcc'
  | 'any_email'
  | 'in'
  | 'folder_id'
  | 'label_id'
  | 'not_in'
  | 'unread'
  | 'starred'
  | 'filename'
  | 'thread_id'
>;

/**
 * The filters that lists of messages and of threads have in common.
 * @throws {InvalidInputError} if the query names folders in two ways
 */
export function commonFilter({ subject, from, to, cc, bcc, ...query }: CommonQuery) {
  const { unread, starred, filename } = query;
  const ids = { anyEmail: query.any_email, notIn: query.not_in, threadId: query.thread_id };
  return { subject, from, to, cc, bcc, in: foldersOf(query), unread, starred, filename, ...ids };
}

function foldersOf(query: Pick<CommonQuery, 'in' | 'folder_id' | 'label_id'>) {
  const given = (['in', 'folder_id', 'label_id'] as const).filter((name) => query[name]);
  const [name, other] = given;
  if (name && other)
    throw new InvalidInputError(
      `${other}: must not be used together with ${name}; repeat one of them to list messages in any of several folders`,
    );
  return name && query[name];
}

/** Converts a query of `GET /messages` to the service's filter. */
export function toMessageFilter(query: ListMessagesQuery): MessageFilter {
  return {
    ...commonFilter(query),
    hasAttachment: query.has_attachment,
    // `received_before` includes its second; the other times are exclusive.
    received: span(query.received_after, query.received_before, { beforeInclusive: true }),
    threadStarted: span(query.started_after, query.started_before, { beforeInclusive: false }),
    threadLastMessage: span(query.last_message_after, query.last_message_before, {
      beforeInclusive: false,
    }),
    metadata: metadataFilter(query),
  };
}

/** Converts the body of a change of a message to the service's change. */
export function toMessageChange(body: UpdateMessage): MessageChange {
  return { ...toStateChange(body), metadata: body.metadata };
}

/**
 * Converts the fields that messages and threads have in common. A folder or list of labels that is
 * null changes nothing, and neither does an empty folder. The older names `folder` and `labels` are
 * used if the newer ones are absent.
 */
export function toStateChange(body: StateFields): Omit<MessageChange, 'metadata'> {
  const { folder_id: folderId, folder, label_ids: labelIds, labels } = body;
  // Clients that write every attribute send an empty list of labels and an empty folder for an
  // object of which they have read neither. Alone, an empty list asks to remove all labels.
  const isFolderEmpty = folderId === null || (folder !== undefined && !idOf(folder));
  const ids = isFolderEmpty && labelIds?.length === 0 ? undefined : (labelIds ?? undefined);
  return {
    unread: body.unread,
    starred: body.starred,
    folderId: folderId ?? idOf(folder),
    labelIds: ids ?? labels?.flatMap((label) => idOf(label) ?? []),
  };
}

/** The id of a folder or label; `undefined` if it is null or empty. */
function idOf(named: StateFields['folder']): string | undefined {
  return typeof named === 'string' ? named : (named?.id ?? undefined);
}

/** A folder or label of a message or thread. */
export const folderView = ({ id, name, displayName }: MessageFolderRecord) => ({
  id,
  name,
  display_name: displayName,
});

/**
 * Converts a message to its response.
 * @param jobStatusId job that carries a change to the provider; only after a change
 */
export function toMessageView(
  message: MessageRecord,
  organizationUnit: OrganizationUnit,
  view?: 'ids' | 'count' | 'expanded',
  jobStatusId?: string,
): MessageView {
  const folders = message.folders.map(folderView);
  return {
    id: message.id,
    object: 'message',
    account_id: message.accountId,
    thread_id: message.threadId,
    subject: message.subject,
    snippet: message.snippet,
    body: message.body ?? '',
    date: toUnixSeconds(message.date),
    from: message.from,
    to: message.to,
    cc: message.cc,
    bcc: message.bcc,
    reply_to: message.replyTo,
    unread: message.unread,
    starred: message.starred,
    events: message.events,
    files: message.files.map((file) => ({
      id: file.id,
      filename: file.filename,
      content_type: file.contentType,
      content_disposition: file.contentDisposition,
      ...(file.contentId === null ? {} : { content_id: file.contentId }),
      size: file.size,
    })),
    // The official client detects the kind of account from the presence of one of these keys.
    ...(organizationUnit === 'label' ? { labels: folders } : { folder: folders[0] ?? null }),
    reply_to_message_id: message.replyToMessageId,
    metadata: message.metadata,
    ...(message.listed ? { content_pending: true } : {}),
    ...(jobStatusId === undefined ? {} : { job_status_id: jobStatusId }),
    ...(view === 'expanded'
      ? {
          headers: {
            'Message-Id': message.messageIdHeader,
            'In-Reply-To': message.inReplyTo,
            References: message.references,
          },
          warnings: message.warnings,
        }
      : {}),
  };
}
