import { Injectable } from '@nestjs/common';
import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { type Listing, type PageOfView, runListing } from '../../platform/database/listing.ts';
import { Database, idsOf, type Sql } from '../../platform/database/sql.ts';

/** A folder or label as it is shown. */
export interface FolderRecord {
  id: string;
  accountId: string;
  /** Standard name; null for user-made ones. */
  name: string | null;
  displayName: string;
}

/** A folder that is held against every other change until the transaction ends. */
export interface HeldFolder extends FolderRecord {
  providerId: string | null;
}

const COLUMNS = `f.id, f.account_id as "accountId", f.name, f.display_name as "displayName"`;
const FIND = `select ${COLUMNS} from folder f where f.account_id = $1 and f.id = $2 and not f.deleting`;
const FIND_MANY = `
  select ${COLUMNS} from folder f where f.account_id = $1 and f.id = any($2::uuid[]) and not f.deleting`;
const HOLD = `
  select ${COLUMNS}, f.provider_id as "providerId"
  from folder f where f.account_id = $1 and f.id = $2 and not f.deleting for update`;

// Names are compared under this lock: two requests cannot make the same one.
const HOLD_NAMES = `select 1 from "grant" where id = $1 for no key update`;
const TAKEN = `
  select 1 from folder where account_id = $1 and lower(display_name) = lower($2) and id <> $3 and not deleting`;

const INSERT = `
  insert into folder (id, account_id, provider_id, name, display_name, created_at, updated_at)
  values ($2, $1, null, null, $3, $4, $4)`;

// With the folders below it.
const RENAME = `
  update folder set display_name = $4 || substr(display_name, length($3) + 1), updated_at = $5
  where account_id = $1 and (id = $2 or (name is null and starts_with(display_name, $3 || '/')))
  returning id`;

const OCCUPIED = `
  select 1 where exists (select 1 from message_folder where folder_id = $2)
    or exists (select 1 from folder where account_id = $1 and starts_with(display_name, $3 || '/') and not deleting)`;

const HIDE = `update folder set deleting = true, updated_at = $3 where account_id = $1 and id = $2`;

/** Folders, or labels: as the organization unit of the account says. */
export const FOLDERS_OF_ACCOUNT: AccountListener = {
  shown: [
    `select f.id, g.organization_unit as object from folder f join "grant" g on g.id = f.account_id where f.account_id = $1`,
  ],
  mirrored: ['delete from folder where account_id = $1'],
};

/** SQL of folders and labels; every statement carries the account. */
@Injectable()
export class FoldersRepository {
  constructor(private readonly database: Database) {}

  /** Oldest first. */
  list(accountId: string, page: PageOfView): Promise<Listing<FolderRecord>> {
    const conditions = new Conditions();
    conditions.add(`f.account_id = ${conditions.value(accountId)} and not f.deleting`);
    return runListing<FolderRecord>(this.database, {
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
    return (await this.database.query<FolderRecord>(FIND, [accountId, id]))[0];
  }

  /** Those that the account has, in no order. */
  findMany(accountId: string, ids: readonly string[]): Promise<FolderRecord[]> {
    return this.database.query<FolderRecord>(FIND_MANY, [accountId, ids]);
  }

  async hold(sql: Sql, accountId: string, id: string): Promise<HeldFolder | undefined> {
    return (await sql.query<HeldFolder>(HOLD, [accountId, id]))[0];
  }

  /** Whether another one than `id` has the name, in whatever case; it stays so until the transaction ends. */
  async isTaken(sql: Sql, accountId: string, displayName: string, id: string): Promise<boolean> {
    await sql.query(HOLD_NAMES, [accountId]);
    return (await sql.query(TAKEN, [accountId, displayName, id])).length > 0;
  }

  async insert(sql: Sql, { id, accountId, displayName }: FolderRecord, at: Date): Promise<void> {
    await sql.query(INSERT, [accountId, id, displayName, at]);
  }

  /** @returns ids of the folders whose names have changed: it, and those below it */
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

  /** Whether there are messages or other folders in it. */
  async isOccupied(sql: Sql, { accountId, id, displayName }: FolderRecord): Promise<boolean> {
    return (await sql.query(OCCUPIED, [accountId, id, displayName])).length > 0;
  }

  async hide(sql: Sql, { accountId, id }: FolderRecord, at: Date): Promise<void> {
    await sql.query(HIDE, [accountId, id, at]);
  }
}
