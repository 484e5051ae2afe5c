import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Wake } from '../../platform/work/wake.ts';
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
import type { MailboxPort } from '../../providers/port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { scheduleSync } from '../../accounts/sync-schedule/schedule-sync.ts';
import type { FolderPayload } from './folders.service.ts';
import { storeCreated, storeRenamed } from './store-folder.ts';

/** A folder somebody else has renamed is found again by a look at the mailbox: so often it is waited for. */
const LOOKS_FOR_RENAMED = 2;

interface StoredFolder {
  providerId: string | null;
  displayName: string;
}

const READ = `
  select provider_id as "providerId", display_name as "displayName" from folder
  where id = $1 and account_id = $2 and ($3 or not deleting)`;

// Earlier writes that give a name or take it away: what they leave there would be taken for this folder.
const NAME_BUSY = `
  select max(case when state = 1 then now() else greatest(run_at, now()) end) as until
  from provider_job
  where account_id = $1 and id < $2 and object_id <> $3 and action ~ '_(folder|label)$'
    and lower($4) in (lower(payload ->> 'displayName'), lower(payload ->> 'before'))`;

// Changes that take messages out of it: it is empty here already, and there only after them.
const BEING_EMPTIED = `
  select max(case when state = 1 then now() else greatest(run_at, now()) end) as until
  from provider_job
  where account_id = $1 and action = 'update_message' and payload -> 'before' -> 'folders' ? $2`;

const DELETED: WriteOutcome = {
  kind: 'superseded',
  reason: 'It was deleted before this change had reached the provider',
};

/** Carries changes of folders and labels to their provider, and takes back what it does not accept. */
@Injectable()
export class FolderWrites implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly writes: ProviderWrites,
    private readonly wake: Wake,
  ) {}

  onModuleInit(): void {
    for (const unit of ['folder', 'label'] as const) {
      this.writes.register(`create_${unit}`, 'mailbox', this.#write, { failed: dropUncreated });
      this.writes.register(`update_${unit}`, 'mailbox', this.#write, { failed: putNameBack });
      this.writes.register(`delete_${unit}`, 'mailbox', this.#delete, { failed: showAgain });
    }
  }

  /** Creating and renaming are one: a folder whose creation failed is created by the change that repairs it. */
  readonly #write: ProviderWriteHandler<MailboxPort> = async (port, account, write) => {
    const folder = await this.#find(account, write, true);
    if (!folder) return DELETED;
    const { providerId, displayName } = folder;
    const busyUntil = await this.#nameBusy(account, write, displayName);
    if (busyUntil) return { kind: 'waits', until: busyUntil };
    if (providerId === null) {
      // Deleted before it was there; where an attempt may have gone through, the deletion has to know what it made.
      if (!write.mayHaveRun && !(await this.#find(account, write, false))) return DELETED;
      const created = await port.createFolder(account, displayName);
      return {
        kind: 'written',
        store: (sql, at) => storeCreated(sql, account, write.objectId, created.providerId, at),
      };
    }
    try {
      const { providerId: renamed, messagePrefix } = await port.renameFolder(
        account,
        providerId,
        displayName,
      );
      const change = { from: providerId, to: renamed, messagePrefix };
      return { kind: 'written', store: (sql, at) => storeRenamed(sql, account, write.objectId, change, at) };
    } catch (error) {
      if (!(error instanceof ProviderError) || error.code !== 'not-found') throw error;
      return this.#lookAgain(account, write, providerId, error);
    }
  };

  readonly #delete: ProviderWriteHandler<MailboxPort> = async (port, account, write) => {
    const emptiedAt = await this.#beingEmptied(account, write);
    if (emptiedAt) return { kind: 'waits', until: emptiedAt };
    const folder = await this.#find(account, write, true);
    // Without an id it has never been at the provider.
    if (folder?.providerId) await port.deleteFolder(account, folder.providerId);
    return { kind: 'written', store: (sql) => forget(sql, account.accountId, write.objectId) };
  };

  async #find(
    { accountId }: ConnectedAccount,
    { objectId }: ProviderWrite,
    deleting: boolean,
  ): Promise<StoredFolder | undefined> {
    const [folder] = await this.database.query<StoredFolder>(READ, [objectId, accountId, deleting]);
    return folder;
  }

  async #beingEmptied({ accountId }: ConnectedAccount, { objectId }: ProviderWrite): Promise<Date | null> {
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

  /** Another client may have renamed it: the mirror knows by now, or after its next look. */
  async #lookAgain(
    account: ConnectedAccount,
    write: ProviderWrite,
    tried: string,
    error: ProviderError,
  ): Promise<WriteOutcome> {
    const now = await this.#find(account, write, true);
    if (!now) return DELETED;
    if (now.providerId !== tried) return { kind: 'waits', until: new Date(0) };
    if (write.attempt > LOOKS_FOR_RENAMED) throw error;
    await scheduleSync(this.database, account.accountId);
    this.wake.wake('sync');
    throw new ProviderError('temporary', error.message, { cause: error });
  }
}

