import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import {
  DomainError,
  InvalidInputError,
  NotFoundError,
} from '../../platform/base/errors/domain-error.ts';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import type { Listing, PageOfView } from '../../platform/database/listing.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import type { OrganizationUnit } from '../../platform/auth/grant-status.ts';
import { openProviderWrite } from '../../accounts/provider-writes/provider-jobs.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { type FolderRecord, FoldersRepository, type LockedFolder } from './folders.repository.ts';

/** 404: the request names folders but the account has labels, or the other way round. */
export class OtherUnitError extends DomainError {
  constructor(asked: OrganizationUnit) {
    const other = asked === 'folder' ? 'label' : 'folder';
    super(
      'folder.other-unit',
      'not-found',
      `This account has ${other}s and no ${asked}s: use /${other}s`,
    );
  }
}

/** Another folder already has the name, ignoring case. */
export class DuplicateFolderError extends InvalidInputError {
  constructor(unit: OrganizationUnit, displayName: string) {
    super(`display_name: a ${unit} named ${displayName.slice(0, 100)} already exists`);
  }
}

/** Folders of the provider can be neither renamed nor deleted. */
export class StandardFolderError extends InvalidInputError {
  constructor(unit: OrganizationUnit, name: string) {
    super(`id: the ${unit} ${name} belongs to the provider and cannot be changed`);
  }
}

/** New names of a folder. Absent fields stay unchanged. */
export interface FolderChange {
  displayName?: string | undefined;
  /** Its standard name, or a display name if that is absent. */
  name?: string | undefined;
}

/**
 * A folder after a write, and the id of the job that carries the write to the provider; `undefined`
 * if nothing was to be changed.
 */
export interface WrittenFolder {
  folder: FolderRecord;
  jobId: string | undefined;
}

/** Payload of a provider write for a folder. */
export interface FolderPayload {
  displayName: string;
  /** Only for a rename: the previous name. */
  before?: string;
  /** Only for a deletion: the provider's id; `null` if the folder was not at the provider yet. */
  providerId?: string | null;
}

/** Names with which providers mark their own folders. */
const STANDARD_NAMES: ReadonlySet<string> = new Set([
  'inbox',
  'sent',
  'drafts',
  'trash',
  'spam',
  'archive',
  'all',
  'important',
]);

const EVENTS = { create: 'create', update: 'modify', delete: 'delete' } as const;

/**
 * Folders or labels of an account, whichever it has. Reads come from the mirror. A change is stored
 * in the mirror at once and carried to the provider by a provider write. Every method takes the
 * unit the caller asked for and refuses the other one.
 */
