import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';

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
    /** Stands in the Message-ID of the mail. */
    ...idColumn,
    /** Not a foreign key: what was sent to an address counts when the account is gone, too. */
    accountId: p.uuid(),
    applicationId: p.uuid(),
    /** Without what stands behind a `+`. */
    address: p.text(),
    /** SHA-256 of the code in the subject; the code is stored nowhere. */
    codeHash: p.blob(),
    /** When it was about to be sent. */
    sentAt: p.datetime().columnType('timestamptz'),
    /** It was not sent after all: it does not count. */
    failed: p.boolean().default(false),
  },
});

/** A mail that was sent to the address of an account to see whether it arrives in its mailbox. Kept for a week. */
export class AddressLoop extends AddressLoopSchema.class {}
AddressLoopSchema.setClass(AddressLoop);
