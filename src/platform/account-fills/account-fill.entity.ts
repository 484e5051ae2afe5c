import { defineEntity, p } from '@mikro-orm/core';

const AccountFillSchema = defineEntity({
  name: 'AccountFill',
  tableName: 'account_fill',
  properties: {
    /** Table whose old rows get their account. */
    tableName: p.text().primary(),
    /** Key of the last row that was read; `null` before the first. */
    position: p.array().columnType('text[]').nullable(),
    /** Whether this pass left out rows that a transaction had locked. */
    skipped: p.boolean().default(false),
    /** Since then every row has its account. */
    finishedAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** How far the column `account_id` of one table is filled (ADR 0170). */
export class AccountFill extends AccountFillSchema.class {}
AccountFillSchema.setClass(AccountFill);
