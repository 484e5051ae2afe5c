import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const RelaySenderSchema = defineEntity({
  name: 'RelaySender',
  tableName: 'relay_sender',
  properties: {
    account: () => p.oneToOne(Grant).ref().primary().deleteRule('cascade'),
    domainVerified: p.boolean(),
    senderVerified: p.boolean(),
    /**
     * The service's reason if it refused the account. `null` with both flags false means that the
     * service has not answered.
     */
    detail: p.text().nullable(),
    /** When the service was last asked. */
    checkedAt: p.datetime().columnType('timestamptz'),
    /**
     * When the account was removed from the service. The service is then not used until the account
     * is connected again.
     */
    removedAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/**
 * The last answer of a mailing service about an account: whether it takes mail from it. Deleted
 * when the service is replaced.
 */
export class RelaySender extends RelaySenderSchema.class {}
RelaySenderSchema.setClass(RelaySender);
