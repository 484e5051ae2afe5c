import { newId } from '../platform/base/ids/ids.ts';
import { columnsOf, idsOf, type Sql } from '../platform/database/sql.ts';
import type { ContactFields } from '../providers/port/contact-content.ts';
import { keysOf } from './contact-keys.ts';
import type { ContactGroup } from './contact.entity.ts';
import type { RowOf } from '../platform/database/rows/row-of.ts';

/*
 * Writes address book contacts together with their filter keys, in the caller's transaction. The
 * number of statements does not depend on the number of contacts. Used by the services of this
 * module and by sync passes.
 */

export interface StoredContact {
  id: string;
  fields: ContactFields;
}

export interface NewContact extends StoredContact {
  /** `null` if the contact was created here and is not at the provider yet. */
  providerId: string | null;
  picture: string | null;
  /** What could not be read of the contact's card. */
  warnings: readonly string[];
}

// A contact with a provider id came from the provider, so its content is also stored as the
// provider's version.
const INSERT = `
  insert into contact (id, account_id, source, provider_id, content, picture, warnings, provider_content, provider_seen_at,
    created_at, updated_at)
  select x.id, $1, 'address_book', x.provider_id, x.content, x.picture, x.warnings,
    case when x.provider_id is not null then x.content end, case when x.provider_id is not null then $3::timestamptz end,
    $3, $3
  from jsonb_to_recordset($2::jsonb) x(id uuid, provider_id text, content jsonb, picture text, warnings text[])
  order by x.id
  on conflict (account_id, source, provider_id) do nothing
  returning id`;

const UPDATE = `
  update contact c set content = x.content, picture = x.picture, updated_at = $3
  from jsonb_to_recordset($2::jsonb) x(id uuid, content jsonb, picture text)
  where c.id = x.id and c.account_id = $1`;

const WRITE_GROUPS = `
  insert into contact_group (id, account_id, path, created_at)
  select x.id, $1, x.path, $4 from unnest($2::uuid[], $3::text[]) x(id, path) order by x.path
  on conflict (account_id, path) do nothing`;

const GROUP_IDS = `select id, path from contact_group where account_id = $1 and path = any($2::text[])`;

const WRITE_KEYS = `
  with given as (
    select * from unnest($3::uuid[], $4::text[], $5::text[]) x(contact_id, field, value)),
  gone as (
    delete from contact_key k
    where k.contact_id = any($2::uuid[]) and k.account_id = $1
      and not exists (select 1 from given x where x.contact_id = k.contact_id and x.field = k.field and x.value = k.value))
  insert into contact_key (account_id, field, value, contact_id, source)
  select $1, field, value, contact_id, 'address_book' from given
  on conflict do nothing`;

/**
 * Inserts new contacts.
 * @returns ids of the inserted contacts; a contact is skipped if another row already has its
 *   provider id
 */
export async function insertContacts(
  sql: Sql,
  accountId: string,
  contacts: readonly NewContact[],
  at: Date,
): Promise<Set<string>> {
  if (contacts.length === 0) return new Set();
  const rows = contacts.map(({ id, providerId, fields, picture, warnings }) => {
    return { id, provider_id: providerId, content: fields, picture, warnings };
  });
  const inserted = await sql.query<{ id: string }>(INSERT, [accountId, JSON.stringify(rows), at]);
  const ids = new Set(idsOf(inserted));
  await writeKeys(
    sql,
    accountId,
    contacts.filter(({ id }) => ids.has(id)),
    at,
  );
  return ids;
}

/** Updates contacts and their filter keys. */
export async function updateContacts(
  sql: Sql,
  accountId: string,
  contacts: readonly (StoredContact & { picture: string | null })[],
  at: Date,
): Promise<void> {
  if (contacts.length === 0) return;
  const rows = contacts.map(({ id, fields, picture }) => ({ id, content: fields, picture }));
  await sql.query(UPDATE, [accountId, JSON.stringify(rows), at]);
  await writeKeys(sql, accountId, contacts, at);
}

/** Replaces the filter keys of contacts and inserts groups that do not exist yet. */
export async function writeKeys(
  sql: Sql,
  accountId: string,
  contacts: readonly StoredContact[],
  at: Date,
) {
  if (contacts.length === 0) return;
  const groups = await groupIds(sql, accountId, contacts, at);
  const keys = contacts.flatMap(({ id, fields }) => [
    ...keysOf(fields).map((key) => ({ ...key, id })),
    ...fields.groups.flatMap((path) => {
      const value = groups.get(path);
      return value === undefined ? [] : [{ field: 'group', value, id }];
    }),
  ]);
  await sql.query(WRITE_KEYS, [
    accountId,
    idsOf(contacts),
    ...columnsOf(keys, 'id', 'field', 'value'),
  ]);
}

async function groupIds(
  sql: Sql,
  accountId: string,
  contacts: readonly StoredContact[],
  at: Date,
): Promise<Map<string, string>> {
  const paths = [...new Set(contacts.flatMap(({ fields }) => fields.groups))];
  if (paths.length === 0) return new Map();
  await sql.query(WRITE_GROUPS, [accountId, paths.map(() => newId()), paths, at]);
  const rows = await sql.query<RowOf<ContactGroup, 'id' | 'path'>>(GROUP_IDS, [accountId, paths]);
  return new Map(rows.map(({ id, path }) => [path, id]));
}

/** Removes a contact from every list and filter. The contact row stays. */
export async function dropKeys(sql: Sql, accountId: string, contactId: string): Promise<void> {
  await sql.query(`delete from contact_key where account_id = $1 and contact_id = $2`, [
    accountId,
    contactId,
  ]);
}
