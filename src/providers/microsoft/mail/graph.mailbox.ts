import { z } from 'zod';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type {
  DraftContent,
  MailboxPort,
  ProviderAccount,
  RemoteFolder,
} from '../../port/connector.ts';
import { ignoreGone, nullIfGone } from '../../rest/gone.ts';
import type { GraphApi } from '../graph-api.ts';
import { GraphError } from '../graph-error.ts';
import { unlessPassing } from '../graph-second-look.ts';
import {
  type GraphFolder,
  type GraphFolders,
  shownFolders,
  type WellKnown,
} from './graph-folders.ts';
import { PLACE_FIELDS, graphMessage } from './graph-message.ts';
import type { GraphOutgoing } from './graph-outgoing.ts';

/** Longest name of one folder. */
const LONGEST_NAME = 255;
const created = z.object({ id: z.string() });
const state = z.object({
  id: z.string(),
  totalItemCount: z.number().nullish(),
  childFolderCount: z.number().nullish(),
  parentFolderId: z.string().nullish(),
});

/** The folders of a mailbox while one of them is changed. */
interface Tree {
  all: readonly GraphFolder[];
  shown: readonly RemoteFolder[];
  wellKnown: WellKnown;
}

/** Changes of Microsoft mailboxes. Ids of messages and folders never change. */
export class GraphMailbox implements MailboxPort {
  constructor(
    private readonly graph: GraphApi,
    private readonly folders: GraphFolders,
    private readonly outgoing: GraphOutgoing,
  ) {}

  async setFlags(
    account: ProviderAccount,
    providerId: string,
    { unread, starred }: { unread?: boolean; starred?: boolean },
  ) {
    const json = {
      ...(unread === undefined ? {} : { isRead: !unread }),
      ...(starred === undefined
        ? {}
        : { flag: { flagStatus: starred ? 'flagged' : 'notFlagged' } }),
    };
    const path = messagePath(providerId);
    const writing = this.#write(account, 'PATCH', path, json);
    await unlessPassing(this.graph, account, { path, part: 'mail' }, writing);
  }

  /** A message is in one folder: of several, none is chosen. */
  async setFolders(account: ProviderAccount, providerId: string, folderIds: readonly string[]) {
    const [destinationId, ...others] = new Set(folderIds);
    if (destinationId === undefined || others.length > 0)
      throw new ProviderError('rejected', 'Microsoft: a message is in exactly one folder');
    const path = messagePath(providerId);
    const query = { $select: PLACE_FIELDS };
    const request = { method: 'GET', path, query, priority: 'interactive' } as const;
    const reading = this.graph.read(account, request, graphMessage);
    const message = { path, part: 'mail' } as const;
    const { parentFolderId } = await unlessPassing(this.graph, account, message, reading);
    if (parentFolderId === destinationId) return { providerId };
    const moving = this.#write(account, 'POST', `${path}/move`, { destinationId });
    await this.#unlessPassing(account, destinationId, moving);
    return { providerId };
  }

