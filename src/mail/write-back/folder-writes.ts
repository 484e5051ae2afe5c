import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../platform/changes/change-log.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import type { OrganizationUnit } from '../../platform/auth/grant-status.ts';
import {
  type FailedWrite,
  type ProviderWrite,
  type ProviderWriteHandler,
  ProviderWrites,
  type WriteOutcome,
} from '../../accounts/provider-writes/provider-writes.ts';
import { amendNextWrite, hasOtherWrites } from '../../accounts/provider-writes/open-writes.ts';
import type { MailboxPort, RenamedFolder } from '../../providers/port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { FolderPayload } from '../folders/folders.service.ts';
import {
  deleteHidden,
  deleteUncreated,
  readFolder,
  renameBack,
  showAgain,
  type StoredFolder,
  storeProviderId,
} from '../folders/store-folder.ts';
import { renameMessages, addMessagesOfDuplicate } from '../messages/mirror/folder-contents.ts';
import { refreshThreads, threadChanges } from '../threading/refresh-threads.ts';
import { retryAfterSync } from './retry-after-sync.ts';
import { ROW_CLAIMED } from '../../platform/work/queue/row-state.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

// Earlier open writes that give or remove the same name. Until they end, a folder of that name at
// the provider could be mistaken for this one.
const NAME_BUSY = `
  select max(case when state = ${ROW_CLAIMED} then now() else greatest(run_at, now()) end) as until
  from provider_job
  where account_id = $1 and id < $2 and object_id <> $3 and action ~ '_(folder|label)$'
    and lower($4) in (lower(payload ->> 'displayName'), lower(payload ->> 'before'))`;

// Open writes that move messages out of the folder. It is empty here already, but at the provider
// only after these writes.
const BEING_EMPTIED = `
  select max(case when state = ${ROW_CLAIMED} then now() else greatest(run_at, now()) end) as until
  from provider_job
  where account_id = $1 and action = 'update_message' and payload -> 'before' -> 'folders' ? $2`;

const DELETED: WriteOutcome = {
  kind: 'superseded',
  reason: 'It was deleted before this change had reached the provider',
};

/**
 * Carries changes of folders and labels to their provider, and reverts changes that the provider
 * refuses.
 */
@Injectable()
export class FolderWrites implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly writes: ProviderWrites,
  ) {}

  onModuleInit(): void {
    for (const unit of ['folder', 'label'] as const) {
      this.writes.register(`create_${unit}`, 'mailbox', this.#write, { failed: undoCreation });
      this.writes.register(`update_${unit}`, 'mailbox', this.#write, { failed: undoRename });
      this.writes.register(`delete_${unit}`, 'mailbox', this.#delete, { failed: undoDeletion });
    }
  }

  /**
   * Creates the folder if it has no provider id, and renames it otherwise. So a later change also
   * repairs a failed creation.
   */
  readonly #write: ProviderWriteHandler<MailboxPort> = async (port, account, write) => {
    const folder = await this.#find(account, write, true);
    if (!folder) return DELETED;
    const { providerId, displayName } = folder;
    const busyUntil = await this.#nameBusy(account, write, displayName);
    if (busyUntil) return { kind: 'waits', until: busyUntil };
    if (providerId === null) {
      // The folder was deleted before it was created at the provider. If an earlier attempt may
      // have created it, the creation is repeated: its deletion needs the provider id.
      if (!write.mayHaveRun && !(await this.#find(account, write, false))) return DELETED;
      const created = await port.createFolder(account, displayName);
      return {
        kind: 'written',
        store: (sql, at) => adoptProviderId(sql, account, write.objectId, created.providerId, at),
      };
    }
    try {
      const { providerId: renamed, messagePrefix } = await port.renameFolder(
        account,
        providerId,
        displayName,
      );
      const change = { from: providerId, to: renamed, messagePrefix };
      return {
        kind: 'written',
        store: (sql, at) => rename(sql, account, write.objectId, change, at),
      };
    } catch (error) {
      if (!(error instanceof ProviderError) || error.code !== 'not-found') throw error;
      const now = await this.#find(account, write, true);
      if (!now) return DELETED;
      const missed = {
        accountId: account.accountId,
        tried: providerId,
        current: now.providerId,
        error,
      };
      return retryAfterSync(this.database, write, missed);
    }
  };

  readonly #delete: ProviderWriteHandler<MailboxPort> = async (port, account, write) => {
    const emptiedAt = await this.#beingEmptied(account, write);
    if (emptiedAt) return { kind: 'waits', until: emptiedAt };
    const folder = await this.#find(account, write, true);
    // A folder without a provider id was never at the provider, so there is nothing to delete
    // there.
    if (folder?.providerId) await port.deleteFolder(account, folder.providerId);
    return {
      kind: 'written',
      store: (sql) => deleteHidden(sql, account.accountId, write.objectId),
    };
  };

  #find(
    { accountId }: ConnectedAccount,
    { objectId }: ProviderWrite,
    deleting: boolean,
  ): Promise<StoredFolder | undefined> {
    return readFolder(this.database, accountId, objectId, { deleting });
  }

  async #beingEmptied(
    { accountId }: ConnectedAccount,
    { objectId }: ProviderWrite,
  ): Promise<Date | null> {
    const values = [accountId, objectId];
    const [row] = await this.database.query<{ until: Date | null }>(BEING_EMPTIED, values);
    return row?.until ?? null;
  }

  async #nameBusy(
    { accountId }: ConnectedAccount,
    { jobId, objectId }: ProviderWrite,
    displayName: string,
  ): Promise<Date | null> {
    const values = [accountId, jobId, objectId, displayName];
    const [row] = await this.database.query<{ until: Date | null }>(NAME_BUSY, values);
    return row?.until ?? null;
  }
}

