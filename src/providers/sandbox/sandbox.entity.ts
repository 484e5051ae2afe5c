import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';

/*
 * The tables of the sandbox provider: the data that a mail or calendar server would keep.
 * Application and address identify a mailbox. Only this folder reads these tables, and they refer
 * to no other table.
 */

const SandboxMailboxSchema = defineEntity({
  name: 'SandboxMailbox',
  tableName: 'sandbox_mailbox',
  properties: {
    applicationId: p.uuid().primary(),
    /** Lower case. */
    address: p.text().primary(),
    /** Highest `modseq` assigned. Its row lock ensures that no cursor skips a change. */
    modseq: p.bigint('number'),
    /** `modseq` of the last change of the mailbox's folders. */
    foldersModseq: p.bigint('number').default(0),
  },
});
/** Change counter of one mailbox. Created with the first delivery; a mailbox needs no account. */
export class SandboxMailbox extends SandboxMailboxSchema.class {}
SandboxMailboxSchema.setClass(SandboxMailbox);

const SandboxFolderSchema = defineEntity({
  name: 'SandboxFolder',
  tableName: 'sandbox_folder',
  indexes: [
    {
      name: 'sandbox_folder_name',
      expression: `create unique index "sandbox_folder_name" on "sandbox_folder" (application_id, address, lower(display_name))`,
    },
  ],
  properties: {
    ...idColumn,
    applicationId: p.uuid(),
    address: p.text(),
    displayName: p.text(),
  },
});
/** A folder or label made by a user. */
export class SandboxFolder extends SandboxFolderSchema.class {}
SandboxFolderSchema.setClass(SandboxFolder);

const SandboxMessageSchema = defineEntity({
  name: 'SandboxMessage',
  tableName: 'sandbox_message',
  indexes: [
    { name: 'sandbox_message_mailbox', properties: ['applicationId', 'address', 'modseq'] },
  ],
  properties: {
    /**
     * Derived from mailbox, Message-ID and folder of arrival, so a repeated delivery finds the same
     * row.
     */
    ...idColumn,
    applicationId: p.uuid(),
    /** Address of the mailbox, lower case. */
    address: p.text(),
    /** Standard names or folder ids. Exactly one entry in folder accounts. */
    folders: p.array(),
    mime: p.blob(),
    receivedAt: p.datetime().columnType('timestamptz'),
    unread: p.boolean(),
    starred: p.boolean(),
    deleted: p.boolean().default(false),
    /** `modseq` at which the message arrived. */
    addedModseq: p.bigint('number'),
    /**
     * Set from the mailbox's counter at every change of the message. It is the cursor of the
     * mirror.
     */
    modseq: p.bigint('number'),
  },
});
/** A stored copy of a message. */
export class SandboxMessage extends SandboxMessageSchema.class {}
SandboxMessageSchema.setClass(SandboxMessage);

const SandboxCalendarSchema = defineEntity({
  name: 'SandboxCalendar',
  tableName: 'sandbox_calendar',
  indexes: [{ name: 'sandbox_calendar_mailbox', properties: ['applicationId', 'address'] }],
  properties: {
    ...idColumn,
    applicationId: p.uuid(),
    address: p.text(),
    primary: p.boolean().fieldName('is_primary'),
    data: p.json<Record<string, unknown>>(),
  },
});
export class SandboxCalendar extends SandboxCalendarSchema.class {}
SandboxCalendarSchema.setClass(SandboxCalendar);

const SandboxEventSchema = defineEntity({
  name: 'SandboxEvent',
  tableName: 'sandbox_event',
  indexes: [{ name: 'sandbox_event_calendar', properties: ['calendarId'] }],
  properties: {
    ...idColumn,
    applicationId: p.uuid(),
    address: p.text(),
    calendarId: p.uuid(),
    data: p.json<Record<string, unknown>>(),
  },
});
export class SandboxEvent extends SandboxEventSchema.class {}
SandboxEventSchema.setClass(SandboxEvent);

const SandboxAddressBookSchema = defineEntity({
  name: 'SandboxAddressBook',
  tableName: 'sandbox_address_book',
  properties: {
    applicationId: p.uuid().primary(),
    /** Lower case. */
    address: p.text().primary(),
    /** Highest `modseq` assigned. Its row lock ensures that no cursor skips a change. */
    modseq: p.bigint('number'),
  },
});
/** Change counter of one address book. Created with the first sample or contact. */
export class SandboxAddressBook extends SandboxAddressBookSchema.class {}
SandboxAddressBookSchema.setClass(SandboxAddressBook);

const SandboxContactSchema = defineEntity({
  name: 'SandboxContact',
  tableName: 'sandbox_contact',
  indexes: [{ name: 'sandbox_contact_book', properties: ['applicationId', 'address', 'modseq'] }],
  properties: {
    ...idColumn,
    applicationId: p.uuid(),
    address: p.text(),
    /** The `key` given to `createContact`. */
    key: p.text(),
    data: p.json<Record<string, unknown>>(),
    picture: p.blob().nullable(),
    deleted: p.boolean().default(false),
    modseq: p.bigint('number'),
  },
});
export class SandboxContact extends SandboxContactSchema.class {}
SandboxContactSchema.setClass(SandboxContact);

const SandboxFaultSchema = defineEntity({
  name: 'SandboxFault',
  tableName: 'sandbox_fault',
  properties: {
    /**
     * Identifies the failure: the mailbox, the operation, and the Message-ID or object that the
     * magic name refers to.
     */
    key: p.text().primary(),
    /** Number of failures so far. */
    count: p.integer(),
    at: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});
/** Counters for magic recipients and titles that fail a given number of times. */
export class SandboxFault extends SandboxFaultSchema.class {}
SandboxFaultSchema.setClass(SandboxFault);
