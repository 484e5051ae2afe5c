import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../database/base-columns.ts';
import { QUOTA_OWNERS, QUOTAS } from './quota.ts';

const QuotaUseSchema = defineEntity({
  name: 'QuotaUse',
  tableName: 'quota_use',
  uniques: [{ name: 'quota_use_once', properties: ['ownerId', 'quota', 'day'] }],
  indexes: [{ name: 'quota_use_day', properties: ['day'] }],
  properties: {
    ...idColumn,
    quota: p.enum(QUOTAS),
    /** Whose limit it is. */
    per: p.enum(QUOTA_OWNERS),
    /** The account or the application. No reference: what an account has used stays used when it is deleted. */
    ownerId: p.uuid(),
    /** In UTC. */
    day: p.date(),
    used: p.integer().default(0),
    /** When it was told that the limit is reached; null: not yet. */
    alertedAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** What an account or an application has used of one quota in one day. */
export class QuotaUse extends QuotaUseSchema.class {}
QuotaUseSchema.setClass(QuotaUse);
