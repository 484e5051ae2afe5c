import { Injectable } from '@nestjs/common';
import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { type Listing, type PageOfView, runListing } from '../../platform/database/listing.ts';
import { ReadDatabase } from '../../platform/database/replicas/read-database.ts';
import { Database, idsOf, type Sql } from '../../platform/database/sql.ts';
import type { Folder } from './folder.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A folder or label as clients see it. */
export type FolderRecord = RowOf<Folder, 'id' | 'accountId' | 'name' | 'displayName'>;

/** A folder whose row is locked until the transaction ends. */
export interface LockedFolder extends FolderRecord, RowOf<Folder, 'providerId'> {}

const COLUMNS = `f.id, f.account_id as "accountId", f.name, f.display_name as "displayName"`;
const FIND = `select ${COLUMNS} from folder f where f.account_id = $1 and f.id = $2 and not f.deleting`;
const FIND_MANY = `
  select ${COLUMNS} from folder f where f.account_id = $1 and f.id = any($2::uuid[]) and not f.deleting`;
const LOCK = `
  select ${COLUMNS}, f.provider_id as "providerId"
  from folder f where f.account_id = $1 and f.id = $2 and not f.deleting for update`;

// Names are compared under this lock, so that two requests cannot create the same name.
const LOCK_NAMES = `select 1 from "grant" where id = $1 for no key update`;
const TAKEN = `
  select 1 from folder where account_id = $1 and lower(display_name) = lower($2) and id <> $3 and not deleting`;

const INSERT = `
  insert into folder (id, account_id, provider_id, name, display_name, created_at, updated_at)
  values ($2, $1, null, null, $3, $4, $4)`;

// Also renames the folders below it.
const RENAME = `
  update folder set display_name = $4 || substr(display_name, length($3) + 1), updated_at = $5
  where account_id = $1 and (id = $2 or (name is null and starts_with(display_name, $3 || '/')))
  returning id`;

const OCCUPIED = `
  select 1 where exists (select 1 from message_folder where folder_id = $2)
    or exists (select 1 from folder where account_id = $1 and starts_with(display_name, $3 || '/') and not deleting)`;

const HIDE = `update folder set deleting = true, updated_at = $3 where account_id = $1 and id = $2`;

/** Folders or labels of an account, depending on its organization unit. */
export const FOLDERS_OF_ACCOUNT: AccountListener = {
  visibleObjects: [
    `select f.id, g.organization_unit as object from folder f join "grant" g on g.id = f.account_id where f.account_id = $1`,
  ],
  mirrorDeletions: ['delete from folder where account_id = $1'],
};

/** SQL of folders and labels. Every statement is limited to one account. */
@Injectable()
export class FoldersRepository {
  constructor(
    private readonly database: Database,
    private readonly reads: ReadDatabase,
  ) {}

  /** Oldest first. */
  list(accountId: string, page: PageOfView): Promise<Listing<FolderRecord>> {
    const conditions = new Conditions();
    conditions.add(`f.account_id = ${conditions.value(accountId)} and not f.deleting`);
    return runListing<FolderRecord>(this.reads, {
      columns: COLUMNS,
      from: 'folder f',
      id: 'f.id',
      orderBy: 'f.id',
      conditions,
      page,
      view: page.view,
    });
  }

  async find(accountId: string, id: string): Promise<FolderRecord | undefined> {
    return (await this.reads.query<FolderRecord>(FIND, [accountId, id]))[0];
  }

  /**
   * Returns the folders of the account with these ids, in no particular order. Unknown ids are left
   * out.
   */
  findMany(accountId: string, ids: readonly string[]): Promise<FolderRecord[]> {
    return this.database.query<FolderRecord>(FIND_MANY, [accountId, ids]);
  }

  async lock(sql: Sql, accountId: string, id: string): Promise<LockedFolder | undefined> {
    return (await sql.query<LockedFolder>(LOCK, [accountId, id]))[0];
  }

  /**
   * True if a folder other than `id` has the name, ignoring case. The names are locked until the
   * transaction ends, so the result stays true.
   */
  async isTaken(sql: Sql, accountId: string, displayName: string, id: string): Promise<boolean> {
    await sql.query(LOCK_NAMES, [accountId]);
    return (await sql.query(TAKEN, [accountId, displayName, id])).length > 0;
  }

  async insert(sql: Sql, { id, accountId, displayName }: FolderRecord, at: Date): Promise<void> {
    await sql.query(INSERT, [accountId, id, displayName, at]);
  }

  /** Renames a folder and the folders below it. @returns ids of the renamed folders */
  async rename(sql: Sql, folder: FolderRecord, displayName: string, at: Date): Promise<string[]> {
    const { accountId, id } = folder;
    const rows = await sql.query<{ id: string }>(RENAME, [
      accountId,
      id,
      folder.displayName,
      displayName,
      at,
    ]);
    return idsOf(rows);
  }

  /** True if the folder contains messages or other folders. */
  async isOccupied(sql: Sql, { accountId, id, displayName }: FolderRecord): Promise<boolean> {
    return (await sql.query(OCCUPIED, [accountId, id, displayName])).length > 0;
  }

  async hide(sql: Sql, { accountId, id }: FolderRecord, at: Date): Promise<void> {
    await sql.query(HIDE, [accountId, id, at]);
  }
}
