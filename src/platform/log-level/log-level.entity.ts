import { defineEntity, p } from '@mikro-orm/core';
import type { LogLevelName } from '../base/log-level.ts';

const LogLevelSchema = defineEntity({
  name: 'LogLevel',
  tableName: 'log_level',
  properties: {
    /** Always 1: there is one level for all processes. */
    id: p.smallint().primary().autoincrement(false),
    level: p.text().$type<LogLevelName>(),
    /** From then on each process has its own `LOG_LEVEL` again. */
    until: p.datetime().columnType('timestamptz'),
  },
});

/** A level of the log that holds for all processes for a while, instead of their `LOG_LEVEL`. */
export class LogLevel extends LogLevelSchema.class {}
LogLevelSchema.setClass(LogLevel);