async function forget(sql: Sql, accountId: string, id: string): Promise<void> {
  await sql.query(`delete from folder where id = $1 and account_id = $2 and deleting`, [id, accountId]);
}

const OTHER_WRITES = `select 1 from provider_job where object_id = $1 and id <> $2 limit 1`;
const DROP = `delete from folder where id = $1 and account_id = $2 and provider_id is null returning id`;

/** What the provider does not create is not shown any more, unless a later change may still repair it. */
async function dropUncreated(sql: Sql, write: FailedWrite, at: Date): Promise<void> {
  const { objectId, accountId, jobId } = write;
  if ((await sql.query(OTHER_WRITES, [objectId, jobId])).length > 0) return;
  const dropped = await sql.query<{ id: string }>(DROP, [objectId, accountId]);
  await tell(sql, write, 'delete', dropped, at);
}

const LATER = `
  select id from provider_job
  where object_id = $1 and action like 'update\\_%' and id <> $2 order by id limit 1 for update`;
const REMEMBER = `
  update provider_job set payload = payload || jsonb_build_object('before', $2::text) where id = $1`;

// Names that have been given to others meanwhile stay theirs.
const RENAME_BACK = `
  update folder f set display_name = $4 || substr(f.display_name, length($3) + 1), updated_at = $5
  from folder old
  where old.id = $1 and old.account_id = $2 and old.display_name = $3
    and f.account_id = $2 and f.name is null and (f.id = old.id or starts_with(f.display_name, $3 || '/'))
  returning f.id`;

/** The provider does not take the name: the one before is shown again, unless somebody has changed it since. */
async function putNameBack(sql: Sql, write: FailedWrite, at: Date): Promise<void> {
  const { objectId, accountId, jobId, payload } = write;
  const { displayName, before } = payload as unknown as FolderPayload;
  if (before === undefined) return;
  const [later] = await sql.query<{ id: string }>(LATER, [objectId, jobId]);
  if (later) {
    await sql.query(REMEMBER, [later.id, before]);
    return;
  }
  const renamed = await sql.query<{ id: string }>(RENAME_BACK, [
    objectId,
    accountId,
    displayName,
    before,
    at,
  ]);
  await tell(sql, write, 'modify', renamed, at);
}

const SHOW = `
  update folder set deleting = false, updated_at = $3 where id = $1 and account_id = $2 and deleting returning id`;

/** The provider does not delete it: it is there again. */
async function showAgain(sql: Sql, write: FailedWrite, at: Date): Promise<void> {
  const shown = await sql.query<{ id: string }>(SHOW, [write.objectId, write.accountId, at]);
  await tell(sql, write, 'create', shown, at);
}

const OWNER = `
  select application_id as "applicationId", organization_unit as unit from "grant" where id = $1`;

async function tell(
  sql: Sql,
  { accountId }: FailedWrite,
  event: ChangeRecord['event'],
  folders: readonly { id: string }[],
  at: Date,
): Promise<void> {
  const [owner] = await sql.query<{ applicationId: string; unit: OrganizationUnit }>(OWNER, [accountId]);
  if (!owner) return;
  const { applicationId, unit: object } = owner;
  await recordChanges(
    sql,
    folders.map(({ id: objectId }) => ({ applicationId, accountId, object, objectId, event, at })),
  );
}
