import type { Sql } from '../../../platform/database/sql.ts';
import type { ChangeRecord } from '../../../platform/changes/change-log.ts';

// An attachment is deleted with its message, unless a draft also contains it. An upload stays when
// a draft that contains it is removed, so it counts as modified.
const FILES = `
  select f.id, (case when exists (
      select 1 from draft_file d join message w on w.id = d.message_id
      where d.file_id = f.id and not w.deleting and w.id <> all($2::uuid[])) then 'modify' else 'delete' end) as event
  from file f join message m on m.id = f.message_id
  where m.account_id = $1 and m.id = any($2::uuid[]) and not m.deleting
  union
  select d.file_id, 'modify'
  from draft_file d join message m on m.id = d.message_id
  where m.account_id = $1 and m.id = any($2::uuid[]) and not m.deleting
    and not exists (select 1 from file f where f.id = d.file_id and f.message_id = m.id)`;

/**
 * Change-log records for the files of messages and drafts that will be deleted or hidden. Call it
 * in the same transaction before that. Messages that are hidden already are left out.
 */
export async function changesOfFiles(
  sql: Sql,
  { accountId, ...owner }: Pick<ChangeRecord, 'applicationId' | 'accountId' | 'at'>,
  messageIds: readonly string[],
): Promise<ChangeRecord[]> {
  if (messageIds.length === 0) return [];
  const rows = await sql.query<{ id: string; event: 'modify' | 'delete' }>(FILES, [
    accountId,
    messageIds,
  ]);
  return rows.map(({ id, event }) => ({
    ...owner,
    accountId,
    object: 'file',
    objectId: id,
    event,
  }));
}
