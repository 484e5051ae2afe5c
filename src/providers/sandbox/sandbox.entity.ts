import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';

/*
 * The sandbox provider's own tables: what a mail or calendar server would keep. A mailbox is named by application
 * and address. Nothing outside this folder reads them, and they refer to no other table.
 */

const SandboxMailboxSchema = defineEntity({
  name: 'SandboxMailbox',
  tableName: 'sandbox_mailbox',
  properties: {
    applicationId: p.uuid().primary(),
    /** Lower case. */
    address: p.text().primary(),
    /** Highest `modseq` given out; its row lock keeps the cursor free of gaps. */
    modseq: p.bigint('number'),
    /** `modseq` of the last change of its folders. */
    foldersModseq: p.bigint('number').default(0),
  },
});
/** Counts the changes of one mailbox. Written with the first delivery; a mailbox needs no account. */
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
/** A folder or label a user has made. */
export class SandboxFolder extends SandboxFolderSchema.class {}
SandboxFolderSchema.setClass(SandboxFolder);

const SandboxMessageSchema = defineEntity({
  name: 'SandboxMessage',
  tableName: 'sandbox_message',
  indexes: [
    { name: 'sandbox_message_mailbox', properties: ['applicationId', 'address', 'modseq'] },
  ],
  properties: {
    /** Made from mailbox, Message-ID and folder of arrival: a repeated hand-over hits the same row. */
    ...idColumn,
    applicationId: p.uuid(),
    /** Address of the mailbox, lower case. */
    address: p.text(),
    /** Standard names or ids of folders; one for folder accounts. */
    folders: p.array(),
    mime: p.blob(),
    receivedAt: p.datetime().columnType('timestamptz'),
    unread: p.boolean(),
    starred: p.boolean(),
    deleted: p.boolean().default(false),
    /** `modseq` it arrived with. */
    addedModseq: p.bigint('number'),
    /** Grows with every change of a mailbox: the cursor of the mirror. */
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
    /** Highest `modseq` given out; its row lock keeps the cursor free of gaps. */
    modseq: p.bigint('number'),
  },
});
/** Counts the changes of one address book. Written with its first look or contact. */
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
    /** What it was created with. */
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
    /** What is counted: the mailbox and the Message-ID or object the magic address refers to. */
    key: p.text().primary(),
    /** Times it has failed so far. */
    count: p.integer(),
    at: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});
/** Counters of the magic recipients that fail a given number of times. */
export class SandboxFault extends SandboxFaultSchema.class {}
SandboxFaultSchema.setClass(SandboxFault);
