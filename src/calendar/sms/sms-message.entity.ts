import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';

const SmsMessageSchema = defineEntity({
  name: 'SmsMessage',
  tableName: 'sms_message',
  properties: {
    ...idColumn,
    accountId: p.uuid(),
    phoneNumber: p.text(),
    text: p.text(),
    /** The caller's key: the same text is not recorded twice. */
    dedupe: p.text().unique(),
    createdAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** What the recording SMS gateway was asked to send. */
export class SmsMessage extends SmsMessageSchema.class {}
SmsMessageSchema.setClass(SmsMessage);
