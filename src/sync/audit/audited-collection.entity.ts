import { defineEntity, p } from '@mikro-orm/core';
import { ownedByAccount } from '../../platform/database/owner-keys.ts';

const AuditedCollectionSchema = defineEntity({
  name: 'AuditedCollection',
  tableName: 'audited_collection',
  properties: {
    account: () => ownedByAccount().primary(),
    /** Id of a calendar, or `contacts` for the address book. */
    collection: p.text().primary(),
    /** Provider ids of the listing that an audit is reading; `null`: none, or it had no ids yet. */
    listed: p.array().nullable(),
    /** Ids of the events or contacts that the last complete listing had. */
    objectIds: p.array().columnType('uuid[]').default([]),
    /** How many objects of that listing were not stored here. */
    unstored: p.integer().default(0),
    /** When that listing began; `null` before the first one. */
    auditedAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** What the last audit of a calendar or address book has seen at the provider (ADR 0160). */
export class AuditedCollection extends AuditedCollectionSchema.class {}
AuditedCollectionSchema.setClass(AuditedCollection);