@Injectable()
export class FoldersService {
  constructor(
    private readonly database: Database,
    private readonly repository: FoldersRepository,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  /** Oldest first. @throws {OtherUnitError} */
  async list(
    account: AccountPrincipal,
    unit: OrganizationUnit,
    page: PageOfView,
  ): Promise<Listing<FolderRecord>> {
    assertUnit(account, unit);
    return this.repository.list(account.accountId, page);
  }

  /**
   * Returns the folders of the account with these ids, in no particular order. Unknown ids are left
   * out.
   */
  findMany(accountId: string, ids: readonly string[]): Promise<FolderRecord[]> {
    return this.repository.findMany(accountId, ids);
  }

  /**
   * @throws {NotFoundError}
   * @throws {OtherUnitError}
   */
  async get(account: AccountPrincipal, unit: OrganizationUnit, id: string): Promise<FolderRecord> {
    assertUnit(account, unit);
    const folder = isId(id) ? await this.repository.find(account.accountId, id) : undefined;
    if (!folder) throw new NotFoundError(unit, id);
    return folder;
  }

  /**
   * @throws {OtherUnitError}
   * @throws {DuplicateFolderError}
   * @throws {UnsupportedProviderError}
   */
  async create(
    account: AccountPrincipal,
    unit: OrganizationUnit,
    displayName: string,
  ): Promise<WrittenFolder> {
    this.#assertWritable(account, unit);
    const { accountId } = account;
    const folder: FolderRecord = { id: newId(), accountId, name: null, displayName };
    return this.#write(async (sql, at) => {
      if (await this.repository.isTaken(sql, accountId, displayName, folder.id))
        throw new DuplicateFolderError(unit, displayName);
      await this.repository.insert(sql, folder, at);
      return this.#open(sql, account, 'create', folder, { displayName }, [folder.id], at);
    });
  }

  /**
   * Renames a folder and the folders below it. Without another name nothing happens.
   * @throws {NotFoundError}
   * @throws {OtherUnitError}
   * @throws {StandardFolderError}
   * @throws {DuplicateFolderError}
   * @throws {InvalidInputError} if the change gives the folder a standard name
   */
  async update(
    account: AccountPrincipal,
    unit: OrganizationUnit,
    id: string,
    change: FolderChange,
  ): Promise<WrittenFolder> {
    this.#assertWritable(account, unit);
    return this.#write(async (sql, at) => {
      const folder = await this.#lock(sql, account, id);
      const displayName = displayNameAfter(folder, change);
      if (displayName === folder.displayName) return { folder, jobId: undefined };
      assertNotStandard(account, folder);
      if (await this.repository.isTaken(sql, account.accountId, displayName, folder.id))
        throw new DuplicateFolderError(unit, displayName);
      const renamed = await this.repository.rename(sql, folder, displayName, at);
      const payload = { displayName, before: folder.displayName };
      return this.#open(sql, account, 'update', { ...folder, displayName }, payload, renamed, at);
    });
  }

  /**
   * Deletes an empty folder, or a label. Messages with the label stay.
   * @returns id of the job that carries the deletion to the provider
   * @throws {NotFoundError}
   * @throws {OtherUnitError}
   * @throws {StandardFolderError}
   * @throws {InvalidInputError} if the folder contains messages or other folders
   */
  async delete(account: AccountPrincipal, unit: OrganizationUnit, id: string): Promise<string> {
    this.#assertWritable(account, unit);
    const { jobId } = await this.#write(async (sql, at) => {
      const folder = await this.#lock(sql, account, id);
      assertNotStandard(account, folder);
      if (unit === 'folder' && (await this.repository.isOccupied(sql, folder)))
        throw new InvalidInputError(
          'id: the folder has messages or other folders in it: move them first',
        );
      await this.repository.hide(sql, folder, at);
      const { displayName, providerId } = folder;
      return this.#open(
        sql,
        account,
        'delete',
        folder,
        { displayName, providerId },
        [folder.id],
        at,
      );
    });
    return jobId;
  }

  #assertWritable(account: AccountPrincipal, unit: OrganizationUnit): void {
    assertUnit(account, unit);
    this.connectors.requireMailbox(account.provider);
  }

  /** Locks a folder until the transaction ends. */
  async #lock(
    sql: Sql,
    { accountId, organizationUnit }: AccountPrincipal,
    id: string,
  ): Promise<LockedFolder> {
    const folder = isId(id) ? await this.repository.lock(sql, accountId, id) : undefined;
    if (!folder) throw new NotFoundError(organizationUnit, id);
    return folder;
  }

  async #write<T>(work: (sql: Sql, at: Date) => Promise<T>): Promise<T> {
    const at = this.clock.now();
    return this.database.transaction((sql) => work(sql, at));
  }

  /** @param changed ids of the folders whose name or visibility has changed */
  async #open(
    sql: Sql,
    { accountId, applicationId, organizationUnit: object }: AccountPrincipal,
    verb: keyof typeof EVENTS,
    folder: FolderRecord,
    payload: FolderPayload,
    changed: readonly string[],
    at: Date,
  ): Promise<{ folder: FolderRecord; jobId: string }> {
    const jobId = newId();
    const job = {
      id: jobId,
      accountId,
      object,
      objectId: folder.id,
      payload: { ...payload },
      at,
    } as const;
    await openProviderWrite(sql, { ...job, action: `${verb}_${object}` });
    const event = EVENTS[verb];
    const changes = changed.map((objectId) => ({
      applicationId,
      accountId,
      object,
      objectId,
      event,
      at,
    }));
    await recordChanges(sql, changes);
    return { folder, jobId };
  }
}

/**
 * The display name after a change.
 * @throws {InvalidInputError} if the change names another standard name than the folder has
 */
function displayNameAfter(folder: FolderRecord, { displayName, name }: FolderChange): string {
  if (name === undefined || name === folder.name) return displayName ?? folder.displayName;
  if (STANDARD_NAMES.has(name.toLowerCase()))
    throw new InvalidInputError(
      `name: ${name} is a standard name, which only the provider gives; use display_name to rename the folder`,
    );
  return displayName ?? name;
}

function assertNotStandard({ organizationUnit }: AccountPrincipal, { name }: FolderRecord): void {
  if (name !== null) throw new StandardFolderError(organizationUnit, name);
}

function assertUnit({ organizationUnit }: AccountPrincipal, asked: OrganizationUnit): void {
  if (organizationUnit !== asked) throw new OtherUnitError(asked);
}
