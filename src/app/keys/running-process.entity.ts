import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';

const RunningProcessSchema = defineEntity({
  name: 'RunningProcess',
  tableName: 'running_process',
  properties: {
    ...idColumn,
    host: p.text(),
    pid: p.integer(),
    roles: p.array().columnType('text[]'),
    sealingKey: p.text(),
    /** Every key it can open values with: id → fingerprint. Never a key. */
    keys: p.json<Record<string, string>>(),
    startedAt: p.datetime().columnType('timestamptz'),
    /** Refreshed every ten seconds. */
    seenAt: p.datetime().columnType('timestamptz'),
  },
});

/** A process of any role, and the encryption keys it knows (docs/adr/0061). */
export class RunningProcess extends RunningProcessSchema.class {}
RunningProcessSchema.setClass(RunningProcess);
