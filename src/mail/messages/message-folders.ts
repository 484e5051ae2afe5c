import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { type LabelRef, labelsAfter, threadLabelsAfter } from './label-rules.ts';
import type { LockedMessage } from './message-state.ts';

/** The requested folder or labels of messages. */
export interface FolderChange {
  folderId?: string | undefined;
  labelIds?: readonly string[] | undefined;
}

const FOLDERS = `
  select id, name from folder where account_id = $1 and (id = any($2::uuid[]) or name = 'all') and not deleting
  for key share`;

/** Standard names of folders. Messages in them stay there when their thread is moved. */
const NEVER_MOVED: readonly (string | null | undefined)[] = ['drafts', 'sent'];

/**
 * Computes the folders or labels of locked messages after a change, sorted, by message id. A
 * message that is not moved has no entry.
 * @param asThread true to apply the change to all messages together, as a thread
 * @throws {InvalidInputError} if a folder or label does not exist, or the rules forbid the change
 */
export async function foldersAfter(
  sql: Sql,
  account: AccountPrincipal,
  messages: readonly LockedMessage[],
  change: FolderChange,
  { asThread }: { asThread: boolean },
): Promise<Map<string, string[]>> {
  const { accountId, organizationUnit: unit } = account;
  const wanted = wantedOf(account, change);
  const present = new Set(messages.flatMap(({ folders }) => folders));
  if (!wanted || (wanted.length === 0 && present.size === 0)) return new Map();
  const field = unit === 'label' ? 'label_ids or labels' : 'folder_id or folder';
  if (wanted.length === 0) throw new InvalidInputError(`${field}: must name at least one label`);
  const known = await sql.query<LabelRef>(FOLDERS, [
    accountId,
    [...wanted.filter(isId), ...present],
  ]);
  const find = (id: string) => known.find((folder) => folder.id === id);
  const unknown = wanted.find((id) => !find(id));
  if (unknown !== undefined)
    throw new InvalidInputError(`${field}: Couldn't find ${unit} ${unknown.slice(0, 100)}`);
  const given = wanted.flatMap((id) => find(id) ?? []);
  if (unit === 'folder') {
    const [target] = given;
    const moving = messages.filter(({ folders }) => {
      return !asThread || !folders.some((id) => NEVER_MOVED.includes(find(id)?.name));
    });
    if (target?.name === 'drafts' && moving.some(({ folders }) => !folders.includes(target.id)))
      throw new InvalidInputError(`${field}: a message cannot become a draft`);
    return new Map(moving.map(({ id }) => [id, wanted]));
  }
  const all = known.find(({ name }) => name === 'all');
  const union = known.filter(({ id }) => present.has(id));
  return new Map(
    messages.map(({ id, folders }) => {
      const current = folders.flatMap((folder) => find(folder) ?? []);
      const after = asThread
        ? threadLabelsAfter(current, union, given, all)
        : labelsAfter(current, given, all);
      return [id, idsOf(after).sort()];
    }),
  );
}

/**
 * The requested ids in lower case, without duplicates. `undefined` if the change names no folder or
 * label.
 */
function wantedOf(
  { organizationUnit }: AccountPrincipal,
  { folderId, labelIds }: FolderChange,
): string[] | undefined {
  if (organizationUnit === 'label' && folderId !== undefined)
    throw new InvalidInputError('folder_id or folder: this account has labels; use label_ids');
  // The official client sends an empty list for accounts without labels.
  if (organizationUnit === 'folder' && labelIds?.length)
    throw new InvalidInputError('label_ids or labels: this account has folders; use folder_id');
  const wanted =
    organizationUnit === 'label' ? labelIds : folderId === undefined ? undefined : [folderId];
  return wanted && [...new Set(wanted.map((id) => id.toLowerCase()))];
}
