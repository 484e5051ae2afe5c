import { Injectable } from '@nestjs/common';
import { openWritesOfAccount } from '../../accounts/provider-writes/open-writes.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../platform/changes/change-log.ts';
import { unannounced } from '../../platform/changes/usual-webhooks.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import type { MailChanges, RemoteFolder } from '../../providers/port/connector.ts';
import {
  deleteEmptyFolders,
  deleteFolders,
  mirroredFolders,
  renameFolders,
  writeFolders,
} from '../../mail/folders/mirror-folders.ts';
import { moveMessages } from '../../mail/messages/mirror/folder-contents.ts';
import { type FolderPlan, planFolders } from './folder-plan.ts';
import {
  setContentsAside,
  setDisplacedAside,
} from '../../mail/messages/mirror/vanished-messages.ts';
import { objectsOfEndedJobs } from '../../job-statuses/jobs.ts';
import { type MirrorClaim, MirrorRepository } from '../mirror.repository.ts';

const FOLDER_ACTIONS = [
  'create_folder',
  'update_folder',
  'delete_folder',
  'create_label',
  'update_label',
  'delete_label',
] as const;

/** Provider's ids of the folders that have a special meaning for the mirror. */
export interface StandardFolders {
  drafts: string | undefined;
  sent: string | undefined;
  spam: string | undefined;
  trash: string | undefined;
}

/** Result of a sync pass over the folders. */
export interface FollowedFolders {
  standard: StandardFolders;
  /**
   * True if messages were marked as vanished, because their folder was deleted or another message
   * already has their new provider id.
   */
  setAside: boolean;
  /**
   * True if a folder change of ours ended after the folder list was requested. The list was then
   * ignored: run another sync pass.
   */
  outdated: boolean;
}

/** Copies the folders or labels of an account from the provider into the mirror. */
@Injectable()
export class FolderMirror {
  constructor(
    private readonly database: Database,
    private readonly repository: MirrorRepository,
    private readonly clock: Clock,
  ) {}

  /** The standard folders as the mirror has them, without asking the provider. */
  async standard(accountId: string): Promise<StandardFolders> {
    return standardOf(await mirroredFolders(this.database, accountId));
  }

  /**
   * The standard folders, and those that contain a message that was just sent: `ofSent` has their
   * provider ids. It is empty before the first sync pass, and for a mailbox without Sent. With
   * labels, every message is in All Mail, too.
   */
  async placesOfSent({
    accountId,
    organizationUnit,
  }: ConnectedAccount): Promise<{ standard: StandardFolders; ofSent: readonly string[] }> {
    const folders = await mirroredFolders(this.database, accountId);
    const standard = standardOf(folders);
    const all = organizationUnit === 'label' ? idOfStandard(folders, 'all') : undefined;
    const ofSent = standard.sent === undefined ? [] : [standard.sent, ...(all ? [all] : [])];
    return { standard, ofSent };
  }

  /**
   * Stores the folder changes of a sync pass. Renamed folders keep their ids and their messages. A
   * folder that is being created, renamed or deleted through the API stays as the client requested
   * it.
   * @throws {ClaimLostError}
   */
  async follow(
    account: ConnectedAccount,
    claim: MirrorClaim,
    { folders, renamed }: Pick<MailChanges, 'folders' | 'renamed'>,
    requestedAt: Date,
  ): Promise<FollowedFolders> {
    const { accountId } = account;
    const at = this.clock.now();
    return this.repository.withClaim(claim, null, async (sql) => {
      const isOutdated = async () =>
        (await objectsOfEndedJobs(sql, accountId, FOLDER_ACTIONS, requestedAt)).length > 0;
      const displaced =
        renamed.length > 0 && !(await isOutdated()) && (await rename(sql, accountId, renamed, at));
      // In this order: a change that a request makes in between is in the open writes or, if its
      // job has ended, makes the list outdated. It must not be taken for one of the provider's.
      const mirrored = await mirroredFolders(sql, accountId);
      const writes = await openWritesOfAccount(sql, accountId, FOLDER_ACTIONS);
      const outdated = await isOutdated();
      // Every mailbox has folders: an empty list is a failure of the provider.
      if (!folders || folders.length === 0 || outdated)
        return { standard: standardOf(mirrored), setAside: displaced, outdated };
      const plan = planFolders(folders, mirrored, writes);
      let contentsSetAside = false;
      if (plan.written.length + plan.goneIds.length > 0) {
        contentsSetAside = await setContentsAside(sql, accountId, plan.goneIds, at);
        await deleteFolders(sql, accountId, plan.goneIds);
        await writeFolders(sql, accountId, plan.written, at);
        const changes = changesOf(account, plan, at);
        // The first reading of a mailbox finds its folders; nothing has changed in them.
        const isFirst = mirrored.length === 0;
        await recordChanges(sql, isFirst ? changes.map(unannounced) : changes);
      }
      return { standard: standardOf(folders), setAside: displaced || contentsSetAside, outdated };
    });
  }

