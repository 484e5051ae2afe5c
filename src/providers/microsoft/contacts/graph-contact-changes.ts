import { z } from 'zod';
import { forEachAtOnce } from '../../../platform/base/concurrency/for-each-at-once.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { ContactChanges, ProviderAccount, RemoteContact } from '../../port/connector.ts';
import { readCursor } from '../../rest/cursor.ts';
import { nullIfGone } from '../../rest/gone.ts';
import type { GraphApi, GraphRequest } from '../graph-api.ts';
import { CONTACT_PROPERTIES, type GraphContact, graphContact } from './graph-contact.ts';
import { GraphError, ifAllowed } from '../graph-error.ts';

const COST = { method: 'GET', priority: 'interactive' } as const;
const IDS_PER_PAGE = 500;
const MOST_PER_PAGE = 100;
/** The folder that every mailbox has. No list has it. */
const DEFAULT_FOLDER = 'contacts';
const MOST_PAGES = 1_000;
/** Most folders that are read, and how deep: each costs two requests for a poll. */
const MOST_FOLDERS = 100;
const DEEPEST = 10;
/** Folders asked at the same time: one of the four requests of a mailbox stays free. */
const AT_ONCE = 3;

const idShape = z.object({ id: z.string() });
const deltaEntry = z.object({ id: z.string(), '@removed': z.object({}).optional() });

const cursorShape = z.object({
  /** Where to ask for the changes of each folder. */
  links: z.record(z.string(), z.string()),
  /** First listing: the folders that are still to be listed, with the page to continue at. */
  listing: z.array(z.object({ folder: z.string(), page: z.string().nullable() })).nullable(),
  /** Changed and removed ids that are not reported yet. */
  waiting: z.array(z.string()),
  /** Those of them that Graph has reported as removed from a folder. */
  left: z.array(z.string()).default([]),
  /** Changed ids that Graph does not find, and does not report as removed: asked for again. */
  missing: z.array(z.string()).default([]),
});
type Cursor = z.infer<typeof cursorShape>;

/** How contacts are read. */
interface ContactReader {
  query: NonNullable<GraphRequest['query']>;
  find(account: ProviderAccount, id: string): Promise<GraphContact | null>;
  remoteOf(contact: GraphContact): RemoteContact;
}

/**
 * Follows the contacts of all folders, also of those inside of others. Delta queries bring the ids
 * of changed contacts. Each contact is then read by itself, because a delta query reports no
 * extended properties. A contact that was moved to another folder is removed from one and still
 * exists.
 */
export class GraphContactChanges {
  constructor(
    private readonly api: GraphApi,
    private readonly reader: ContactReader,
  ) {}

  /** See `ContactsPort.listContactChanges`. */
  async list(
    account: ProviderAccount,
    cursor: string | null,
    limit: number,
  ): Promise<ContactChanges> {
    const at = readCursor(cursor, cursorShape) ?? (await this.#begin(account));
    if (at.listing) return this.#listed(account, at, at.listing, limit);
    const next = at.waiting.length > 0 ? at : await this.#changed(account, at);
    return next === null ? this.#anew(account, at, limit) : this.#waiting(account, next, limit);
  }

  async #anew(account: ProviderAccount, at: Cursor, limit: number): Promise<ContactChanges> {
    const anew = await this.#begin(account, Object.keys(at.links));
    return this.#page(account, anew, anew.listing ?? [], limit);
  }

