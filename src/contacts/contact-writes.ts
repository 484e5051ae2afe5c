import { Injectable, type OnModuleInit } from '@nestjs/common';
import { newId } from '../platform/base/ids/ids.ts';
import { hasOtherWrites } from '../accounts/provider-writes/open-writes.ts';
import type { Sql } from '../platform/database/sql.ts';
import { recordChanges } from '../platform/changes/change-log.ts';
import {
  type FailedWrite,
  type ProviderWriteHandler,
  ProviderWrites,
  type WriteOutcome,
} from '../accounts/provider-writes/provider-writes.ts';
import type { ContactsPort, ProviderAccount } from '../providers/port/connector.ts';
import { type ContactFields, contactFields } from '../providers/port/contact-content.ts';
import { contactChange } from './contact-changes.ts';
import { updateContacts, writeKeys } from './contact-store.ts';
import { storeSeenContacts } from './contact-mirror.ts';
import { type ContactAtProvider, ContactsRepository } from './contacts.repository.ts';

const DELETED: WriteOutcome = {
  kind: 'superseded',
  reason: 'The contact was deleted before this change had reached the provider',
};

/** Carries changes of contacts to their provider, and takes back what it does not accept. */
@Injectable()
export class ContactWrites implements OnModuleInit {
  constructor(
    private readonly repository: ContactsRepository,
    private readonly writes: ProviderWrites,
  ) {}

  onModuleInit(): void {
    this.writes.register('create_contact', 'contacts', this.#write, { failed: putBack });
    this.writes.register('update_contact', 'contacts', this.#write, { failed: putBack });
    this.writes.register('delete_contact', 'contacts', this.#delete, { failed: showAgain });
  }

  /**
   * Creating and updating are one: a contact whose creation failed is created by the change that repairs it. Of an
   * account without an address book it stays here, until one day there is one and the contact is changed again.
   */
  readonly #write: ProviderWriteHandler<ContactsPort | null> = async (port, account, write) => {
    const contact = await this.repository.findAtProvider(account.accountId, write.objectId);
    if (!contact) return DELETED;
    if (!port?.hasAddressBook(account)) return { kind: 'written' };
    const { fields, providerId, deleting } = contact;
    if (deleting && (providerId !== null || !write.mayHaveRun)) return DELETED;
    if (providerId !== null) {
      await port.updateContact(account, providerId, fields, contact.providerContent);
      return { kind: 'written', store: (sql, at) => seen(sql, contact, at) };
    }
    const created = await port.createContact(account, contact.id, fields);
    return {
      kind: 'written',
      store: async (sql, at) => {
        await storeCreated(sql, account, contact.id, created.providerId, at);
        await seen(sql, contact, at);
      },
    };
  };

  readonly #delete: ProviderWriteHandler<ContactsPort | null> = async (port, account, write) => {
    const contact = await this.repository.findAtProvider(account.accountId, write.objectId);
    // Without an id it has never been at the provider.
    if (contact?.providerId && port?.hasAddressBook(account))
      await port.deleteContact(account, contact.providerId);
    return { kind: 'written', store: (sql) => forget(sql, account.accountId, write.objectId) };
  };
}

async function forget(sql: Sql, accountId: string, id: string): Promise<void> {
  await sql.query(`delete from contact where id = $1 and account_id = $2 and deleting`, [
    id,
    accountId,
  ]);
}

/** Stores what the provider has now: what further changes of ours differ from. */
function seen(sql: Sql, { id, accountId, fields }: ContactAtProvider, at: Date): Promise<void> {
  return storeSeenContacts(sql, accountId, [{ id, content: fields }], at);
}

const DELETE_TWINS = `
  delete from contact
  where account_id = $2 and source = 'address_book' and provider_id = $3 and id <> $1
  returning id`;

const STORE = `update contact set provider_id = $3 where id = $1 and account_id = $2 and provider_id is null`;

async function storeCreated(
  sql: Sql,
  { accountId, applicationId }: ProviderAccount,
  contactId: string,
  providerId: string,
  at: Date,
): Promise<void> {
  // The mirror may have met the contact at the provider before we knew its id: then there are two rows of it.
  const twins = await sql.query<{ id: string }>(DELETE_TWINS, [contactId, accountId, providerId]);
  await sql.query(STORE, [contactId, accountId, providerId]);
  const owner = { applicationId, accountId, at };
  const changes = twins.map(({ id }) => contactChange(owner, id, 'deleted', `contact:${id}:twin`));
  await recordChanges(sql, changes);
}

const HELD = `
  select id, provider_id as "providerId", content, provider_content as "providerContent", picture from contact
  where id = $1 and account_id = $2 for update`;

interface Held {
  id: string;
  providerId: string | null;
  content: ContactFields;
  providerContent: ContactFields | null;
  picture: string | null;
}

/**
 * What the provider does not take is not shown any more: a contact that it does not have goes, another shows what it was
 * when it was last seen there. A later change that is on its way carries all of the contact, and decides.
 */
async function putBack(sql: Sql, write: FailedWrite, at: Date): Promise<void> {
  const { objectId, accountId } = write;
  if (await hasOtherWrites(sql, write)) return;
  const [held] = await sql.query<Held>(HELD, [objectId, accountId]);
  if (!held) return;
  if (held.providerId === null) {
    await sql.query(`delete from contact where id = $1 and account_id = $2`, [objectId, accountId]);
    await tell(sql, write, 'deleted', at);
  } else if (held.providerContent) {
    const fields = contactFields(held.providerContent);
    await updateContacts(sql, accountId, [{ id: held.id, fields, picture: held.picture }], at);
    await tell(sql, write, 'updated', at);
  }
}

const SHOW = `
  update contact set deleting = false, updated_at = $3 where id = $1 and account_id = $2 and deleting
  returning content`;

/** The provider does not delete it: it is there again. */
async function showAgain(sql: Sql, write: FailedWrite, at: Date): Promise<void> {
  const { objectId: id, accountId } = write;
  const [shown] = await sql.query<{ content: ContactFields }>(SHOW, [id, accountId, at]);
  if (!shown) return;
  await writeKeys(sql, accountId, [{ id, fields: contactFields(shown.content) }], at);
  await tell(sql, write, 'created', at);
}

const OWNER = `select application_id as "applicationId" from "grant" where id = $1`;

async function tell(
  sql: Sql,
  { accountId, objectId }: FailedWrite,
  verb: 'created' | 'updated' | 'deleted',
  at: Date,
): Promise<void> {
  const [owner] = await sql.query<{ applicationId: string }>(OWNER, [accountId]);
  if (!owner) return;
  const dedupe = `contact:${objectId}:${verb}:${newId()}`;
  await recordChanges(sql, [contactChange({ ...owner, accountId, at }, objectId, verb, dedupe)]);
}
