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
import { contactFields } from '../providers/port/contact-content.ts';
import { contactChange } from './contact-changes.ts';
import { updateContacts, writeKeys } from './contact-store.ts';
import { storeSeenContacts } from './contact-mirror.ts';
import { type ContactAtProvider, ContactsRepository } from './contacts.repository.ts';
import type { Contact } from './contact.entity.ts';
import type { Grant } from '../accounts/grants/grant.entity.ts';
import type { RowOf } from '../platform/database/rows/row-of.ts';

const DELETED: WriteOutcome = {
  kind: 'superseded',
  reason: 'The contact was deleted before this change had reached the provider',
};

/** Carries changes of contacts to their provider, and reverts changes that the provider refuses. */
@Injectable()
export class ContactWrites implements OnModuleInit {
  constructor(
    private readonly repository: ContactsRepository,
    private readonly writes: ProviderWrites,
  ) {}

  onModuleInit(): void {
    this.writes.register('create_contact', 'contacts', this.#write, { failed: revert });
    this.writes.register('update_contact', 'contacts', this.#write, { failed: revert });
    this.writes.register('delete_contact', 'contacts', this.#delete, { failed: showAgain });
  }

  /**
   * Creates the contact if it has no provider id, and updates it otherwise. So a later update also
   * repairs a failed creation. If the account has no address book, the contact stays here only. It
   * is written to the provider when the account has an address book and the contact changes again.
   */
  readonly #write: ProviderWriteHandler<ContactsPort | null> = async (port, account, write) => {
    const contact = await this.repository.findAtProvider(account.accountId, write.objectId);
    if (!contact) return DELETED;
    if (!port?.hasAddressBook(account)) return { kind: 'written' };
    const { fields, providerId, deleting } = contact;
    if (deleting && (providerId !== null || !write.mayHaveRun)) return DELETED;
    if (providerId !== null) {
      await port.updateContact(account, providerId, fields, contact.providerContent);
      return { kind: 'written', store: (sql, at) => storeSeen(sql, contact, at) };
    }
    const created = await port.createContact(account, contact.id, fields);
    return {
      kind: 'written',
      store: async (sql, at) => {
        await storeCreated(sql, account, contact.id, created.providerId, at);
        await storeSeen(sql, contact, at);
      },
    };
  };

  readonly #delete: ProviderWriteHandler<ContactsPort | null> = async (port, account, write) => {
    const contact = await this.repository.findAtProvider(account.accountId, write.objectId);
    // A contact without a provider id was never at the provider, so there is nothing to delete
    // there.
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

/** Stores the version the provider has now; later changes are compared with it. */
function storeSeen(
  sql: Sql,
  { id, accountId, fields }: ContactAtProvider,
  at: Date,
): Promise<void> {
  return storeSeenContacts(sql, accountId, [{ id, content: fields }], at);
}

const DELETE_DUPLICATES = `
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
  // A sync pass may have seen the contact at the provider before we knew its id. Then the contact
  // has two rows.
  const duplicates = await sql.query<{ id: string }>(DELETE_DUPLICATES, [
    contactId,
    accountId,
    providerId,
  ]);
  await sql.query(STORE, [contactId, accountId, providerId]);
  const owner = { applicationId, accountId, at };
  const changes = duplicates.map(({ id }) =>
    contactChange(owner, id, 'deleted', `contact:${id}:twin`),
  );
  await recordChanges(sql, changes);
}

const LOCK = `
  select id, provider_id as "providerId", content, provider_content as "providerContent", picture from contact
  where id = $1 and account_id = $2 for update`;

type LockedContact = RowOf<
  Contact,
  'id' | 'providerId' | 'content' | 'providerContent' | 'picture'
>;

/**
 * Reverts a change that the provider refused. A contact the provider does not have is deleted; any
 * other contact gets the last version seen at the provider. Nothing changes if another write is
 * open, because that write carries the whole contact.
 */
async function revert(sql: Sql, write: FailedWrite, at: Date): Promise<void> {
  const { objectId, accountId } = write;
  if (await hasOtherWrites(sql, write)) return;
  const [contact] = await sql.query<LockedContact>(LOCK, [objectId, accountId]);
  if (!contact) return;
  if (contact.providerId === null) {
    await sql.query(`delete from contact where id = $1 and account_id = $2`, [objectId, accountId]);
    await recordChange(sql, write, 'deleted', at);
  } else if (contact.providerContent) {
    const fields = contactFields(contact.providerContent);
    await updateContacts(
      sql,
      accountId,
      [{ id: contact.id, fields, picture: contact.picture }],
      at,
    );
    await recordChange(sql, write, 'updated', at);
  }
}

const SHOW = `
  update contact set deleting = false, updated_at = $3 where id = $1 and account_id = $2 and deleting
  returning content`;

/** Shows a contact again because the provider refused to delete it. */
async function showAgain(sql: Sql, write: FailedWrite, at: Date): Promise<void> {
  const { objectId: id, accountId } = write;
  const [shown] = await sql.query<RowOf<Contact, 'content'>>(SHOW, [id, accountId, at]);
  if (!shown) return;
  await writeKeys(sql, accountId, [{ id, fields: contactFields(shown.content) }], at);
  await recordChange(sql, write, 'created', at);
}

const OWNER = `select application_id as "applicationId" from "grant" where id = $1`;

async function recordChange(
  sql: Sql,
  { accountId, objectId }: FailedWrite,
  verb: 'created' | 'updated' | 'deleted',
  at: Date,
): Promise<void> {
  const [owner] = await sql.query<RowOf<Grant, 'applicationId'>>(OWNER, [accountId]);
  if (!owner) return;
  const dedupe = `contact:${objectId}:${verb}:${newId()}`;
  await recordChanges(sql, [contactChange({ ...owner, accountId, at }, objectId, verb, dedupe)]);
}
