import type { OrganizationUnit } from '../../platform/auth/grant-status.ts';
import type { MessageFilter, MessageRecord } from '../messages/message-filter.ts';
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
  };
}

export function toDraftFilter(query: ListDraftsQuery): MessageFilter {
  return { ...toMessageFilter(query), drafts: true };
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
  };
}
