import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../platform/auth/scopes.ts';
import {
  DomainError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
} from '../platform/base/errors/domain-error.ts';
import { isEmailAddress } from '../platform/base/text/address.ts';
import { isId, newId } from '../platform/base/ids/ids.ts';
import { Clock } from '../platform/base/time/clock.ts';
import type { Listing, PageOfView } from '../platform/database/listing.ts';
import { ReadDatabase } from '../platform/database/replicas/read-database.ts';
import { Database, type Sql } from '../platform/database/sql.ts';
import { recordChanges } from '../platform/changes/change-log.ts';
import { ProviderAccounts } from '../accounts/grants/provider-accounts.ts';
import { openProviderWrite } from '../accounts/provider-writes/provider-jobs.ts';
import { ConnectorRegistry } from '../providers/port/connector-registry.ts';
import {
  type ContactFields,
  contactFields,
  CONTACT_FIELDS,
  sameField,
} from '../providers/port/contact-content.ts';
import type { ContactContent, ContactPicture } from '../providers/port/connector.ts';
import { ProviderError } from '../platform/base/errors/provider-error.ts';
import { providerFailure } from '../providers/port/provider-failure.ts';
import { dropKeys, insertContacts, updateContacts } from './contact-store.ts';
import { contactChange } from './contact-changes.ts';
import {
  type ContactAtProvider,
  type ContactFilter,
  type ContactGroupRecord,
  type ContactRecord,
  ContactsRepository,
} from './contacts.repository.ts';

/** A group by its id, or by its path. A path may name a group that does not exist yet. */
export type GroupChoice = { id: string } | { path: string };

/** Changes to a contact. Absent or undefined fields keep their values. */
export interface ContactInput {
  /** All fields except `groups`, named as in `ContactFields`. */
  content: ContactContent & { emails?: readonly { email: string }[] | undefined };
  /** The complete list of the contact's groups. */
  groups: readonly GroupChoice[] | undefined;
  /** Id of a group to add the contact to. */
  group: string | undefined;
}

/** A contact after a write, and the id of the job that carries the write to the provider. */
export interface WrittenContact {
  contact: ContactRecord;
  jobId: string;
}

/**
 * True if the scopes allow contacts with the source `inbox`. Those are senders and recipients of
 * mail, so scopes of mail protect them.
 */
export function knowsPeopleOfMail({ scopes }: Pick<AccountPrincipal, 'scopes'>): boolean {
  return allows(scopes, SCOPES_FOR.readPeopleOfMail);
}

/**
 * Contacts of an account. Reads come from the mirror. A change is stored in the mirror at once and
 * carried to the provider by a provider write.
 */
