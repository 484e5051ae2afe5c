import { Injectable } from '@nestjs/common';
import type { AccountListener } from '../accounts/grants/account-listeners.ts';
import { Conditions } from '../platform/database/conditions.ts';
import { type Listing, type PageOfView, runListing } from '../platform/database/listing.ts';
import { ReadDatabase } from '../platform/database/replicas/read-database.ts';
import { Database, type Sql } from '../platform/database/sql.ts';
import { type ContactFields, contactFields } from '../providers/port/contact-content.ts';
import { filterKey, KEY_FIELDS, type KeyField } from './contact-keys.ts';
import type { Contact, ContactGroup } from './contact.entity.ts';
import type { RowOf } from '../platform/database/rows/row-of.ts';

/** A group as a plain value. */
export type ContactGroupRecord = RowOf<ContactGroup, 'id' | 'path'>;

/** A contact as a plain value. */
export interface ContactRecord {
  id: string;
  accountId: string;
  source: 'address_book' | 'inbox';
  fields: ContactFields;
  picture: string | null;
  /** What could not be read of the contact's card and is left out here. */
  warnings: string[];
  /** The groups that `fields` names, with their ids. */
  groups: ContactGroupRecord[];
}

/** Conditions on the contacts of an account. An absent field does not restrict the list. */
export interface ContactFilter {
  source?: ContactRecord['source'] | undefined;
  /** Filter values, all of which must match. The value of `group` is a group id. */
  keys: Partial<Record<KeyField, string | undefined>>;
  /** True to include the groups below the group in `keys`. Default: false. */
  recurse?: boolean | undefined;
}

/** A contact with its last known state at the provider. */
export interface ContactAtProvider
  extends ContactRecord, RowOf<Contact, 'providerId' | 'providerContent' | 'deleting'> {}

type Row<T extends ContactRecord> = Omit<T, 'fields'> & RowOf<Contact, 'content'>;

const COLUMNS = `
  c.id, c.account_id as "accountId", c.source, c.content, c.picture, c.warnings,
  case when c.content -> 'groups' = '[]' then '[]' else coalesce((
    select jsonb_agg(jsonb_build_object('id', g.id, 'path', g.path) order by g.path) from contact_group g
    where g.account_id = c.account_id
      and g.path = any(array(select jsonb_array_elements_text(c.content -> 'groups')))), '[]') end as groups`;

const AT_PROVIDER = `
  ${COLUMNS}, c.provider_id as "providerId", c.provider_content as "providerContent", c.deleting`;

/** Selects listed contacts by their ids. `bytes` measures them before they are read. */
const LISTED = {
  columns: COLUMNS,
  bytes: 'octet_length(c.content::text)',
  items: { from: 'contact c', id: 'c.id', orderBy: 'c.id' },
};

const AT = `select ${AT_PROVIDER} from contact c where c.id = $1 and c.account_id = $2`;

const LOCK = `${AT} and not c.deleting for update of c`;

// Empty groups are left out of the list. Their rows stay, so that a group keeps its id.
const GROUPS = `
  select g.id, g.path from contact_group g
  where g.account_id = $1 and exists (
    select 1 from contact_key k where k.account_id = $1 and k.field = 'group' and k.value = g.id::text)
  order by g.path`;

const GROUPS_BY_ID = `select id, path from contact_group where account_id = $1 and id::text = any($2::text[])`;

const GROUPS_BY_PATH = `
  select id, path from contact_group where account_id = $1 and path = any($2::text[]) order by path`;

const SHOWN = 'not c.deleting';

/**
 * Fixes the order of the fields: stored JSON does not keep it, and comparisons of contacts need it.
 */
function record<T extends ContactRecord>({ content, ...row }: Row<T>): T {
  return { ...row, fields: contactFields(content) } as unknown as T;
}

/**
 * Contacts from the mailbox and the provider. Contacts that were never written to a provider stay.
 */
export const CONTACTS_OF_ACCOUNT: AccountListener = {
  visibleObjects: [
    `select id, 'contact' as object from contact where account_id = $1 and provider_id is not null and not deleting`,
  ],
  mirrorDeletions: ['delete from contact where account_id = $1 and provider_id is not null'],
};

@Injectable()
export class ContactsRepository {
  constructor(
    private readonly database: Database,
    private readonly reads: ReadDatabase,
  ) {}

  /** Oldest first. */
  async list(
    accountId: string,
    filter: ContactFilter,
    page: PageOfView,
  ): Promise<Listing<ContactRecord>> {
    const conditions = new Conditions();
    const account = conditions.value(accountId);
    const { from, id } = fromOf(conditions, account, filter);
    const listing = await runListing<Row<ContactRecord>>(this.reads, {
      ...LISTED,
      from,
      id,
      orderBy: id,
      conditions,
      page,
      view: page.view,
    });
    return listing.view === 'items'
      ? { ...listing, items: listing.items.map((row) => record(row)) }
      : listing;
  }

