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
    /** The caller's dedupe key: the same text is not stored twice. */
    dedupe: p.text().unique(),
    createdAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** A text stored by the recording SMS gateway. */
export class SmsMessage extends SmsMessageSchema.class {}
SmsMessageSchema.setClass(SmsMessage);
