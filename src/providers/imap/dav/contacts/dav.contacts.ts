import { Logger } from '@nestjs/common';
import { DAVNamespace, getDAVAttribute } from 'tsdav';
import { z } from 'zod';
import type { EgressClient } from '../../../../platform/egress/egress-client.ts';
import { type Task, task } from '../../../../platform/threads/task.ts';
import { WorkLimitError } from '../../../../platform/threads/work-errors.ts';
import type { WorkThreads } from '../../../../platform/threads/work-threads.ts';
import type { Clock } from '../../../../platform/base/time/clock.ts';
import type {
  ContactContent,
  ContactsPort,
  ProviderAccount,
  RemoteContact,
  UnreadObject,
} from '../../../port/connector.ts';
import { ProviderError } from '../../../../platform/base/errors/provider-error.ts';
import { ignoreNotFound } from '../dav-error.ts';
import { DavAccounts } from '../dav-accounts.ts';
import { type CollectionChanges, collectionChanges } from '../dav-changes.ts';
import { CARD_OBJECTS } from '../calendars/dav-objects.ts';
import { childrenOf, type DavObject, type DavSession } from '../dav-session.ts';
import { throughCard, type UnreadableCard } from './read-one-card.ts';
import { cardText, newCard, stampCard, writeCard } from './vcard.ts';

/** Name of the address book created for an account that has none. */
const OWN_BOOK = 'carillon-contacts';
const MOST_ROUNDS = 5;
const MB = 2 ** 20;
/** An ordinary card takes less than a millisecond. Cards include pictures. */
const LIMITS = { lane: 'short', timeMs: 2_000, inputBytes: 16 * MB, outputBytes: 16 * MB } as const;
const READ = task<typeof import('./read-cards.ts')>()(
  import.meta.url,
  './read-cards',
  'readContactObject',
  LIMITS,
);
const one = task<typeof import('./read-one-card.ts')>();
const READ_PICTURE = one(import.meta.url, './read-one-card', 'readCardPicture', LIMITS);
const CHANGE = one(import.meta.url, './read-one-card', 'changeCard', LIMITS);

/** The cursor of each address book, by path. */
const cursorSchema = z.record(z.string(), z.string());
type Cursors = z.infer<typeof cursorSchema>;

