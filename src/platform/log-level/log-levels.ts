import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import type { LogLevelName } from '../base/log-level.ts';
import { Database } from '../database/sql.ts';
import { flushIncidents } from '../logs/incidents.ts';
import { readLevel } from './level-for-all.ts';
import { setLevel } from '../logs/levels.ts';

/**
 * The level of this process's log: its `LOG_LEVEL`, unless an operator has set another one for all
 * processes for a while. That one is a row of the database, which every process reads every five
 * seconds.
 */
@Injectable()
export class LogLevels implements OnApplicationShutdown {
  readonly #log = new Logger('Logs');
  #current: LogLevelName;

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly database: Database,
  ) {
    this.#current = config.logLevel;
  }

  /** Follows the level of the database. */
  async tick(): Promise<void> {
    const forAll = await readLevel(this.database);
    const level = forAll?.level ?? this.config.logLevel;
    if (level === this.#current) return;
    const before = this.#current;
    this.#current = level;
    const until = forAll ? ` until ${forAll.until.toISOString()}` : ' again';
    const text = `log level ${level}${until} (was ${before})`;
    // Written while lines of the level `info` are, which is so before or after the change.
    this.#log.log(text);
    setLevel(level);
    this.#log.log(text);
  }

  onApplicationShutdown(): void {
    flushIncidents();
  }
}
