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
    /** All keys that the process has, as id → fingerprint. Never the keys themselves. */
    keys: p.json<Record<string, string>>(),
    /** Address of the console that the process serves; `null` if it serves none. */
    consoleUrl: p.text().nullable(),
    /** Readiness checks that fail: `[{ name, problem }]`. */
    problems: p.json<{ name: string; problem: string }[]>().default([]),
    /** How far the clock of its machine is ahead of the database's; `null` before it was read. */
    clockAheadSeconds: p.double().nullable(),
    startedAt: p.datetime().columnType('timestamptz'),
    /** Updated every ten seconds. */
    seenAt: p.datetime().columnType('timestamptz'),
  },
});

/** A process of any role: the encryption keys it has (docs/adr/0061), and what is wrong with it. */
export class RunningProcess extends RunningProcessSchema.class {}
RunningProcessSchema.setClass(RunningProcess);
