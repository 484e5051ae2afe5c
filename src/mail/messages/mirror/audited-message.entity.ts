import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../../accounts/grants/grant.entity.ts';

const AuditListingSchema = defineEntity({
  name: 'AuditListing',
  tableName: 'audit_listing',
  properties: {
    account: () => p.manyToOne(Grant).primary().deleteRule('cascade'),
    /** The provider's id of the message. */
    providerId: p.text().primary(),
  },
});

/** A message that the provider has listed in the folder that an audit is comparing. */
export class AuditListing extends AuditListingSchema.class {}
AuditListingSchema.setClass(AuditListing);

const CandidateMessageSchema = defineEntity({
  name: 'CandidateMessage',
  tableName: 'candidate_message',
  properties: {
    account: () => p.manyToOne(Grant).primary().deleteRule('cascade'),
    providerId: p.text().primary(),
    /** How often the audit has looked at it without a result. */
    looks: p.smallint().default(0),
    /** When the provider first answered that it does not exist; `null` if it has not. */
    goneSince: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** A message whose folders in the mirror and at the provider differed when they were listed. */
export class CandidateMessage extends CandidateMessageSchema.class {}
CandidateMessageSchema.setClass(CandidateMessage);
