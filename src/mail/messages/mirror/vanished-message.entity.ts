import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../../accounts/grants/grant.entity.ts';
import { Message } from '../message.entity.ts';

const VanishedMessageSchema = defineEntity({
  name: 'VanishedMessage',
  tableName: 'vanished_message',
  indexes: [{ name: 'vanished_message_account', properties: ['account'] }],
  properties: {
    message: () => p.oneToOne(Message).primary().deleteRule('cascade'),
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    vanishedAt: p.datetime().columnType('timestamptz'),
  },
});

/**
 * A message that disappeared from its folder and may still reappear in another one. Then it keeps
 * its id.
 */
export class VanishedMessage extends VanishedMessageSchema.class {}
VanishedMessageSchema.setClass(VanishedMessage);
