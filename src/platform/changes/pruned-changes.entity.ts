import { defineEntity, p } from '@mikro-orm/core';
import { ownedByAccount } from '../database/owner-keys.ts';

const PrunedChangesSchema = defineEntity({
  name: 'PrunedChanges',
  tableName: 'change_pruned',
  properties: {
    account: () => ownedByAccount().primary(),
    object: p.text().primary(),
    /** The latest one that is gone. */
    seq: p.bigint('number'),
  },
});

/** How far the log of an account has been cleared away, for each kind of object: what lies before cannot be read on from. */
export class PrunedChanges extends PrunedChangesSchema.class {}
PrunedChangesSchema.setClass(PrunedChanges);
