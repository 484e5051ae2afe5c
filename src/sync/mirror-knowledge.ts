import { openWritesOfAccount } from '../accounts/provider-writes/open-writes.ts';
import type { Sql } from '../platform/database/sql.ts';
import type { OpenWrite } from './mirror-plan.ts';

/** Keys of a job's payload that say that a message is being moved. */
const FOLDER_KEYS = ['folders', 'folderIds'];

/** Messages with an open write of ours, by our id. */
export async function openWrites(sql: Sql, accountId: string): Promise<Map<string, OpenWrite>> {
  const rows = await openWritesOfAccount(sql, accountId, ['update_message', 'save_draft', 'delete_draft']);
  const writes = new Map<string, OpenWrite>();
  for (const { objectId, action, payload } of rows) {
    const before = writes.get(objectId);
    const all = action !== 'update_message';
    writes.set(objectId, {
      unread: all || Boolean(before?.unread) || payload['unread'] !== undefined,
      starred: all || Boolean(before?.starred) || payload['starred'] !== undefined,
      folders: all || Boolean(before?.folders) || FOLDER_KEYS.some((key) => payload[key] !== undefined),
    });
  }
  return writes;
}
