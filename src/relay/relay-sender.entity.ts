import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../grants/grant.entity.ts';

const RelaySenderSchema = defineEntity({
  name: 'RelaySender',
  tableName: 'relay_sender',
  properties: {
    account: () => p.oneToOne(Grant).ref().primary().deleteRule('cascade'),
    domainVerified: p.boolean(),
    senderVerified: p.boolean(),
    /** What the service said, where it said no. */
    detail: p.text().nullable(),
    checkedAt: p.datetime().columnType('timestamptz'),
  },
});

/** Whether the application's mailing service takes mail from an account, as it said last; gone when the service changes. */
export class RelaySender extends RelaySenderSchema.class {}
RelaySenderSchema.setClass(RelaySender);
