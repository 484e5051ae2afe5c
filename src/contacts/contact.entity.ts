import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timestampColumns } from '../platform/database/base-columns.ts';
import { Grant } from '../accounts/grants/grant.entity.ts';
import type { ContactFields } from '../providers/port/contact-content.ts';

const ContactSchema = defineEntity({
  name: 'Contact',
  tableName: 'contact',
  uniques: [
    { name: 'contact_account_provider_id', properties: ['account', 'source', 'providerId'] },
  ],
  indexes: [
    { name: 'contact_list', properties: ['account', 'id'], where: 'not deleting' },
    // For counts: with nothing but the account its entries are kept together, and are a tenth as long.
    { name: 'contact_count', properties: ['account'], where: 'not deleting' },
    { name: 'contact_source', properties: ['account', 'source', 'id'], where: 'not deleting' },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** `address_book`: the provider's, or ours where it has none; `inbox`: harvested from mail. */
    source: p.enum(['address_book', 'inbox']),
    /** Null until the provider has it; of a harvested one the address, lower case. */
    providerId: p.text().nullable(),
    content: p.json<ContactFields>(),
    /** Another one for each picture it has at the provider; null: it has none. */
    picture: p.text().nullable(),
    /** Of a harvested one: how good the name is; a better one takes its place. */
    nameRank: p.smallint().default(0),
    /** What was last seen at the provider, or written there; null: nothing. */
    providerContent: p.json<ContactFields>().nullable(),
    providerSeenAt: p.datetime().columnType('timestamptz').nullable(),
    /** Deleted here, and not shown; kept until the provider has deleted it too, or refused to. */
    deleting: p.boolean().default(false),
    ...timestampColumns,
  },
});

/** Somebody an account knows (api facts 8). */
export class Contact extends ContactSchema.class {}
ContactSchema.setClass(Contact);

const ContactKeySchema = defineEntity({
  name: 'ContactKey',
  tableName: 'contact_key',
  indexes: [{ name: 'contact_key_contact', properties: ['contact'] }],
  properties: {
    account: p.uuid().fieldName('account_id').primary(),
    /** Name of a filter of the list. */
    field: p.text().primary(),
    /** What the filter is compared with (`filterKey`). */
    value: p.text().primary(),
    contact: () => p.manyToOne(Contact).primary().deleteRule('cascade'),
    /** The contact's, for `source` together with another filter. Behind the contact, so that the order is that of a list. */
    source: p.text().primary(),
  },
});

/** What contacts are found by, in the order of a list; contacts that are not shown have none. */
export class ContactKey extends ContactKeySchema.class {}
ContactKeySchema.setClass(ContactKey);

const ContactGroupSchema = defineEntity({
  name: 'ContactGroup',
  tableName: 'contact_group',
  uniques: [{ name: 'contact_group_path', properties: ['account', 'path'] }],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** Its name as contacts carry it; levels are separated by `/`. */
    path: p.text(),
    createdAt: p.datetime().columnType('timestamptz'),
  },
});

/** A group of contacts. It keeps its id when nobody is in it for a while. */
export class ContactGroup extends ContactGroupSchema.class {}
ContactGroupSchema.setClass(ContactGroup);
