import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../../platform/database/base-columns.ts';

const AddressLoopSchema = defineEntity({
  name: 'AddressLoop',
  tableName: 'address_loop',
  indexes: [
    { name: 'address_loop_address', properties: ['address', 'sentAt'] },
    { name: 'address_loop_application', properties: ['applicationId', 'sentAt'] },
    { name: 'address_loop_account', properties: ['accountId', 'sentAt'] },
    { name: 'address_loop_sent', properties: ['sentAt'] },
  ],
  properties: {
    /** Part of the mail's Message-ID. */
    ...idColumn,
    /**
     * Not a foreign key: mails to an address still count towards the limit after the account is
     * deleted.
     */
    accountId: p.uuid(),
    applicationId: p.uuid(),
    /** The address without its `+` part. */
    address: p.text(),
    /** SHA-256 of the code in the subject. The code itself is not stored. */
    codeHash: p.blob(),
    /** Time just before the mail was sent. */
    sentAt: p.datetime().columnType('timestamptz'),
    /** True if the mail was certainly not sent. Such a mail does not count towards the limits. */
    failed: p.boolean().default(false),
  },
});

/**
 * A mail sent to the address of an account to check whether it arrives in the account's mailbox.
 * Kept for a week.
 */
export class AddressLoop extends AddressLoopSchema.class {}
AddressLoopSchema.setClass(AddressLoop);