  /**
   * Returns the contacts of the account with these ids, in no particular order. Unknown ids are
   * left out.
   * @throws {PageTooLargeError}
   */
  async findMany(
    accountId: string,
    ids: readonly string[],
    sql: Sql = this.database,
  ): Promise<ContactRecord[]> {
    const conditions = new Conditions();
    conditions.add(`c.account_id = ${conditions.value(accountId)} and not c.deleting`);
    conditions.add(`c.id = any(${conditions.value(ids)}::uuid[])`);
    const listing = await runListing<Row<ContactRecord>>(sql, {
      ...LISTED,
      ...LISTED.items,
      conditions,
      page: { limit: ids.length, offset: 0 },
    });
    return listing.view === 'items' ? listing.items.map((row) => record(row)) : [];
  }

  /** Also finds a contact that is being deleted. `undefined` if there is none. */
  async findAtProvider(accountId: string, id: string): Promise<ContactAtProvider | undefined> {
    return atProvider(await this.database.query<Row<ContactAtProvider>>(AT, [id, accountId]));
  }

  /**
   * Reads a contact and locks its row until the transaction ends. `undefined` if there is none or
   * it is being deleted.
   */
  async lock(sql: Sql, accountId: string, id: string): Promise<ContactAtProvider | undefined> {
    return atProvider(await sql.query<Row<ContactAtProvider>>(LOCK, [id, accountId]));
  }

  /** Groups with at least one contact, sorted by path. */
  groups(accountId: string): Promise<ContactGroupRecord[]> {
    return this.reads.query<ContactGroupRecord>(GROUPS, [accountId]);
  }

  /** Returns the groups of the account with these ids. Unknown ids are left out. */
  async groupsById(
    sql: Sql,
    accountId: string,
    ids: readonly string[],
  ): Promise<ContactGroupRecord[]> {
    if (ids.length === 0) return [];
    return sql.query<ContactGroupRecord>(GROUPS_BY_ID, [accountId, ids]);
  }

  async groupsByPath(
    sql: Sql,
    accountId: string,
    paths: readonly string[],
  ): Promise<ContactGroupRecord[]> {
    if (paths.length === 0) return [];
    return sql.query<ContactGroupRecord>(GROUPS_BY_PATH, [accountId, paths]);
  }
}

function atProvider([row]: Row<ContactAtProvider>[]): ContactAtProvider | undefined {
  if (!row) return undefined;
  const contact = record(row);
  return {
    ...contact,
    providerContent: contact.providerContent && contactFields(contact.providerContent),
  };
}

/**
 * Chooses what the list reads. With a filter it reads that filter's keys: they are in list order
 * and carry the source, so no contact row is read for it. Every further filter is checked for each
 * of those keys.
 */
function fromOf(
  conditions: Conditions,
  account: string,
  { source: wantedSource, keys, recurse = false }: ContactFilter,
): { from: string; id: string } {
  const source = wantedSource === undefined ? undefined : conditions.value(wantedSource);
  const [first, ...others] = KEY_FIELDS.flatMap((field) => {
    const value = keys[field];
    return value === undefined ? [] : [keysLike(conditions, account, field, value, recurse)];
  });
  if (first === undefined) {
    conditions.add(`c.account_id = ${account} and ${SHOWN}`);
    if (source !== undefined) conditions.add(`c.source = ${source}`);
    return { from: 'contact c', id: 'c.id' };
  }
  for (const other of others)
    conditions.add(
      `exists (select 1 from contact_key where ${other} and contact_id = k.contact_id)`,
    );
  const wanted = source === undefined ? first : `${first} and source = ${source}`;
  const select = recurse && keys.group !== undefined ? 'select distinct' : 'select';
  const from = `(${select} contact_id from contact_key where ${wanted}) k`;
  return { from, id: 'k.contact_id' };
}

function keysLike(
  conditions: Conditions,
  account: string,
  field: KeyField,
  value: string,
  recurse: boolean,
): string {
  const keys = `account_id = ${account} and field = '${field}'`;
  const wanted = conditions.value(filterKey(field, value));
  if (field !== 'group' || !recurse) return `${keys} and value = ${wanted}`;
  return `${keys} and value in (
    select below.id::text from contact_group g
    join contact_group below on below.account_id = g.account_id
      and (below.id = g.id or starts_with(below.path, g.path || '/'))
    where g.account_id = ${account} and g.id::text = ${wanted})`;
}
