import type { OrganizationUnit } from '../../platform/auth/grant-status.ts';
import type { MessageFilter, MessageRecord } from '../messages/filters/message-filter.ts';
import { givenTracking } from '../composing/outgoing-content.ts';
import { toMessageFilter, toMessageView } from '../messages/messages.mapper.ts';
import type { DraftChange } from './drafts.service.ts';
import type { CreateDraft, DraftView, ListDraftsQuery } from './drafts.schema.ts';

/** Converts a request body. The official client sends empty texts for fields that are not set. */
export function toDraftChange(body: CreateDraft): DraftChange {
  return {
    from: body.from?.[0],
    to: body.to,
    cc: body.cc,
    bcc: body.bcc,
    replyTo: body.reply_to,
    subject: body.subject ?? undefined,
    body: body.body ?? undefined,
    fileIds: body.file_ids ?? undefined,
    threadId: body.thread_id || undefined,
    replyToMessageId: body.reply_to_message_id || undefined,
    metadata: body.metadata ?? undefined,
    tracking: givenTracking(body.tracking),
  };
}

export function toDraftFilter({
  started_message_before: before,
  started_message_after: after,
  ...query
}: ListDraftsQuery): MessageFilter {
  const { started_before = before, started_after = after } = query;
  return { ...toMessageFilter({ ...query, started_before, started_after }), drafts: true };
}

/**
 * A draft as the API returns it.
 * @param jobStatusId the job that writes a change to the provider
 */
export function toDraftView(
  draft: MessageRecord,
  unit: OrganizationUnit,
  view?: 'ids' | 'count' | 'expanded',
  jobStatusId?: string,
): DraftView {
  return {
    ...toMessageView(draft, unit, view, jobStatusId),
    object: 'draft',
    version: draft.version,
    // An empty list would keep the client for Ruby from attaching files to the draft it has read.
    ...(draft.files.length > 0 ? { file_ids: draft.files.map(({ id }) => id) } : {}),
    ...(draft.tracking ? { tracking: draft.tracking } : {}),
  };
}
