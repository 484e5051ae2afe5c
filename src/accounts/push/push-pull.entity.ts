import { defineEntity, p } from '@mikro-orm/core';
import { Integration } from '../integrations/integration.entity.ts';

const PushPullSchema = defineEntity({
  name: 'PushPull',
  tableName: 'push_pull',
  indexes: [{ name: 'push_pull_due', properties: ['dueAt'] }],
  properties: {
    integration: () => p.oneToOne(Integration).primary().deleteRule('cascade'),
    /** When a process may begin to pull. The process that pulls moves it behind its lease's end. */
    dueAt: p.datetime().columnType('timestamptz'),
    /** Grows with each lease. A process with an older value stops to pull. */
    fence: p.integer().default(0),
    /** Failed attempts since the last success. */
    failures: p.smallint().default(0),
    error: p.text().nullable(),
    pulledAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** One row per integration whose notifications are pulled. One process at a time leases it. */
export class PushPull extends PushPullSchema.class {}
PushPullSchema.setClass(PushPull);