  /**
   * Adds folders that are missing in the mirror, and renames mirrored folders whose name differs.
   * Folders that only the mirror has stay.
   * @param folders all folders of the mailbox
   * @param requestedAt when they were requested; if a folder change of ours has ended since then,
   *   nothing is changed
   * @returns provider ids of the folders that only the mirror has
   * @throws {ClaimLostError}
   */
  async addMissing(
    account: ConnectedAccount,
    claim: MirrorClaim,
    folders: readonly RemoteFolder[],
    requestedAt: Date,
  ): Promise<string[]> {
    const at = this.clock.now();
    return this.repository.withClaim(claim, null, async (sql) => {
      const { plan, surplus } = await compare(sql, account, folders, requestedAt);
      if (plan.written.length === 0) return surplus;
      await writeFolders(sql, account.accountId, plan.written, at);
      await recordChanges(sql, changesOf(account, { ...plan, goneIds: [] }, at));
      return surplus;
    });
  }

  /**
   * Removes folders that only the mirror has and that have no messages.
   * @param folders all folders of the mailbox
   * @param providerIds other folders stay
   * @param requestedAt as in `addMissing`
   * @throws {ClaimLostError}
   */
  async removeEmpty(
    account: ConnectedAccount,
    claim: MirrorClaim,
    folders: readonly RemoteFolder[],
    providerIds: readonly string[],
    requestedAt: Date,
  ): Promise<void> {
    const at = this.clock.now();
    await this.repository.withClaim(claim, null, async (sql) => {
      const { surplus } = await compare(sql, account, folders, requestedAt);
      const doomed = surplus.filter((id) => providerIds.includes(id));
      const goneIds = await deleteEmptyFolders(sql, account.accountId, doomed);
      const none = new Set<string>();
      await recordChanges(
        sql,
        changesOf(account, { createdIds: none, changedIds: none, goneIds }, at),
      );
    });
  }
}

/**
 * Compares all folders of a mailbox with the mirror. Nothing differs after a folder change of ours,
 * and if the provider has listed no folder at all.
 */
async function compare(
  sql: Sql,
  { accountId }: ConnectedAccount,
  folders: readonly RemoteFolder[],
  requestedAt: Date,
): Promise<{ plan: FolderPlan; surplus: string[] }> {
  const mirrored = await mirroredFolders(sql, accountId);
  const writes = await openWritesOfAccount(sql, accountId, FOLDER_ACTIONS);
  const ended = await objectsOfEndedJobs(sql, accountId, FOLDER_ACTIONS, requestedAt);
  const plan: FolderPlan =
    ended.length > 0 || folders.length === 0
      ? { written: [], createdIds: new Set(), changedIds: new Set(), goneIds: [] }
      : planFolders(folders, mirrored, writes);
  const gone = mirrored.filter(({ id }) => plan.goneIds.includes(id));
  return { plan, surplus: gone.flatMap(({ providerId }) => providerId ?? []) };
}

/**
 * @returns true if messages were marked as vanished, because another message already has their
 *   new provider id
 */
async function rename(
  sql: Sql,
  accountId: string,
  renamed: MailChanges['renamed'],
  at: Date,
): Promise<boolean> {
  await renameFolders(sql, accountId, renamed, at);
  const prefixes = renamed.flatMap(({ messagePrefix }) => messagePrefix ?? []);
  if (prefixes.length === 0) return false;
  await moveMessages(sql, accountId, prefixes);
  return setDisplacedAside(sql, accountId, at);
}

function changesOf(
  { applicationId, accountId, organizationUnit: object }: ConnectedAccount,
  { createdIds, changedIds, goneIds }: Omit<FolderPlan, 'written'>,
  at: Date,
): ChangeRecord[] {
  const change = (objectId: string, event: ChangeRecord['event']): ChangeRecord => {
    return { applicationId, accountId, object, objectId, event, at };
  };
  return [
    ...[...createdIds].map((id) => change(id, 'create')),
    ...[...changedIds].map((id) => change(id, 'modify')),
    ...goneIds.map((id) => change(id, 'delete')),
  ];
}

type NamedFolder = Pick<RemoteFolder, 'name'> & { providerId: string | null };

const idOfStandard = (folders: readonly NamedFolder[], name: string): string | undefined =>
  folders.find((folder) => folder.name === name)?.providerId ?? undefined;

function standardOf(folders: readonly NamedFolder[]): StandardFolders {
  const idOf = (name: string) => idOfStandard(folders, name);
  return { drafts: idOf('drafts'), sent: idOf('sent'), spam: idOf('spam'), trash: idOf('trash') };
}
