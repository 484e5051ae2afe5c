import { newId } from '../../platform/base/ids/ids.ts';
import type { MirroredFolder } from '../../mail/folders/mirror-folders.ts';
import type { RemoteFolder } from '../../providers/port/connector.ts';

/** A folder change that waits to be written to the provider. */
export interface FolderWrite {
  /** Our id of the folder. */
  objectId: string;
  action: string;
  payload: Readonly<Record<string, unknown>>;
}

export interface FolderPlan {
  written: MirroredFolder[];
  /** Ids of the folders in `written` that are new. */
  createdIds: Set<string>;
  /** Ids of the folders in `written` that clients see under another name. */
  changedIds: Set<string>;
  goneIds: string[];
}

/**
 * The names that a folder may have at the provider: its name here, and each name that an open write
 * gives it. After two quick renames, the provider may have carried out only the first.
 */
function namesOf(
  { id, displayName }: MirroredFolder,
  writes: readonly FolderWrite[],
): Set<unknown> {
  const given = writes.filter(({ objectId }) => objectId === id);
  return new Set([displayName, ...given.map(({ payload }) => payload['displayName'])]);
}

const isDelete = ({ action }: FolderWrite) => action.startsWith('delete_');

/**
 * Decides which folders to write to the mirror and which to delete. Folders with an open provider
 * write keep the state the client requested.
 */
export function planFolders(
  remote: readonly RemoteFolder[],
  mirrored: readonly MirroredFolder[],
  writes: readonly FolderWrite[],
): FolderPlan {
  const there = new Set(remote.map(({ providerId }) => providerId));
  const byProviderId = new Map(mirrored.map((folder) => [folder.providerId, folder]));
  const underWay = new Set(writes.map(({ objectId }) => objectId));
  const doomed = new Set(writes.filter(isDelete).flatMap(({ payload }) => Object.values(payload)));
  // Created or renamed through the API; the provider does not list the folder under its new id yet.
  const expected = mirrored
    .filter(
      ({ id, providerId }) => providerId === null || (underWay.has(id) && !there.has(providerId)),
    )
    // Ids rise with time, and the oldest folder of a name reaches the provider first.
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((folder) => ({ folder, names: namesOf(folder, writes) }));
  const plan: FolderPlan = {
    written: [],
    createdIds: new Set(),
    changedIds: new Set(),
    goneIds: [],
  };
  const kept = new Set(expected.map(({ folder }) => folder.id));
  for (const folder of remote) {
    const known =
      byProviderId.get(folder.providerId) ??
      expected.find(({ names }) => names.has(folder.displayName))?.folder;
    if (!known && doomed.has(folder.providerId)) continue;
    const id = known?.id ?? newId();
    kept.add(id);
    if (!known) plan.createdIds.add(id);
    // While the folder has an open provider write, show the name that the client requested.
    const displayName = known && underWay.has(id) ? known.displayName : folder.displayName;
    const { providerId, name } = folder;
    const looksSame = known?.name === name && known.displayName === displayName;
    // A renamed folder may only have got another id at the provider, which clients do not see.
    if (!looksSame || known.providerId !== providerId)
      plan.written.push({ id, providerId, name, displayName });
    if (known && !looksSame) plan.changedIds.add(id);
  }
  plan.goneIds = mirrored.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
  return plan;
}