/**
 * Stores the provider's id of a folder. A sync pass may have seen the folder at the provider before
 * its id was known here. Then there are two rows, and this one takes over the messages of the
 * other.
 */
async function adoptProviderId(
  sql: Sql,
  { accountId, applicationId, organizationUnit: object }: ConnectedAccount,
  id: string,
  providerId: string,
  at: Date,
): Promise<void> {
  const taken = await addMessagesOfDuplicate(sql, accountId, id, providerId);
  const duplicates = await storeProviderId(sql, accountId, id, providerId);
  const threadIds = taken.map(({ threadId }) => threadId);
  const owner = { applicationId, accountId, at };
  await recordChanges(sql, [
    ...threadChanges(owner, await refreshThreads(sql, accountId, threadIds, at)),
    ...taken.map(({ id: objectId, draft }) => {
      return { ...owner, object: draft ? 'draft' : 'message', objectId, event: 'modify' } as const;
    }),
    ...duplicates.map((objectId) => ({ ...owner, object, objectId, event: 'delete' }) as const),
  ]);
}

/**
 * Stores the provider ids of a folder and its messages after a rename. A sync pass may have stored
 * them already.
 */
async function rename(
  sql: Sql,
  account: ConnectedAccount,
  id: string,
  { from, to, messagePrefix }: RenamedFolder,
  at: Date,
): Promise<void> {
  if (from !== to) await adoptProviderId(sql, account, id, to, at);
  if (messagePrefix) await renameMessages(sql, account, id, messagePrefix, at);
}

/**
 * Removes a folder that the provider refused to create, unless a later write may still repair it.
 */
async function undoCreation(sql: Sql, write: FailedWrite, at: Date): Promise<void> {
  const { objectId, accountId } = write;
  if (await hasOtherWrites(sql, write)) return;
  await recordFolders(sql, write, 'delete', await deleteUncreated(sql, accountId, objectId), at);
}

/**
 * Restores the previous name after the provider refused a rename, unless the folder was renamed
 * again since.
 */
async function undoRename(sql: Sql, write: FailedWrite, at: Date): Promise<void> {
  const { objectId, accountId, jobId, payload } = write;
  const { displayName, before } = payload as unknown as FolderPayload;
  if (before === undefined) return;
  const amended = await amendNextWrite(
    sql,
    { objectId, jobId },
    ['update_folder', 'update_label'],
    {
      before,
    },
  );
  if (amended) return;
  const renamed = await renameBack(sql, accountId, objectId, { from: displayName, to: before }, at);
  await recordFolders(sql, write, 'modify', renamed, at);
}

/** Shows a folder again because the provider refused to delete it. */
async function undoDeletion(sql: Sql, write: FailedWrite, at: Date): Promise<void> {
  await recordFolders(
    sql,
    write,
    'create',
    await showAgain(sql, write.accountId, write.objectId, at),
    at,
  );
}

const OWNER = `
  select application_id as "applicationId", organization_unit as unit from "grant" where id = $1`;

async function recordFolders(
  sql: Sql,
  { accountId }: FailedWrite,
  event: ChangeRecord['event'],
  folderIds: readonly string[],
  at: Date,
): Promise<void> {
  const [owner] = await sql.query<RowOf<Grant, 'applicationId'> & { unit: OrganizationUnit }>(
    OWNER,
    [accountId],
  );
  if (!owner) return;
  const { applicationId, unit: object } = owner;
  const changes = folderIds.map((objectId) => ({
    applicationId,
    accountId,
    object,
    objectId,
    event,
    at,
  }));
  await recordChanges(sql, changes);
}
