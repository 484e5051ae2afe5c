import { defineEntity, p } from '@mikro-orm/core';
import type { AuditedKind } from './mirror-audits.ts';

const AuditTotalSchema = defineEntity({
  name: 'AuditTotal',
  tableName: 'audit_total',
  properties: {
    kind: p.text().$type<AuditedKind>().primary(),
    /** Complete audits. */
    audits: p.bigint('number').default(0),
    /** Objects that were compared. */
    compared: p.bigint('number').default(0),
    /** Objects that the mirror lacked. */
    missing: p.bigint('number').default(0),
    /** Objects that only the mirror had. */
    surplus: p.bigint('number').default(0),
    /** Objects that differed; messages that were in other folders. */
    changed: p.bigint('number').default(0),
    repaired: p.bigint('number').default(0),
    /** Folders, calendars and address books that could not be compared. */
    skipped: p.bigint('number').default(0),
  },
});

/** Sums of all complete audits of an installation since its database exists. They never fall. */
export class AuditTotal extends AuditTotalSchema.class {}
AuditTotalSchema.setClass(AuditTotal);
