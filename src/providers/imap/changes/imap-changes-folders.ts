import { createHash } from 'node:crypto';
import type { ImapFlow, ListResponse, StatusObject } from 'imapflow';
import { answersWithin } from '../sessions/imap-connection.ts';
import type { RemoteFolder } from '../../port/connector.ts';
import { type FolderState, messagePrefix } from './imap-cursor.ts';

export interface ListedFolder extends RemoteFolder {
  /** The folder's STATUS. `null` if the server did not report it. */
  status: FolderStatus | null;
}

export interface FolderStatus {
  uidValidity: string;
  uidNext: number;
  messages: number;
  unseen: number | null;
  modseq: string | null;
}

/** Largest list of folders, in bytes: enough for ten thousand folders with their status. */
const LIST_BYTES = 4 * 1024 * 1024;

const NAMES: Readonly<Record<string, string>> = {
  '\\Inbox': 'inbox',
  '\\Sent': 'sent',
  '\\Drafts': 'drafts',
  '\\Trash': 'trash',
  '\\Junk': 'spam',
  '\\Archive': 'archive',
  '\\All': 'all',
};
/** Views of messages that are in other folders. Their messages would appear twice. */
const VIEWS = ['\\All', '\\Flagged', '\\Important'];

/**
 * Lists all folders that can hold messages, with their STATUS. This takes one round trip if the
 * server has LIST-STATUS (RFC 5819). The list excludes names without a mailbox, other users'
 * mailboxes, and views of messages in other folders. Views are recognised on Gmail (X-GM-EXT-1) and
 * on every server that flags a folder as a view.
 */
export async function listFolders(client: ImapFlow): Promise<ListedFolder[]> {
  const counts = client.enabled.has('CONDSTORE');
  const statusQuery = {
    messages: true,
    uidNext: true,
    uidValidity: true,
    unseen: true,
    highestModseq: true,
  };
  const listed = await answersWithin(client, { commandBytes: LIST_BYTES }, () =>
    client.list({ statusQuery }),
  );
  const foreign = [client.namespaces?.other, client.namespaces?.shared]
    .flatMap((spaces) => spaces || [])
    .map(({ prefix }) => prefix)
    .filter(Boolean);
  const own = client.namespace?.prefix ?? '';
  return listed
    .filter(({ flags }) => !flags.has('\\Noselect') && !flags.has('\\NonExistent'))
    .filter((entry) => !isView(entry))
    .filter(({ path }) => !foreign.some((prefix) => prefix !== own && path.startsWith(prefix)))
    .map((entry) => ({
      providerId: entry.path,
      name: NAMES[entry.specialUse ?? ''] ?? null,
      displayName: displayNameOf(entry, own),
      status: statusOf(entry.status, counts),
    }));
}

/**
 * Views are recognised by flags only: a folder that is merely named "All" may be the user's own.
 */
function isView({ flags, specialUse, specialUseSource }: ListResponse): boolean {
  return (
    VIEWS.some((view) => flags.has(view)) ||
    (specialUse === '\\All' && specialUseSource === 'extension')
  );
}

function displayNameOf({ path, delimiter }: ListResponse, prefix: string): string {
  const name =
    prefix && path.startsWith(prefix) && path.length > prefix.length
      ? path.slice(prefix.length)
      : path;
  return delimiter ? name.split(delimiter).join('/') : name;
}

/**
 * Reads a STATUS response. `null` if a required value is missing.
 * @param counts whether the server reports flag changes (CONDSTORE is enabled)
 */
export function statusOf(
  status: Partial<StatusObject> | false | undefined,
  counts: boolean,
): FolderStatus | null {
  if (
    !status ||
    !status.uidNext ||
    status.uidValidity === undefined ||
    status.messages === undefined
  )
    return null;
  const { uidValidity, uidNext, messages, unseen, highestModseq } = status;
  return {
    uidValidity: uidValidity.toString(),
    uidNext,
    messages,
    unseen: unseen ?? null,
    modseq: counts && highestModseq ? highestModseq.toString() : null,
  };
}

const ORDER = ['inbox', 'sent', 'drafts'];

/** Sorts the folders that users open first to the front. */
export function inOrder(folders: readonly ListedFolder[]): ListedFolder[] {
  const rank = ({ name }: ListedFolder) => (ORDER.indexOf(name ?? '') + 1 || ORDER.length + 1) - 1;
  return [...folders].sort((a, b) => rank(a) - rank(b));
}

/** A digest that changes whenever the list of folders changes. */
export function digestOf(folders: readonly ListedFolder[]): string {
  const text = JSON.stringify(
    folders
      .map(({ providerId, name, displayName }) => [providerId, name, displayName].join('\0'))
      .sort(),
  );
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

/** A folder that was renamed. */
export interface Renaming {
  from: string;
  to: string;
}

/** A renaming in the form of the port. */
export const renamedAs = ({ from, to }: Renaming) => ({
  from,
  to,
  messagePrefix: { from: messagePrefix(from), to: messagePrefix(to) },
});

/**
 * Finds renamed folders. A folder that disappeared, or got another UIDVALIDITY, is paired with a
 * new folder that has its old UIDVALIDITY and at least its UIDNEXT. Ambiguous pairs are dropped,
 * because messages could be mistaken for others. The renamings are ordered so that each new name is
 * free when its renaming is applied.
 */
export function findRenamings(
  states: readonly FolderState[],
  folders: readonly ListedFolder[],
): readonly Renaming[] {
  const statuses = new Map(folders.map(({ providerId, status }) => [providerId, status]));
  const lost = states.filter(({ path, uidValidity }) => {
    const status = statuses.get(path);
    return status === undefined || (status !== null && status.uidValidity !== uidValidity);
  });
  const validities = new Map(states.map(({ path, uidValidity }) => [path, uidValidity]));
  const found = folders.filter(
    ({ providerId, status }) => status && status.uidValidity !== validities.get(providerId),
  );
  const fits = (state: FolderState, { status }: ListedFolder) =>
    status?.uidValidity === state.uidValidity && status.uidNext >= state.next;
  const pairs = lost.flatMap((state): Renaming[] => {
    const [target, ...others] = found.filter((folder) => fits(state, folder));
    if (!target || others.length > 0 || lost.filter((one) => fits(one, target)).length > 1)
      return [];
    return [{ from: state.path, to: target.providerId }];
  });
  return inSafeOrder(pairs, new Set(validities.keys()));
}

/**
 * A name is free if no folder has it, or if its folder has been renamed earlier in the order.
 * Renamings whose name never becomes free are dropped.
 */
function inSafeOrder(pairs: readonly Renaming[], taken: Set<string>): Renaming[] {
  const ordered: Renaming[] = [];
  let waiting = [...pairs];
  for (;;) {
    const free = waiting.filter(({ to }) => !taken.has(to));
    if (free.length === 0) return ordered;
    for (const { from } of free) taken.delete(from);
    ordered.push(...free);
    waiting = waiting.filter((pair) => !free.includes(pair));
  }
}
