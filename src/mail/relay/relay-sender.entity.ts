import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const RelaySenderSchema = defineEntity({
  name: 'RelaySender',
  tableName: 'relay_sender',
  properties: {
    account: () => p.oneToOne(Grant).ref().primary().deleteRule('cascade'),
    domainVerified: p.boolean(),
    senderVerified: p.boolean(),
    /** What the service said, where it said no; null with two noes: it is being asked, or could not be. */
    detail: p.text().nullable(),
    /** When it was asked last. */
    checkedAt: p.datetime().columnType('timestamptz'),
    /** The account does not want it: not used, whatever it says, until the account is connected again. */
    removedAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** Whether the application's mailing service takes mail from an account, as it said last; gone when the service changes. */
export class RelaySender extends RelaySenderSchema.class {}
RelaySenderSchema.setClass(RelaySender);
