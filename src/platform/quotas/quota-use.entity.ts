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
    /** Whether the limit applies to an account or to an application. */
    per: p.enum(QUOTA_OWNERS),
    /**
     * Id of the account or application. Without a foreign key: what an account has used stays
     * counted after its deletion.
     */
    ownerId: p.uuid(),
    /** Day in UTC. */
    day: p.date(),
    used: p.integer().default(0),
    /** When the alert about the reached limit was raised; `null` if it was not raised yet. */
    alertedAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** How much of one quota an account or application has used in one day. */
export class QuotaUse extends QuotaUseSchema.class {}
QuotaUseSchema.setClass(QuotaUse);
