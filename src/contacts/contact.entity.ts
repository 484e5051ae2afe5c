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
    // For counts: equal keys are stored once (B-tree deduplication), so this index is a tenth as
    // large as one that includes the id.
    { name: 'contact_count', properties: ['account'], where: 'not deleting' },
    { name: 'contact_source', properties: ['account', 'source', 'id'], where: 'not deleting' },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /**
     * `address_book`: a contact of the provider's address books, or one created here. `inbox`:
     * collected from mail.
     */
    source: p.enum(['address_book', 'inbox']),
    /**
     * `null` until the provider has the contact. For contacts collected from mail: their address in
     * lower case.
     */
    providerId: p.text().nullable(),
    content: p.json<ContactFields>(),
    /**
     * Tag that changes whenever the picture at the provider changes; `null` if the contact has no
     * picture.
     */
    picture: p.text().nullable(),
    /** What could not be read of the contact's card and is left out here, in plain words. */
    warnings: p.array().default([]),
    /**
     * Rank of the name, for contacts collected from mail. A name with a higher rank replaces it.
     */
    nameRank: p.smallint().default(0),
    /** The last version seen at the provider or written to it; `null` if there is none. */
    providerContent: p.json<ContactFields>().nullable(),
    providerSeenAt: p.datetime().columnType('timestamptz').nullable(),
    /**
     * True once the contact was deleted here. The row is hidden and stays until the provider has
     * deleted the contact or refused to.
     */
    deleting: p.boolean().default(false),
    ...timestampColumns,
  },
});

/** A contact of an account. */
export class Contact extends ContactSchema.class {}
ContactSchema.setClass(Contact);

const ContactKeySchema = defineEntity({
  name: 'ContactKey',
  tableName: 'contact_key',
  indexes: [{ name: 'contact_key_contact', properties: ['contact'] }],
  properties: {
    account: p.uuid().fieldName('account_id').primary(),
    /** Name of a filter of `GET /contacts`. */
    field: p.text().primary(),
    /** Normalised value that the filter is compared with (`filterKey`). */
    value: p.text().primary(),
    contact: () => p.manyToOne(Contact).primary().deleteRule('cascade'),
    /**
     * The contact's source, for filters combined with `source`. The column comes after the contact
     * id, so that the primary key keeps the order of the list.
     */
    source: p.text().primary(),
  },
});

/** Values that contacts are found by, in the order of the list. Hidden contacts have none. */
export class ContactKey extends ContactKeySchema.class {}
ContactKeySchema.setClass(ContactKey);

const ContactGroupSchema = defineEntity({
  name: 'ContactGroup',
  tableName: 'contact_group',
  uniques: [{ name: 'contact_group_path', properties: ['account', 'path'] }],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** Name of the group as contacts carry it; levels are separated by `/`. */
    path: p.text(),
    createdAt: p.datetime().columnType('timestamptz'),
  },
});

/** A group of contacts. It keeps its id while no contact is in it. */
export class ContactGroup extends ContactGroupSchema.class {}
ContactGroupSchema.setClass(ContactGroup);