  async createFolder(account: ProviderAccount, displayName: string) {
    return { providerId: await this.#makePath(account, levelsOf(displayName)) };
  }

  /** Changes the name and, if the levels above differ, the place of the folder. */
  async renameFolder(account: ProviderAccount, providerId: string, displayName: string) {
    const levels = levelsOf(displayName);
    const tree = await this.#tree(account);
    const one = tree.shown.find((folder) => folder.providerId === providerId);
    if (!one) return this.#unlessPassing(account, providerId, noFolder(providerId));
    assertOwn(tree, providerId);
    const taken = named(tree, displayName);
    if (taken && taken.providerId !== providerId)
      throw new ProviderError('conflict', `Microsoft: a folder ${displayName} already exists`);
    if (isBelow(displayName, one.displayName))
      throw new ProviderError('rejected', 'Microsoft: a folder cannot be below itself');
    const before = one.displayName.split('/');
    const path = folderPath(providerId);
    const leaf = levels.at(-1) ?? '';
    const write = (method: 'POST' | 'PATCH', to: string, json: object) =>
      this.#unlessPassing(account, providerId, this.#write(account, method, to, json));
    if (leaf !== before.at(-1)) await write('PATCH', path, { displayName: leaf });
    const above = levels.slice(0, -1);
    if (above.join('/') !== before.slice(0, -1).join('/')) {
      const destinationId = above.length > 0 ? await this.#makePath(account, above) : ROOT;
      await write('POST', `${path}/move`, { destinationId });
    }
    return { providerId, messagePrefix: null };
  }

  /**
   * Deletes an empty folder. Graph moves it to Deleted Items first. A folder that has got a message
   * meanwhile stays there.
   */
  async deleteFolder(account: ProviderAccount, providerId: string) {
    assertOwn({ wellKnown: await this.folders.wellKnown(account) }, providerId);
    for (const _step of ['to Deleted Items', 'for good']) {
      const folder = await this.#state(account, providerId);
      if (!folder) return;
      const { totalItemCount, childFolderCount } = folder;
      if (totalItemCount || childFolderCount)
        throw new ProviderError('rejected', 'Microsoft: the folder contains messages or folders');
      const request = { method: 'DELETE', path: folderPath(providerId) } as const;
      const deleting = this.graph.send(account, { ...request, priority: 'interactive' });
      await ignoreGone(this.#unlessPassing(account, providerId, deleting));
    }
  }

  /** The Message-ID tells whether an earlier call has stored this version. */
  async saveDraft(account: ProviderAccount, draft: DraftContent, replaces: string | null) {
    const { messageIdHeader, mime } = draft;
    const saved = await this.outgoing.find(account, 'drafts', messageIdHeader, 'interactive');
    let stored: string | null = null;
    for (const { providerId } of saved) {
      const isWhole =
        stored === null && (await this.outgoing.isComplete(account, providerId, mime));
      if (isWhole) stored = providerId;
      else await this.outgoing.remove(account, providerId, 'interactive');
    }
    stored ??= (await this.outgoing.createDraft(account, draft, 'interactive')).providerId;
    if (replaces !== null && replaces !== stored)
      await this.outgoing.remove(account, replaces, 'interactive');
    return { providerId: stored };
  }

  async deleteDraft(account: ProviderAccount, providerId: string) {
    await this.outgoing.remove(account, providerId, 'interactive');
  }

  /** The folder at this path; it and the levels above it are created if they are missing. */
  async #makePath(account: ProviderAccount, levels: readonly string[]): Promise<string> {
    let tree = await this.#tree(account);
    let parent: string | null = null;
    for (const [index, displayName] of levels.entries()) {
      const path = levels.slice(0, index + 1).join('/');
      const before = named(tree, path);
      if (before) {
        parent = before.providerId;
        continue;
      }
      const made = await this.#make(account, parent, displayName);
      if (made === null) tree = await this.#tree(account);
      const found: string | undefined = made ?? named(tree, path)?.providerId;
      if (found === undefined)
        throw new ProviderError('rejected', `Microsoft: the name ${displayName} is not available`);
      parent = found;
    }
    return parent ?? ROOT;
  }

  /** @returns `null` if a folder of this name exists: another request or Outlook has made it */
  async #make(
    account: ProviderAccount,
    parent: string | null,
    displayName: string,
  ): Promise<string | null> {
    const path = parent === null ? '/mailFolders' : `${folderPath(parent)}/childFolders`;
    try {
      const request = { method: 'POST', path, json: { displayName }, ...WRITE } as const;
      return (await this.graph.read(account, request, created)).id;
    } catch (error) {
      if (error instanceof GraphError && error.code === 'conflict') return null;
      throw error;
    }
  }

  async #tree(account: ProviderAccount): Promise<Tree> {
    const wellKnown = await this.folders.wellKnown(account);
    const all = await this.folders.all(account, 'interactive');
    return { all, shown: shownFolders(all, wellKnown), wellKnown };
  }

  async #state(account: ProviderAccount, id: string): Promise<z.infer<typeof state> | null> {
    const query = { $select: 'id,totalItemCount,childFolderCount,parentFolderId' };
    const request = {
      method: 'GET',
      path: folderPath(id),
      query,
      priority: 'interactive',
    } as const;
    return nullIfGone(this.#unlessPassing(account, id, this.graph.read(account, request, state)));
  }

  /** Waits for a request about a folder. See `provenGone`. */
  #unlessPassing<T>(account: ProviderAccount, id: string, work: Promise<T>): Promise<T> {
    return unlessPassing(this.graph, account, { path: folderPath(id), part: 'mail' }, work);
  }

  #write(account: ProviderAccount, method: 'POST' | 'PATCH', path: string, json: unknown) {
    return this.graph.send(account, { method, path, json, ...WRITE });
  }
}

const noFolder = (id: string): Promise<never> =>
  Promise.reject(new ProviderError('not-found', `Microsoft: there is no folder ${id}`));

/** All writes here may be repeated. */
const WRITE = { priority: 'interactive', repeatable: true } as const;

/** Well-known name of the folder above all others. */
const ROOT = 'msgfolderroot';

const messagePath = (id: string): string => `/messages/${encodeURIComponent(id)}`;
const folderPath = (id: string): string => `/mailFolders/${encodeURIComponent(id)}`;

/** @throws {ProviderError} `rejected` */
function levelsOf(displayName: string): string[] {
  const levels = displayName.split('/');
  const isName = levels.every((level) => level.trim() !== '' && level.length <= LONGEST_NAME);
  if (isName) return levels;
  throw new ProviderError(
    'rejected',
    `Microsoft: a folder needs a name of at most ${LONGEST_NAME} characters, without empty levels`,
  );
}

/** Exchange does not distinguish upper and lower case. */
function named({ shown }: Tree, displayName: string): RemoteFolder | undefined {
  const wanted = displayName.toLowerCase();
  return shown.find((folder) => folder.displayName.toLowerCase() === wanted);
}

const isBelow = (path: string, above: string): boolean =>
  path.toLowerCase().startsWith(`${above.toLowerCase()}/`);

/** @throws {ProviderError} `rejected` for a folder of Outlook itself */
function assertOwn({ wellKnown }: Pick<Tree, 'wellKnown'>, id: string): void {
  if (Object.values(wellKnown).includes(id))
    throw new ProviderError('rejected', `Microsoft: the folder ${id} belongs to Outlook`);
}
