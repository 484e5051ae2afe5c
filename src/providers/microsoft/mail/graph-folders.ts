import { z } from 'zod';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { BudgetPriority } from '../../../platform/budgets/budget-limit.ts';
import type { ProviderAccount, RemoteFolder } from '../../port/connector.ts';
import { forEachAtOnce } from '../../../platform/base/concurrency/for-each-at-once.ts';
import type { Clock } from '../../../platform/base/time/clock.ts';
import { nullIfGone } from '../../rest/gone.ts';
import type { GraphApi } from '../graph-api.ts';

const folder = z.object({
  id: z.string(),
  displayName: z.string().nullish(),
  parentFolderId: z.string().nullish(),
  totalItemCount: z.number().nullish(),
  unreadItemCount: z.number().nullish(),
});
export type GraphFolder = z.infer<typeof folder>;

const FIELDS = 'id,displayName,parentFolderId,totalItemCount,unreadItemCount';

/** Well-known folders, with their standard names and the names that clients see. */
const STANDARD: Readonly<Record<string, Pick<RemoteFolder, 'displayName'> & { name: string }>> = {
  inbox: { name: 'inbox', displayName: 'Inbox' },
  sentitems: { name: 'sent', displayName: 'Sent Items' },
  drafts: { name: 'drafts', displayName: 'Drafts' },
  deleteditems: { name: 'trash', displayName: 'Deleted Items' },
  junkemail: { name: 'spam', displayName: 'Junk Email' },
  archive: { name: 'archive', displayName: 'Archive' },
};
/** Folders of Outlook's own work: mail in them is no mail of the user, or not yet. */
const HIDDEN = [
  'outbox',
  'conversationhistory',
  'syncissues',
  'recoverableitemsdeletions',
] as const;
const WELL_KNOWN = [...Object.keys(STANDARD), ...HIDDEN];
/** Every mailbox has these. An answer without them is not believed. */
const ALWAYS = ['inbox', 'sentitems', 'drafts', 'deleteditems'] as const;

/** Ids of the well-known folders by their names. Names that the mailbox lacks are absent. */
export type WellKnown = Readonly<Record<string, string>>;

/** The folders of a mailbox. */
export interface FolderList {
  folders: RemoteFolder[];
  /** A text for each folder that changes whenever messages come, go or are read. */
  counts: ReadonlyMap<string, string>;
  /** Ids of all folders, hidden ones included. */
  ids: ReadonlySet<string>;
}

/** Mailboxes whose well-known folders are kept in memory. */
const MOST_KEPT = 10_000;
/** How long a set is kept from which names are missing. Milliseconds. */
const INCOMPLETE_MS = 3_600_000;
/** Folders that are asked for at the same time: one of the four requests stays free. */
const AT_ONCE = 3;

/** Lists the folders of mailboxes. */
export class GraphFolders {
  readonly #kept = new Map<string, { wellKnown: WellKnown; untilMs: number }>();

  constructor(
    private readonly graph: GraphApi,
    private readonly clock: Clock,
  ) {}

  /**
   * The ids of the well-known folders. They never change, so a complete set is asked for once.
   * @throws {ProviderError} `temporary` if Graph knows no inbox, sent items, drafts or deleted
   *   items
   */
  async wellKnown(account: ProviderAccount): Promise<WellKnown> {
    const { applicationId, email } = account;
    const key = `${applicationId}:${email}`;
    const before = this.#kept.get(key);
    const now = this.clock.now().getTime();
    if (before && now < before.untilMs) return before.wellKnown;
    const wellKnown = await this.#wellKnown(account);
    const lacking = ALWAYS.find((name) => wellKnown[name] === undefined);
    if (lacking !== undefined)
      throw new ProviderError('temporary', `Microsoft: the mailbox shows no folder ${lacking} now`);
    const isComplete = WELL_KNOWN.every((name) => wellKnown[name] !== undefined);
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    this.#kept.set(key, { wellKnown, untilMs: isComplete ? Infinity : now + INCOMPLETE_MS });
    return wellKnown;
  }

