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

const AuditSeenSchema = defineEntity({
  name: 'AuditSeen',
  tableName: 'audit_seen',
  properties: {
    account: () => p.manyToOne(Grant).primary().deleteRule('cascade'),
    providerId: p.text().primary(),
  },
});

/**
 * A message that the provider has listed in any folder during the present audit. The table has
 * recent messages, and older ones that were missing in the mirror.
 */
export class AuditSeen extends AuditSeenSchema.class {}
AuditSeenSchema.setClass(AuditSeen);

const AuditedDaySchema = defineEntity({
  name: 'AuditedDay',
  tableName: 'audited_day',
  properties: {
    account: () => p.manyToOne(Grant).primary().deleteRule('cascade'),
    /** Day of the messages, in UTC. */
    day: p.date().primary(),
    /** Ids of the messages of that day that the provider listed. */
    messageIds: p.array().columnType('uuid[]'),
    /** When the audit began. */
    auditedAt: p.datetime().columnType('timestamptz'),
    /** Folders that it could not list. */
    skipped: p.integer(),
    /** Differences that it could not repair; their days are unknown. */
    unrepaired: p.integer(),
  },
});

/** What the last audit of a day has seen at the provider (ADR 0152). */
export class AuditedDay extends AuditedDaySchema.class {}
AuditedDaySchema.setClass(AuditedDay);

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
