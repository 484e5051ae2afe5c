import { Injectable } from '../../platform/nest/light.ts';
import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import type { LogLevelName } from '../../platform/base/log-level.ts';
import { Database } from '../../platform/database/sql.ts';
import {
  type LevelForAll,
  readLevel,
  removeLevel,
  writeLevel,
} from '../../platform/log-level/level-for-all.ts';

/** How long a level may hold, in seconds. Then each process has its own `LOG_LEVEL` again. */
export const LONGEST_SECONDS = 24 * 3_600;
export const DEFAULT_SECONDS = 600;

const TARGET = { type: 'installation', id: 'log_level' } as const;

/** The level of the logs of all processes, for operators. Processes follow within five seconds. */
@Injectable()
export class LogLevelService {
  constructor(private readonly database: Database) {}

  /** The level that holds for all processes now; `null` if each has its own `LOG_LEVEL`. */
  read(): Promise<LevelForAll | null> {
    return readLevel(this.database);
  }

  /** @param seconds at most `LONGEST_SECONDS` */
  set(actor: Actor, level: LogLevelName, seconds: number): Promise<LevelForAll> {
    return this.database.transaction(async (sql) => {
      const details = { level, seconds };
      await recordAudit(sql, { actor, action: 'log-level.set', target: TARGET, details });
      return writeLevel(sql, level, seconds);
    });
  }

  /** Gives each process its own level again. */
  reset(actor: Actor): Promise<void> {
    return this.database.transaction(async (sql) => {
      if (await removeLevel(sql))
        await recordAudit(sql, { actor, action: 'log-level.reset', target: TARGET });
    });
  }
}
