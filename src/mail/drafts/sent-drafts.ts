import { ConflictError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { changesOfFiles } from '../messages/mirror/file-changes.ts';
import { hideDraft } from '../messages/mirror/store-draft.ts';
import { openProviderWrite } from '../../accounts/provider-writes/provider-jobs.ts';
import type { Message } from '../messages/message.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** The version of a draft that is sent. */
export interface DraftVersion {
  id: string;
  version: number;
}

/** A draft that was sent, with its account and application. */
export interface SentDraft extends DraftVersion {
  accountId: string;
  applicationId: string;
}

const LOCK = `
  select version from message where account_id = $1 and id = $2 and draft and not deleting for update`;

/**
 * Locks a draft that is about to be sent until the transaction ends.
 * @throws {NotFoundError} @throws {ConflictError} if the draft has another version
 */
export async function lockDraft(
  sql: Sql,
  accountId: string,
  { id, version }: DraftVersion,
): Promise<void> {
  const [row] = isId(id) ? await sql.query<RowOf<Message, 'version'>>(LOCK, [accountId, id]) : [];
  if (!row) throw new NotFoundError('draft', id);
  if (row.version !== version)
    throw new ConflictError(
      'draft.version',
      `version: the draft is at version ${row.version}, not ${version}`,
    );
}

/**
 * Removes drafts that were sent, in the caller's transaction. They are hidden here, and a job for
 * each deletes it at the provider. A draft that was changed meanwhile stays.
 */
export async function discardSentDrafts(
  sql: Sql,
  drafts: readonly SentDraft[],
  at: Date,
): Promise<void> {
  for (const { accountId, applicationId, id, version } of drafts) {
    const owner = { applicationId, accountId, at };
    const files = await changesOfFiles(sql, owner, [id]);
    // If the draft was changed after it was sent, the change is kept.
    const row = await hideDraft(sql, { accountId, id, version }, at);
    if (!row) continue;
    const payload = { replaces: row.providerId, messageIdHeader: row.messageIdHeader };
    const job = {
      id: newId(),
      accountId,
      action: 'delete_draft',
      object: 'draft',
      objectId: id,
    } as const;
    await openProviderWrite(sql, { ...job, payload, at });
    await recordChanges(sql, [
      { ...owner, object: 'draft', objectId: id, event: 'delete' },
      ...files,
      ...(row.threadId
        ? [{ ...owner, object: 'thread', objectId: row.threadId, event: 'modify' } as const]
        : []),
    ]);
  }
}
