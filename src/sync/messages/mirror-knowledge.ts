import { openWritesOfAccount } from '../../accounts/provider-writes/open-writes.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { objectsOfEndedJobs } from '../../job-statuses/jobs.ts';
import type { OpenWrite } from './mirror-plan.ts';

/** Payload keys of a provider write that show that it moves the message. */
const FOLDER_KEYS = ['folders', 'folderIds'];

/** Messages with an open provider write of ours, by our message id. */
export async function openWrites(sql: Sql, accountId: string): Promise<Map<string, OpenWrite>> {
  const rows = await openWritesOfAccount(sql, accountId, [
    'update_message',
    'save_draft',
    'delete_draft',
  ]);
  const writes = new Map<string, OpenWrite>();
  for (const { objectId, action, payload } of rows) {
    const before = writes.get(objectId);
    const all = action !== 'update_message';
    writes.set(objectId, {
      unread: all || Boolean(before?.unread) || payload['unread'] !== undefined,
      starred: all || Boolean(before?.starred) || payload['starred'] !== undefined,
      folders:
        all || Boolean(before?.folders) || FOLDER_KEYS.some((key) => payload[key] !== undefined),
    });
  }
  return writes;
}

/** A message in the drafts folder that is not in the mirror. */
export interface UnknownDraft {
  providerId: string;
  messageIdHeader: string | null;
}

/**
 * Finds out which unknown drafts are versions of our own drafts. A draft is such a version if an
 * open provider write stores or replaces it. If a write of any draft ended after the batch was
 * requested, every unknown draft may be one: all are then returned, and `outdated` is true.
 */
export async function versionsOfDrafts(
  sql: Sql,
  accountId: string,
  unknown: readonly UnknownDraft[],
  requestedAt: Date,
): Promise<{ draftVersions: Set<string>; outdated: boolean }> {
  if (unknown.length === 0) return { draftVersions: new Set(), outdated: false };
  const open = await openWritesOfAccount(sql, accountId, ['save_draft', 'delete_draft']);
  const names = new Set(
    open.flatMap(({ payload }) => [payload['replaces'], payload['messageIdHeader']]),
  );
  const ended = await objectsOfEndedJobs(
    sql,
    accountId,
    ['save_draft', 'delete_draft'],
    requestedAt,
  );
  const outdated = ended.length > 0;
  const versions = unknown.filter((one) => {
    return (
      outdated ||
      names.has(one.providerId) ||
      (one.messageIdHeader && names.has(one.messageIdHeader))
    );
  });
  return { draftVersions: new Set(versions.map(({ providerId }) => providerId)), outdated };
}