function parseCursor(text: string | null): Cursors | null {
  if (text === null) return null;
  try {
    return cursorSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/**
 * The address books of an account on a CardDAV server (RFC 6352), treated as one. A `providerId` is
 * a path on the server. For an account without a CardDAV URL, every method that uses the server
 * throws `unsupported`.
 */
export class DavContacts implements ContactsPort {
  readonly #accounts: DavAccounts;
  readonly #log = new Logger(DavContacts.name);

  constructor(
    egress: EgressClient,
    private readonly clock: Clock,
    private readonly threads: WorkThreads,
  ) {
    this.#accounts = new DavAccounts('carddav', { egress, clock, threads });
  }

  hasAddressBook(account: ProviderAccount) {
    return this.#accounts.has(account);
  }

  /** The contact as a new card would store it. */
  asStored(_account: ProviderAccount, contact: ContactContent) {
    return throughCard(contact);
  }

  async listContactChanges(account: ProviderAccount, cursor: string | null, limit: number) {
    return this.#accounts.run(account, async (session) => {
      const books = await booksOf(session);
      const before = parseCursor(cursor);
      const vanished = before && Object.keys(before).some((path) => !books.includes(path));
      const incremental = vanished ? null : await listChanges(session, books, before, limit);
      // If a book was deleted or must be listed again, only a full listing of all books shows which
      // contacts were removed.
      const changes = incremental ?? (await listChanges(session, books, null, limit));
      if (!changes) throw new Error('a full listing cannot require another full listing');
      const { more, removed, present } = changes;
      const { contacts, unread } = await this.#read(account, changes.changed);
      const missing = changes.unread.map(({ path, reason }) => this.#note(account, path, reason));
      return {
        cursor: JSON.stringify(changes.cursors),
        more,
        contacts,
        removed,
        present,
        read: changes.changed.map(({ path }) => path),
        unread: [...unread, ...missing],
      };
    });
  }

  async contactPicture(account: ProviderAccount, providerId: string) {
    return this.#accounts.run(account, async (session) => {
      if (!session.owns(providerId)) throw gone();
      const { text } = await session.get(providerId);
      const { picture } = await this.#inThread(READ_PICTURE, account, text);
      // Threads return plain bytes, not a `Buffer`.
      return picture && { ...picture, bytes: Buffer.from(picture.bytes) };
    });
  }

  async createContact(account: ProviderAccount, key: string, contact: ContactContent) {
    return this.#accounts.run(account, async (session) => {
      const path = `${await bookForNew(session)}${encodeURIComponent(key)}.vcf`;
      const card = newCard(key);
      writeCard(card, contact);
      stampCard(card, this.clock.now());
      if (!(await session.create(path, cardText(card))))
        await this.#update(account, session, path, contact, null);
      return { providerId: path };
    });
  }

  async updateContact(
    account: ProviderAccount,
    providerId: string,
    contact: ContactContent,
    base: ContactContent | null = null,
  ) {
    await this.#accounts.run(account, async (session) => {
      if (!session.owns(providerId)) throw gone();
      await this.#update(account, session, providerId, contact, base);
    });
  }

  async deleteContact(account: ProviderAccount, providerId: string) {
    await this.#accounts.run(account, async (session) => {
      if (!session.owns(providerId)) return;
      await session.remove(providerId, null).catch(ignoreNotFound);
    });
  }

  /**
   * Reads, changes and writes the card, and repeats this if another client has changed it
   * meanwhile. Three-way merge: fields that the change does not concern keep their current value.
   */
  async #update(
    account: ProviderAccount,
    session: DavSession,
    path: string,
    contact: ContactContent,
    base: ContactContent | null,
  ): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const { etag, text } = await session.get(path);
      const at = this.clock.now().getTime();
      const changed = await this.#inThread(CHANGE, account, { text, contact, base, at });
      if ('conflicts' in changed) throw changedElsewhere(changed.conflicts);
      if (changed.text === null || (await session.replace(path, changed.text, etag))) return;
    }
    throw new ProviderError(
      'temporary',
      'Other clients keep changing the contact; try again later',
    );
  }

  /**
   * Processes a single card in a worker thread.
   * @throws {ProviderError} `rejected` if the card cannot be read
   */
  async #inThread<Input, Output>(
    work: Task<Input, Output>,
    account: ProviderAccount,
    input: Input,
  ): Promise<Exclude<Output, UnreadableCard>> {
    const unreadable = (cause: unknown) =>
      new ProviderError('rejected', 'The contact at the provider cannot be read', {
        cause,
      });
    let output: Output;
    try {
      output = await this.threads.run(work, account.accountId, input, { patient: true });
    } catch (cause) {
      if (!(cause instanceof WorkLimitError)) throw cause;
      if (cause.limit !== 'closed') throw unreadable(cause);
      throw new ProviderError('temporary', 'The server is stopping', { cause });
    }
    if (isUnreadable(output)) throw unreadable(output.unreadable);
    return output as Exclude<Output, UnreadableCard>;
  }

  /**
   * Reads cards in worker threads, because they are untrusted input. Cards of groups are not
   * contacts.
   */
  async #read(
    account: ProviderAccount,
    objects: readonly DavObject[],
  ): Promise<{ contacts: RemoteContact[]; unread: UnreadObject[] }> {
    const inputs = objects.map(({ path, text }) => ({ path, text }));
    const results = await this.threads.runAll(READ, account.accountId, inputs, { patient: true });
    const [contacts, unread]: [RemoteContact[], UnreadObject[]] = [[], []];
    for (const [index, result] of results.entries()) {
      const path = objects[index]?.path ?? '';
      if ('error' in result) {
        if (result.error instanceof WorkLimitError && result.error.limit === 'closed')
          throw new ProviderError('temporary', 'The server is stopping', { cause: result.error });
        unread.push(this.#note(account, path, result.error.message));
      } else if ('unreadable' in result.output)
        unread.push(this.#note(account, path, result.output.unreadable));
      else {
        const { contact, problems } = result.output;
        if (contact !== null) contacts.push(JSON.parse(contact) as RemoteContact);
        if (problems.length > 0) unread.push(this.#note(account, path, problems.join('. ')));
      }
    }
    return { contacts, unread };
  }

  #note(account: ProviderAccount, path: string, reason: string): UnreadObject {
    this.#log.warn(`account ${account.accountId}: ${path} cannot be read completely: ${reason}`);
    return { providerId: path, reason };
  }
}

const gone = () => new ProviderError('not-found', 'The contact does not exist');

const isUnreadable = (output: unknown): output is UnreadableCard =>
  typeof output === 'object' && output !== null && 'unreadable' in output;

const changedElsewhere = (fields: readonly string[]) =>
  new ProviderError(
    'conflict',
    `Changed at the provider in the meantime: ${fields.join(', ')}. Read the contact and repeat the changes you still want`,
  );

type BookChanges = Omit<CollectionChanges, 'cursor'> & { cursors: Cursors };

/** @returns `null` if a book must be listed again */
async function listChanges(
  session: DavSession,
  books: readonly string[],
  before: Cursors | null,
  limit: number,
): Promise<BookChanges | null> {
  const share = Math.max(1, Math.floor(limit / Math.max(1, books.length)));
  const all: BookChanges = {
    cursors: {},
    more: false,
    changed: [],
    removed: [],
    unread: [],
    present: before ? null : [],
  };
  for (const book of books) {
    const cursor = before?.[book] ?? null;
    const changes = await collectionChanges(session, book, CARD_OBJECTS, cursor, share);
    if (cursor !== null && changes.present) return null;
    all.cursors[book] = changes.cursor;
    all.more ||= changes.more;
    all.changed.push(...changes.changed);
    all.removed.push(...changes.removed);
    all.unread.push(...changes.unread);
    all.present?.push(...(changes.present ?? []));
  }
  return all;
}

/** Paths of the address books, sorted. */
async function booksOf(session: DavSession): Promise<string[]> {
  const responses = await session.propfind(session.home.pathname, { 'd:resourcetype': {} }, '1');
  return responses
    .filter(({ ok, props }) => ok && 'addressbook' in childrenOf(props['resourcetype']))
    .map(({ href }) => session.collectionOf(href))
    .toSorted();
}

/** The first address book. An account without any gets a new one. */
async function bookForNew(session: DavSession): Promise<string> {
  const [first] = await booksOf(session);
  if (first !== undefined) return first;
  const path = `${session.pathOf(session.home.href)}${OWN_BOOK}/`;
  const prop = {
    'd:resourcetype': { 'd:collection': {}, 'card:addressbook': {} },
    'd:displayname': 'Contacts',
  };
  const _attributes = getDAVAttribute([DAVNamespace.DAV, DAVNamespace.CARDDAV]);
  await session.change('MKCOL', path, { mkcol: { _attributes, 'd:set': { 'd:prop': prop } } });
  return path;
}
