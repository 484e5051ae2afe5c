import type { Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { removeMessages } from '../messages/remove-messages.ts';
import { refreshThreads, threadChanges } from '../threads/refresh-threads.ts';

/** What a rename has changed at the provider. */
export interface Renamed {
  from: string;
  to: string;
  messagePrefix: { from: string; to: string };
}

const TAKE_OVER = `
  with taken as (
    insert into message_folder (message_id, folder_id, date)
    select mf.message_id, $1, mf.date from folder f join message_folder mf on mf.folder_id = f.id
    where f.account_id = $2 and f.provider_id = $3 and f.id <> $1
    on conflict do nothing
    returning message_id)
  select m.id, m.thread_id as "threadId", m.draft from taken t join message m on m.id = t.message_id`;
const DELETE_TWINS = `
  delete from folder where account_id = $2 and provider_id = $3 and id <> $1 and name is null returning id`;
// A standard folder of that name was there already, and is the one.
const STORE = `
  update folder set provider_id = $3 where id = $1 and account_id = $2
    and not exists (select 1 from folder where account_id = $2 and provider_id = $3 and id <> $1)`;

/** The mirror may have met the folder at the provider before we knew its id: then there are two rows of it. */
async function become(sql: Sql, account: ConnectedAccount, id: string, providerId: string, at: Date) {
  const { accountId, applicationId, organizationUnit: object } = account;
  const key = [id, accountId, providerId];
  const taken = await sql.query<{ id: string; threadId: string; draft: boolean }>(TAKE_OVER, key);
  const twins = await sql.query<{ id: string }>(DELETE_TWINS, key);
  await sql.query(STORE, key);
  const threadIds = taken.map(({ threadId }) => threadId);
  const owner = { applicationId, accountId, at };
  await recordChanges(sql, [
    ...threadChanges(owner, await refreshThreads(sql, accountId, threadIds, at)),
    ...taken.map(({ id: objectId, draft }) => {
      return { ...owner, object: draft ? 'draft' : 'message', objectId, event: 'modify' } as const;
    }),
    ...twins.map((twin) => ({ ...owner, object, objectId: twin.id, event: 'delete' }) as const),
  ]);
}

/** Stores what the provider calls a folder it has created. */
export function storeCreated(
  sql: Sql,
  account: ConnectedAccount,
  id: string,
  providerId: string,
  at: Date,
): Promise<void> {
  return become(sql, account, id, providerId, at);
}

// Rows the mirror has made of the same messages under their new ids go; ours have the ids that were told.
const TWINS = `
  select distinct t.id
  from message t, message m, message_folder mf
  where mf.folder_id = $1 and m.id = mf.message_id and m.account_id = $2 and starts_with(m.provider_id, $3)
    and t.account_id = $2 and t.provider_id = $4 || substr(m.provider_id, length($3) + 1) and t.id <> m.id`;
const RENAME_MESSAGES = `
  update message m set provider_id = $4 || substr(m.provider_id, length($3) + 1)
  from message_folder mf
  where mf.folder_id = $1 and m.id = mf.message_id and m.account_id = $2 and starts_with(m.provider_id, $3)`;

/** Stores what the provider calls a folder and its messages after a rename. Looks may have found out before. */
export async function storeRenamed(
  sql: Sql,
  account: ConnectedAccount,
  id: string,
  { from, to, messagePrefix }: Renamed,
  at: Date,
): Promise<void> {
  if (from !== to) await become(sql, account, id, to, at);
  if (messagePrefix.from === messagePrefix.to) return;
  const key = [id, account.accountId, messagePrefix.from, messagePrefix.to];
  const twins = await sql.query<{ id: string }>(TWINS, key);
  await removeMessages(
    sql,
    account,
    twins.map((twin) => twin.id),
    at,
  );
  await sql.query(RENAME_MESSAGES, key);
}
