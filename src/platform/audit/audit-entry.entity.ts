import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../database/base-columns.ts';
import { ACTOR_KINDS } from './actor.ts';

const AuditEntrySchema = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entry',
  indexes: [
    { name: 'audit_entry_application', properties: ['applicationId', 'id'] },
    { name: 'audit_entry_account', properties: ['accountId', 'id'] },
    { name: 'audit_entry_target', properties: ['targetId', 'id'] },
    { name: 'audit_entry_actor', properties: ['actorId', 'id'] },
    { name: 'audit_entry_at', properties: ['at'] },
  ],
  properties: {
    ...idColumn,
    /** The database's clock, so that no process can date an entry. */
    at: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    actorKind: p.enum(ACTOR_KINDS),
    actorId: p.text().nullable(),
    actorName: p.text(),
    actorAddress: p.text().nullable(),
    /** Dotted name, such as `account.pause`. */
    action: p.text(),
    targetType: p.text(),
    targetId: p.text(),
    // No foreign keys: an entry outlives the objects that it names.
    applicationId: p.uuid().nullable(),
    accountId: p.uuid().nullable(),
    details: p.json<Record<string, unknown>>(),
  },
});

/**
 * One action of the audit log. A trigger refuses every update, and every deletion outside the
 * clean-up by age (docs/adr/0088).
 */
export class AuditEntry extends AuditEntrySchema.class {}
AuditEntrySchema.setClass(AuditEntry);
