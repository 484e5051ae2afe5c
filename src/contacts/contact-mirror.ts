import { idsOf, type Sql } from '../platform/database/sql.ts';
import { hasOpenWrite } from '../accounts/provider-writes/open-writes.ts';
import { type ContactFields, contactFields } from '../providers/port/contact-content.ts';
import type { Contact } from './contact.entity.ts';
import type { RowOf, NotNull } from '../platform/database/rows/row-of.ts';

/*
 * SQL with which a sync pass reads and updates mirrored contacts of an address book.
 * `contact-store.ts` has the inserts and updates of their content.
 */

export interface MirrorContact
  extends RowOf<Contact, 'id' | 'picture'>, NotNull<RowOf<Contact, 'providerId'>> {
  fields: ContactFields;
  /** True while one of our own provider writes for the contact is still open. */
  writing: boolean;
  /**
   * The later of two times: its last change here, and the last time its state at the provider was
   * read or written.
   */
  touchedAt: Date;
}

const LOCK = `
  select id from contact
  where account_id = $1 and source = 'address_book' and provider_id = any($2::text[])
  order by id for update`;

// Read after the rows are locked: a statement that waits for a row does not see the open writes
// that were committed with it.
const LOCKED = `
  select c.id, c.provider_id as "providerId", c.content, c.picture,
    ${hasOpenWrite('c.id')} as writing,
    greatest(c.updated_at, c.provider_seen_at) as "touchedAt"
  from contact c where c.account_id = $1 and c.id = any($2::uuid[]) order by c.id`;

const ABSENT = `
  select c.provider_id as id from contact c
  where c.account_id = $1 and c.source = 'address_book' and c.provider_id is not null
    and greatest(c.updated_at, c.provider_seen_at) <= $3 and not ${hasOpenWrite('c.id')}
    and not exists (select 1 from unnest($2::text[]) p(id) where p.id = c.provider_id)
  order by 1 limit $4`;

/**
 * Contacts that we are creating at the provider. A sync pass may list such a contact before we have
 * stored its provider id.
 */
const BEING_CREATED = `
  select id from contact where account_id = $1 and provider_id is null and id = any($2::uuid[])`;

const STORE_SEEN = `
  update contact c set provider_content = x.content, provider_seen_at = $3, warnings = coalesce(x.warnings, c.warnings)
  from jsonb_to_recordset($2::jsonb) x(id uuid, content jsonb, warnings text[])
  where c.id = x.id and c.account_id = $1`;

const REMOVE = `delete from contact where account_id = $1 and id = any($2::uuid[])`;

/** Reads contacts by their provider ids and locks the rows until the transaction ends. */
export async function lockContacts(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
): Promise<MirrorContact[]> {
  const locked = await sql.query<{ id: string }>(LOCK, [accountId, providerIds]);
  if (locked.length === 0) return [];
  const rows = await sql.query<Omit<MirrorContact, 'fields'> & RowOf<Contact, 'content'>>(LOCKED, [
    accountId,
    idsOf(locked),
  ]);
  return rows.map(({ content, ...row }) => ({ ...row, fields: contactFields(content) }));
}

/**
 * Provider ids of mirrored contacts that a full listing does not contain. Contacts with an open
 * provider write, and those that changed after the listing began, are left out.
 * @param present every provider id of the listing
 */
export async function absentContacts(
  sql: Sql,
  accountId: string,
  listing: { present: readonly string[]; beganAt: Date; limit: number },
): Promise<string[]> {
  const { present, beganAt, limit } = listing;
  return idsOf(await sql.query<{ id: string }>(ABSENT, [accountId, present, beganAt, limit]));
}

/** Returns the ids of those contacts that have no provider id yet. Unknown ids are left out. */
export async function contactsBeingCreated(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await sql.query<{ id: string }>(BEING_CREATED, [accountId, ids]);
  return new Set(idsOf(rows));
}

/** The provider's current version of a contact. */
export interface SeenContact {
  id: string;
  content: ContactFields;
  /** What could not be read of the contact's card. Absent: the stored warnings stay. */
  warnings?: readonly string[];
}

/** Stores the provider's current version of contacts. */
export async function storeSeenContacts(
  sql: Sql,
  accountId: string,
  contacts: readonly SeenContact[],
  at: Date,
): Promise<void> {
  if (contacts.length > 0) await sql.query(STORE_SEEN, [accountId, JSON.stringify(contacts), at]);
}

export async function removeContacts(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length > 0) await sql.query(REMOVE, [accountId, ids]);
}