  async #wellKnown(account: ProviderAccount): Promise<WellKnown> {
    const found = await Promise.all(
      WELL_KNOWN.map(async (name) => [name, await this.#idOf(account, name)] as const),
    );
    return Object.fromEntries(
      found.flatMap(([name, id]) => (id === null ? [] : [[name, id] as const])),
    );
  }

  /**
   * All folders, standard ones first. Folders below a hidden one are hidden as well.
   * @throws {ProviderError} `temporary` if the list lacks the inbox
   */
  async list(
    account: ProviderAccount,
    wellKnown: WellKnown,
    priority: BudgetPriority,
  ): Promise<FolderList> {
    const all = await this.all(account, priority);
    const { inbox } = wellKnown;
    if (inbox !== undefined && !all.some(({ id }) => id === inbox))
      throw new ProviderError('temporary', 'Microsoft: the list of folders has no inbox');
    const shown = shownFolders(all, wellKnown);
    const counts = new Map(
      all.map(({ id, totalItemCount, unreadItemCount }) => [
        id,
        `${totalItemCount ?? 0}/${unreadItemCount ?? 0}`,
      ]),
    );
    return { folders: shown, counts, ids: new Set(all.map(({ id }) => id)) };
  }

  /**
   * Makes sure that folders are gone which a list does not contain: a list may be incomplete.
   * @throws {ProviderError} `temporary` if one of them still exists
   */
  async assertGone(account: ProviderAccount, ids: readonly string[]): Promise<void> {
    await forEachAtOnce(AT_ONCE, ids, async (id) => {
      if ((await this.#idOf(account, encodeURIComponent(id))) !== null)
        throw new ProviderError('temporary', 'Microsoft: the list of folders is not complete');
    });
  }

  /** The folders that clients see. */
  async shown(account: ProviderAccount, priority: BudgetPriority): Promise<RemoteFolder[]> {
    return (await this.list(account, await this.wellKnown(account), priority)).folders;
  }

  /** Their ids. */
  async shownIds(account: ProviderAccount, priority: BudgetPriority): Promise<Set<string>> {
    return new Set((await this.shown(account, priority)).map(({ providerId }) => providerId));
  }

  /** @throws {ProviderError} `not-found` if Graph does not find the folder */
  async assertFound(account: ProviderAccount, folderId: string): Promise<void> {
    const path = `/mailFolders/${encodeURIComponent(folderId)}`;
    const request = { method: 'GET', path, query: { $select: 'id' } } as const;
    await this.graph.read(account, { ...request, priority: 'interactive' }, folder);
  }

  /** All folders at all levels, hidden ones included. A delta query lists them flat. */
  all(account: ProviderAccount, priority: BudgetPriority): Promise<GraphFolder[]> {
    return this.graph.all(
      account,
      {
        method: 'GET',
        path: '/mailFolders/delta',
        query: { $select: FIELDS },
        prefer: ['odata.maxpagesize=500'],
        priority,
      },
      folder,
    );
  }

  async #idOf(account: ProviderAccount, name: string): Promise<string | null> {
    const query = { $select: 'id' };
    const request = { method: 'GET', path: `/mailFolders/${name}`, query } as const;
    const found = this.graph.read(account, { ...request, priority: 'interactive' }, folder);
    return (await nullIfGone(found))?.id ?? null;
  }
}

/** The folders that clients see, with levels separated by `/`. */
export function shownFolders(all: readonly GraphFolder[], wellKnown: WellKnown): RemoteFolder[] {
  const byId = new Map(all.map((one) => [one.id, one]));
  const standardOf = new Map(
    Object.entries(STANDARD).map(([name, standard]) => [wellKnown[name], standard]),
  );
  const hidden = new Set<string | undefined>(HIDDEN.map((name) => wellKnown[name]));
  const pathOf = (one: GraphFolder): { names: string[]; isHidden: boolean } => {
    const names: string[] = [];
    let isHidden = false;
    const seen = new Set<string>();
    // The folder above all others is not in the list.
    for (let at: GraphFolder | undefined = one; at && !seen.has(at.id); at = parentOf(byId, at)) {
      seen.add(at.id);
      names.unshift(standardOf.get(at.id)?.displayName ?? nameOf(at));
      isHidden ||= hidden.has(at.id);
    }
    return { names, isHidden };
  };
  const shown = all.flatMap((one): RemoteFolder[] => {
    const { names, isHidden } = pathOf(one);
    const name = standardOf.get(one.id)?.name ?? null;
    return isHidden ? [] : [{ providerId: one.id, name, displayName: names.join('/') }];
  });
  const order = Object.values(STANDARD).map(({ name }) => name);
  const rank = ({ name }: RemoteFolder) => (name === null ? order.length : order.indexOf(name));
  return shown.toSorted((a, b) => rank(a) - rank(b) || (a.displayName < b.displayName ? -1 : 1));
}

const parentOf = (byId: ReadonlyMap<string, GraphFolder>, { parentFolderId }: GraphFolder) =>
  parentFolderId ? byId.get(parentFolderId) : undefined;

/** A slash would read as a level. */
const nameOf = ({ displayName }: GraphFolder): string => (displayName ?? '').replaceAll('/', '∕');
