import { defineEntity, p } from '@mikro-orm/core';
import { ownedByAccount } from '../database/owner-keys.ts';

const PrunedChangesSchema = defineEntity({
  name: 'PrunedChanges',
  tableName: 'change_pruned',
  properties: {
    account: () => ownedByAccount().primary(),
    object: p.text().primary(),
    /** Number of the newest deleted change. */
    seq: p.bigint('number'),
  },
});

/**
 * How far the log of an account has been pruned, for each kind of object. A cursor before this
 * point has expired.
 */
export class PrunedChanges extends PrunedChangesSchema.class {}
PrunedChangesSchema.setClass(PrunedChanges);