  /** A page of the first listing. A link that is too old, or a deleted folder, begins it again. */
  async #listed(
    account: ProviderAccount,
    at: Cursor,
    listing: NonNullable<Cursor['listing']>,
    limit: number,
  ): Promise<ContactChanges> {
    try {
      return await this.#page(account, at, listing, limit);
    } catch (error) {
      if (error instanceof GraphError && error.isLostLink) return this.#anew(account, at, limit);
      throw error;
    }
  }

  /**
   * Marks what will be reported as changes later, before everything is listed.
   * @param known folders that were followed before
   */
  async #begin(account: ProviderAccount, known: readonly string[] = []): Promise<Cursor> {
    const folders = await ifAllowed(this.#folders(account, known));
    const links: Record<string, string> = {};
    for (const folder of folders)
      links[folder] = (await this.#delta(account, deltaOf(folder))).link;
    const listing = folders.map((folder) => ({ folder, page: null }));
    return { links, listing, waiting: [], left: [], missing: [] };
  }

  async #page(
    account: ProviderAccount,
    at: Cursor,
    [first, ...others]: NonNullable<Cursor['listing']>,
    limit: number,
  ): Promise<ContactChanges> {
    const contacts: RemoteContact[] = [];
    const left = [...others];
    if (first) {
      const query = { ...this.reader.query, $top: Math.min(limit, MOST_PER_PAGE) };
      const request =
        first.page === null
          ? { path: contactsOf(first.folder), query }
          : { path: first.page, root: true };
      const { value, next } = await this.api.page(account, { ...COST, ...request });
      for (const one of value) {
        const contact = graphContact.safeParse(one).data;
        if (contact) contacts.push(this.reader.remoteOf(contact));
      }
      if (next !== null) left.unshift({ folder: first.folder, page: next });
    }
    const more = left.length > 0;
    const present = more ? null : await this.#allIds(account, Object.keys(at.links));
    const cursor = JSON.stringify({ ...at, listing: more ? left : null } satisfies Cursor);
    return { cursor, more, contacts, removed: [], present };
  }

  /** @returns `null` if everything has to be listed again */
  async #changed(account: ProviderAccount, at: Cursor): Promise<Cursor | null> {
    const known = Object.keys(at.links);
    const folders = await ifAllowed(this.#folders(account, known));
    // Nothing is reported about the contacts of a deleted folder.
    if (known.some((folder) => !folders.includes(folder))) return null;
    const links: Record<string, string> = {};
    const waiting = new Set(at.missing);
    const left = new Set<string>();
    for (const folder of folders) {
      const last = at.links[folder];
      const from = last === undefined ? deltaOf(folder) : { path: last, root: true };
      try {
        const { ids, removed, link } = await this.#delta(account, from);
        for (const id of ids) waiting.add(id);
        for (const id of removed) left.add(id);
        links[folder] = link;
      } catch (error) {
        if (error instanceof GraphError && error.isLostLink) return null;
        throw error;
      }
    }
    return { links, listing: null, waiting: [...waiting], left: [...left], missing: [] };
  }

  async #waiting(account: ProviderAccount, at: Cursor, limit: number): Promise<ContactChanges> {
    const now = at.waiting.slice(0, limit);
    const left = at.waiting.slice(now.length);
    const found = await Promise.all(now.map((id) => this.reader.find(account, id)));
    const absent = now.filter((_, index) => found[index] === null);
    // The folder of a contact says when it was deleted.
    const removed = absent.filter((id) => at.left.includes(id));
    const unfound = absent.filter((id) => !at.left.includes(id));
    const missing = [...new Set([...at.missing, ...unfound])];
    const reason = 'Microsoft reports a change of the contact, and does not find it';
    return {
      cursor: JSON.stringify({ ...at, waiting: left, missing } satisfies Cursor),
      more: left.length > 0,
      contacts: found.filter((one) => one !== null).map((one) => this.reader.remoteOf(one)),
      removed,
      present: null,
      read: now.filter((_, index) => found[index] !== null),
      unread: unfound.map((providerId) => ({ providerId, reason })),
    };
  }

  /** All ids of a delta query, and where the next one begins. */
  async #delta(
    account: ProviderAccount,
    from: Pick<GraphRequest, 'path' | 'query' | 'root'>,
  ): Promise<{ ids: string[]; removed: string[]; link: string }> {
    const ids: string[] = [];
    const removed: string[] = [];
    let request = from;
    const prefer = [`odata.maxpagesize=${IDS_PER_PAGE}`];
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const { value, next, delta } = await this.api.page(account, { ...COST, ...request, prefer });
      for (const one of value) {
        const { data } = deltaEntry.safeParse(one);
        if (data) ids.push(data.id);
        if (data?.['@removed']) removed.push(data.id);
      }
      if (delta !== null) return { ids: [...new Set(ids)], removed, link: delta };
      if (next === null) break;
      request = { path: next, root: true };
    }
    throw new ProviderError('temporary', 'Microsoft: a list of changed contacts does not end');
  }

  /**
   * The folders of the mailbox, also those inside of others. If there are too many, those that are
   * followed already stay.
   * @param known folders that are followed
   */
  async #folders(account: ProviderAccount, known: readonly string[]): Promise<string[]> {
    const { found, isWhole } = await this.#listedFolders(account, known);
    const unlisted = known.filter((folder) => !found.has(folder));
    // Not listed, because it is too deep or in a folder that is not read.
    for (const folder of unlisted)
      if (isWhole) await this.#assertGone(account, folder);
      else if (await this.#exists(account, folder)) found.add(folder);
    return [...found];
  }

  /** @returns `isWhole`: whether no folder was left out */
  async #listedFolders(account: ProviderAccount, known: readonly string[]) {
    const found = new Set([DEFAULT_FOLDER]);
    const kept = new Set([DEFAULT_FOLDER, ...known]);
    let isWhole = true;
    const add = (ids: readonly string[]): string[] =>
      ids.filter((id) => {
        if (found.has(id)) return false;
        if (!kept.has(id) && kept.size >= MOST_FOLDERS) {
          isWhole = false;
          return false;
        }
        found.add(id);
        kept.add(id);
        return true;
      });
    let level = add(await this.#foldersAt(account, '/contactFolders'));
    for (let depth = 1; depth < DEEPEST && level.length > 0; depth++) {
      const below = new Map<string, string[]>();
      await forEachAtOnce(AT_ONCE, level, async (id) => {
        const path = `/contactFolders/${encodeURIComponent(id)}/childFolders`;
        below.set(id, await this.#below(account, id, path));
      });
      level = add(level.flatMap((id) => below.get(id) ?? []));
    }
    return { found, isWhole: isWhole && level.length === 0 };
  }

  /** The folders in a folder; none if it was deleted since its parent was listed. */
  async #below(account: ProviderAccount, folder: string, path: string): Promise<string[]> {
    const found = await nullIfGone(this.#foldersAt(account, path));
    if (found === null) await this.#assertGone(account, folder);
    return found ?? [];
  }

  /**
   * Makes sure that a folder is gone that was not listed or not found: one answer may be wrong.
   * @throws {ProviderError} `temporary` if it exists
   */
  async #assertGone(account: ProviderAccount, folder: string): Promise<void> {
    if (await this.#exists(account, folder))
      throw new ProviderError(
        'temporary',
        'Microsoft: the list of contact folders is not complete',
      );
  }

  async #exists(account: ProviderAccount, folder: string): Promise<boolean> {
    const path = `/contactFolders/${encodeURIComponent(folder)}`;
    const request = { ...COST, path, query: { $select: 'id' } };
    return (await nullIfGone(this.api.read(account, request, idShape))) !== null;
  }

  async #foldersAt(account: ProviderAccount, path: string): Promise<string[]> {
    const query = { $select: 'id', $top: 100 };
    const folders = await this.api.all(account, { ...COST, path, query }, idShape);
    return folders.map(({ id }) => id);
  }

  /**
   * Ids of all contacts. Contacts that are missing here are removed from the mirror, and one list
   * that lacks them would be no proof: each folder is asked in two ways.
   */
  async #allIds(account: ProviderAccount, folders: readonly string[]): Promise<string[]> {
    const all = new Set<string>();
    const query = { $select: 'id', $top: IDS_PER_PAGE };
    for (const folder of folders) {
      const request = { ...COST, path: contactsOf(folder), query };
      for (const { id } of await this.api.all(account, request, idShape)) all.add(id);
      const { ids, removed } = await this.#delta(account, deltaOf(folder));
      for (const id of ids) if (!removed.includes(id)) all.add(id);
    }
    return [...all];
  }
}

const contactsOf = (folder: string): string =>
  folder === DEFAULT_FOLDER
    ? '/contacts'
    : `/contactFolders/${encodeURIComponent(folder)}/contacts`;

/** All properties are selected: changes of others may not be reported. */
const deltaOf = (folder: string) => ({
  path: `${contactsOf(folder)}/delta`,
  query: { $select: CONTACT_PROPERTIES },
});
