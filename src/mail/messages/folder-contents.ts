import type { Sql } from '../../platform/database/sql.ts';
import { type MirrorOwnerIds, removeMessages } from './remove-messages.ts';

/** A message that is in another folder now. */
export interface TakenMessage {
  id: string;
  threadId: string;
  draft: boolean;
}

/** What the provider's ids of the messages of a folder begin with. */
export interface MessagePrefix {
  from: string;
  to: string;
}

const TAKE_OVER = `
  with taken as (
    insert into message_folder (message_id, folder_id, date)
    select mf.message_id, $2, mf.date from folder f join message_folder mf on mf.folder_id = f.id
    where f.account_id = $1 and f.provider_id = $3 and f.id <> $2
    on conflict do nothing
    returning message_id)
  select m.id, m.thread_id as "threadId", m.draft from taken t join message m on m.id = t.message_id`;

/** Puts the messages of every other folder with a provider's id into this one, too. */
export function takeOver(
  sql: Sql,
  accountId: string,
  folderId: string,
  providerId: string,
): Promise<TakenMessage[]> {
  return sql.query<TakenMessage>(TAKE_OVER, [accountId, folderId, providerId]);
}

// Rows the mirror has made of the same messages under their new ids go; ours have the ids that clients know.
const TWINS = `
  select distinct t.id
  from message t, message m, message_folder mf
  where mf.folder_id = $1 and m.id = mf.message_id and m.account_id = $2 and starts_with(m.provider_id, $3)
    and t.account_id = $2 and t.provider_id = $4 || substr(m.provider_id, length($3) + 1) and t.id <> m.id`;
const RENAME = `
  update message m set provider_id = $4 || substr(m.provider_id, length($3) + 1)
  from message_folder mf
  where mf.folder_id = $1 and m.id = mf.message_id and m.account_id = $2 and starts_with(m.provider_id, $3)`;

/** Stores what the provider calls the messages of a folder after the folder was renamed. */
export async function renameMessages(
  sql: Sql,
  owner: MirrorOwnerIds,
  folderId: string,
  { from, to }: MessagePrefix,
  at: Date,
): Promise<void> {
  if (from === to) return;
  const key = [folderId, owner.accountId, from, to];
  const twins = await sql.query<{ id: string }>(TWINS, key);
  await removeMessages(
    sql,
    owner,
    twins.map(({ id }) => id),
    at,
  );
  await sql.query(RENAME, key);
}