@Injectable()
export class ContactsService {
  constructor(
    private readonly database: Database,
    private readonly reads: ReadDatabase,
    private readonly repository: ContactsRepository,
    private readonly accounts: ProviderAccounts,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  /**
   * Oldest first. Contacts collected from mail are listed only if the account's scopes allow them.
   * @throws {ForbiddenError} if the query asks for `source=inbox` without a scope that allows it
   */
  async list(
    account: AccountPrincipal,
    filter: ContactFilter,
    page: PageOfView,
  ): Promise<Listing<ContactRecord>> {
    if (knowsPeopleOfMail(account)) return this.repository.list(account.accountId, filter, page);
    if (filter.source === 'inbox')
      throw new ForbiddenError(
        'scope.missing',
        `source: inbox needs one of the scopes ${SCOPES_FOR.readPeopleOfMail.join(', ')}, which the account has not granted.`,
      );
    return this.repository.list(account.accountId, { ...filter, source: 'address_book' }, page);
  }

  /** Groups with at least one contact, sorted by path. */
  groups(account: AccountPrincipal): Promise<ContactGroupRecord[]> {
    return this.repository.groups(account.accountId);
  }

  /**
   * Returns the contacts with these ids that the account has and its scopes allow, in no particular
   * order.
   * @param sql where to read; default: the primary
   * @throws {PageTooLargeError}
   */
  async findMany(
    account: Pick<AccountPrincipal, 'accountId' | 'scopes'>,
    ids: readonly string[],
    sql?: Sql,
  ): Promise<ContactRecord[]> {
    const found = await this.repository.findMany(account.accountId, ids, sql);
    return knowsPeopleOfMail(account)
      ? found
      : found.filter(({ source }) => source === 'address_book');
  }

  /** @throws {NotFoundError} also for a contact collected from mail that the scopes do not allow */
  async get(account: AccountPrincipal, id: string): Promise<ContactRecord> {
    const [contact] = isId(id) ? await this.findMany(account, [id], this.reads) : [];
    if (!contact) throw new NotFoundError('contact', id);
    return contact;
  }

  /**
   * Reads the picture from the provider.
   * @throws {NotFoundError} also if the contact has no picture
   * @throws {DomainError} if the provider cannot deliver the picture now
   */
  async picture(principal: AccountPrincipal, id: string): Promise<ContactPicture> {
    const contact = isId(id)
      ? await this.repository.findAtProvider(principal.accountId, id)
      : undefined;
    if (!contact || contact.deleting) throw new NotFoundError('contact', id);
    const account = await this.accounts.find(principal.accountId);
    const port = account ? this.connectors.contacts(account.provider) : null;
    const { picture: tag, providerId } = contact;
    if (tag === null || providerId === null || !account || !port?.hasAddressBook(account))
      throw new NotFoundError('picture of contact', id);
    try {
      const picture = await port.contactPicture(account, providerId);
      if (!picture) throw new NotFoundError('picture of contact', id);
      return picture;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      if (error.code === 'not-found') throw new NotFoundError('picture of contact', id);
      throw providerFailure(error, 'return the picture');
    }
  }

  /** Creates a contact in the address book. @throws {InvalidInputError} */
  async create(
    account: AccountPrincipal,
    { content, groups, group }: ContactInput,
  ): Promise<WrittenContact> {
    assertEmails(content.emails, []);
    const { accountId } = account;
    return this.#write(async (sql, at) => {
      const paths = await this.#groups(sql, account, groups, group, []);
      const contact: ContactRecord = {
        id: newId(),
        accountId,
        source: 'address_book',
        fields: contactFields({ ...content, groups: paths }),
        picture: null,
        warnings: [],
        groups: [],
      };
      await insertContacts(sql, accountId, [{ ...contact, providerId: null }], at);
      return this.#open(sql, account, 'create', contact, null, at);
    });
  }

  /**
   * Changes the given fields and keeps the others.
   * @throws {NotFoundError}
   * @throws {InvalidInputError}
   * @throws {DomainError} for contacts collected from mail
   */
  async update(
    account: AccountPrincipal,
    id: string,
    { content, groups, group }: ContactInput,
  ): Promise<WrittenContact> {
    return this.#write(async (sql, at) => {
      const before = await this.#lock(sql, account, id);
      assertEmails(content.emails, before.fields.emails);
      const paths = await this.#groups(sql, account, groups, group, before.fields.groups);
      const given = Object.fromEntries(
        Object.entries(content).filter(([, value]) => value !== undefined),
      );
      const fields = contactFields({ ...before.fields, ...given, groups: paths });
      const contact = { ...before, fields };
      const changed = CONTACT_FIELDS.some((name) => !sameField(fields[name], before.fields[name]));
      await updateContacts(sql, account.accountId, [contact], at);
      return this.#open(sql, account, 'update', contact, before.providerId, at, changed);
    });
  }

  /**
   * Deletes a contact of the address book.
   * @returns id of the job that carries the deletion to the provider
   * @throws {NotFoundError}
   * @throws {DomainError} for contacts collected from mail
   */
  async delete(account: AccountPrincipal, id: string): Promise<string> {
    const { jobId } = await this.#write(async (sql, at) => {
      const contact = await this.#lock(sql, account, id);
      await sql.query(`update contact set deleting = true, updated_at = $2 where id = $1`, [
        contact.id,
        at,
      ]);
      await dropKeys(sql, account.accountId, contact.id);
      return this.#open(sql, account, 'delete', contact, contact.providerId, at);
    });
    return jobId;
  }

  async #lock(sql: Sql, { accountId }: AccountPrincipal, id: string): Promise<ContactAtProvider> {
    const contact = isId(id) ? await this.repository.lock(sql, accountId, id) : undefined;
    if (!contact) throw new NotFoundError('contact', id);
    if (contact.source === 'inbox')
      throw new DomainError(
        'contact.harvested',
        'invalid',
        'Contacts with the source inbox are read-only: they come from the mailbox. Create a contact in the address book instead',
      );
    return contact;
  }

  /**
   * Returns the paths of the groups the contact will be in.
   * @param given the complete list; `undefined` keeps `present`
   * @param one id of a group to add
   */
  async #groups(
    sql: Sql,
    { accountId }: AccountPrincipal,
    given: readonly GroupChoice[] | undefined,
    one: string | undefined,
    present: readonly string[],
  ): Promise<string[]> {
    const ids = (given ?? []).flatMap((group) => ('id' in group ? [group.id] : []));
    const wanted = [...new Set([...ids, ...(one === undefined ? [] : [one])])];
    const found = await this.repository.groupsById(sql, accountId, wanted);
    const missing = wanted.find((id) => !found.some((group) => group.id === id));
    if (missing !== undefined) {
      const field = ids.includes(missing) ? 'groups' : 'group';
      throw new InvalidInputError(
        `${field}: there is no group ${missing.slice(0, 100).toWellFormed()}`,
      );
    }
    const named = given?.flatMap((group) => ('path' in group ? [group.path] : [])) ?? present;
    return [...named, ...found.map(({ path }) => path)];
  }

  async #write(work: (sql: Sql, at: Date) => Promise<WrittenContact>): Promise<WrittenContact> {
    const at = this.clock.now();
    return this.database.transaction((sql) => work(sql, at));
  }

  /** @param notify false if subscribers are not to be notified */
  async #open(
    sql: Sql,
    { accountId, applicationId }: AccountPrincipal,
    verb: 'create' | 'update' | 'delete',
    contact: ContactRecord,
    providerId: string | null,
    at: Date,
    notify = true,
  ): Promise<WrittenContact> {
    const jobId = newId();
    await openProviderWrite(sql, {
      id: jobId,
      accountId,
      action: `${verb}_contact`,
      object: 'contact',
      objectId: contact.id,
      payload: { providerId },
      at,
    });
    const owner = { applicationId, accountId, at };
    await recordChanges(sql, [
      contactChange(owner, contact.id, `${verb}d`, notify ? `${verb}_contact:${jobId}` : null),
    ]);
    const groups = await this.repository.groupsByPath(sql, accountId, contact.fields.groups);
    return { contact: { ...contact, groups }, jobId };
  }
}

/**
 * Checks only addresses that are new to the contact: address books also contain entries that are
 * not valid addresses.
 */
function assertEmails(
  given: ContactInput['content']['emails'],
  present: ContactFields['emails'],
): void {
  const known = new Set(present.map(({ email }) => email));
  for (const [index, { email }] of (given ?? []).entries()) {
    if (known.has(email) || isEmailAddress(email)) continue;
    throw new InvalidInputError(`emails.${index}.email: must be an email address`);
  }
}
