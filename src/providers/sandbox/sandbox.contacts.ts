import { isId } from '../../platform/base/ids/ids.ts';
import type { Database, Sql } from '../../platform/database/sql.ts';
import type { ContactContent, ContactsPort, ProviderAccount } from '../port/connector.ts';
import { contactFields, mergeContacts } from '../port/contact-content.ts';
import { pictureOf } from '../port/contact-picture.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { SAMPLE_CONTACTS } from './sandbox.contact-samples.ts';
import type { SandboxFaults } from './sandbox.faults.ts';
import { stableId } from './sandbox.ids.ts';
import { login } from './sandbox.settings.ts';
import type { SandboxContact, SandboxAddressBook } from './sandbox.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

// The counter's row lock lasts until the commit, so contacts become visible in the order of their
// numbers.
const COUNT = `
  insert into sandbox_address_book (application_id, address, modseq) values ($1, $2, 1)
  on conflict (application_id, address) do update set modseq = sandbox_address_book.modseq + 1
  returning modseq`;

const INSERT = `
  insert into sandbox_contact (id, application_id, address, key, data, picture, deleted, modseq)
  values ($3, $1, $2, $4, $5, null, false, $6)
  on conflict (id) do update set data = excluded.data, modseq = excluded.modseq, deleted = false`;

const INSERT_SAMPLE = `
  insert into sandbox_contact (id, application_id, address, key, data, picture, deleted, modseq)
  values ($3, $1, $2, $4, $5, $6, false, $7)
  on conflict (id) do nothing`;

const FIND = `
  select data, picture from sandbox_contact
  where application_id = $1 and address = $2 and id = $3 and not deleted`;

const CHANGES = `
  select id, key, data, picture is not null as pictured, deleted, modseq from sandbox_contact
  where application_id = $1 and address = $2 and modseq > $3 order by modseq limit $4`;

const PRESENT = `
  select id from sandbox_contact where application_id = $1 and address = $2 and not deleted`;

type Stored = RowOf<SandboxContact, 'data' | 'picture'>;

const gone = () => new ProviderError('not-found', '404 The contact does not exist');

const nameOf = (contact: ContactContent) =>
  ['given_name', 'surname', 'company_name'].map((field) => String(contact[field] ?? '')).join(' ');

/** The address book of every sandbox mailbox. */
export class SandboxContacts implements ContactsPort {
  constructor(
    private readonly database: Database,
    private readonly faults: SandboxFaults,
  ) {}

  hasAddressBook() {
    return true;
  }

  /**
   * The cursor is the address book's change counter. The first call creates the sample contacts, if
   * the settings ask for them.
   */
  async listContactChanges(account: ProviderAccount, cursor: string | null, limit: number) {
    const settings = login(account);
    const book = [account.applicationId, account.email];
    if (cursor === null && settings.sample_messages === true) await this.#addSamples(account);
    const since = Number(cursor ?? 0);
    const rows = await this.database.query<
      RowOf<SandboxContact, 'id' | 'key' | 'data' | 'deleted' | 'modseq'> & {
        pictured: boolean;
      }
    >(CHANGES, [...book, since, limit + 1]);
    const page = rows.slice(0, limit);
    const present =
      cursor === null ? await this.database.query<{ id: string }>(PRESENT, book) : null;
    return {
      cursor: String(page.at(-1)?.modseq ?? since),
      more: rows.length > page.length,
      contacts: page
        .filter(({ deleted }) => !deleted)
        .map(({ id, key, data, pictured }) => {
          return { providerId: id, uid: key, content: data, picture: pictured ? id : null };
        }),
      removed: page.filter(({ deleted }) => deleted).map(({ id }) => id),
      present: present && present.map(({ id }) => id),
    };
  }

  async contactPicture(account: ProviderAccount, providerId: string) {
    login(account);
    const { picture } = await this.#find(this.database, account, providerId);
    return picture && pictureOf(picture);
  }

  async createContact(account: ProviderAccount, key: string, contact: ContactContent) {
    login(account);
    await this.#strike(account, key, contact, 'write');
    const id = stableId(account, 'contact', key);
    await this.database.transaction(async (sql) => {
      const modseq = await this.#count(sql, account);
      const { applicationId, email } = account;
      await sql.query(INSERT, [applicationId, email, id, key, JSON.stringify(contact), modseq]);
    });
    return { providerId: id };
  }

  async updateContact(
    account: ProviderAccount,
    providerId: string,
    contact: ContactContent,
    base: ContactContent | null = null,
  ) {
    login(account);
    await this.#strike(account, providerId, contact, 'write');
    await this.database.transaction(async (sql) => {
      const modseq = await this.#count(sql, account);
      const { data } = await this.#find(sql, account, providerId);
      const after = base ? merged(base, contact, data) : { ...data, ...contact };
      await sql.query(`update sandbox_contact set data = $2, modseq = $3 where id = $1`, [
        providerId,
        JSON.stringify(after),
        modseq,
      ]);
    });
  }

  async deleteContact(account: ProviderAccount, providerId: string) {
    login(account);
    const found = await this.#find(this.database, account, providerId).catch((error: unknown) => {
      if (error instanceof ProviderError && error.code === 'not-found') return null;
      throw error;
    });
    if (!found) return;
    await this.#strike(account, providerId, found.data, 'delete');
    await this.database.transaction(async (sql) => {
      const modseq = await this.#count(sql, account);
      const text = `update sandbox_contact set deleted = true, modseq = $2 where id = $1 and not deleted`;
      await sql.query(text, [providerId, modseq]);
    });
  }

  /** Contacts that exist or were deleted stay unchanged. */
  async #addSamples(account: ProviderAccount): Promise<void> {
    const { applicationId, email } = account;
    await this.database.transaction(async (sql) => {
      for (const { key, content, picture } of SAMPLE_CONTACTS) {
        const modseq = await this.#count(sql, account);
        const id = stableId(account, 'contact', key);
        const data = JSON.stringify(content);
        await sql.query(INSERT_SAMPLE, [applicationId, email, id, key, data, picture, modseq]);
      }
    });
  }

  async #count(sql: Sql, { applicationId, email }: ProviderAccount): Promise<number> {
    const [row] = await sql.query<RowOf<SandboxAddressBook, 'modseq'>>(COUNT, [
      applicationId,
      email,
    ]);
    return row?.modseq ?? 0;
  }

  async #find(sql: Sql, { applicationId, email }: ProviderAccount, id: string): Promise<Stored> {
    if (!isId(id)) throw gone();
    const [found] = await sql.query<Stored>(FIND, [applicationId, email, id]);
    if (!found) throw gone();
    return found;
  }

  /** Fails as the name requests, the requested number of times per contact and name. */
  #strike(
    account: ProviderAccount,
    object: string,
    contact: ContactContent,
    operation: 'write' | 'delete',
  ) {
    const name = nameOf(contact);
    return this.faults.strike(account, [name, operation, 'contacts'], object, name);
  }
}

function merged(
  base: ContactContent,
  ours: ContactContent,
  theirs: ContactContent,
): ContactContent {
  const present = contactFields(theirs);
  const { write, conflicts } = mergeContacts(contactFields(base), contactFields(ours), present);
  if (conflicts.length > 0)
    throw new ProviderError('conflict', `409 Changed in the meantime: ${conflicts.join(', ')}`);
  return { ...present, ...write };
}
