import { hostname } from 'node:os';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnModuleInit,
} from '@nestjs/common';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { Readiness } from '../../platform/work/readiness.ts';
import { WorkPermit } from '../../platform/work/work-permit.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { servesConsole } from '../../platform/config/operator-config.ts';
import { Database } from '../../platform/database/sql.ts';
import { adoptKeys, describeProblems } from './key-check.ts';
import { unregisterProcess, type ProcessSelf, registerProcess } from './running-processes.ts';

const NOT_EXAMINED = 'ENCRYPTION_KEYS could not be checked yet';

/**
 * Keeps a process with wrong ENCRYPTION_KEYS from working (docs/adr/0061). The process is not ready
 * and claims nothing until its keys decrypt the stored secrets. The keys are checked at start, and
 * every ten seconds until they are right. The guard also registers the keys of this process for
 * other processes and for `carillon keys reseal`.
 */
@Injectable()
export class KeyGuard implements OnModuleInit, BeforeApplicationShutdown {
  readonly #log = new Logger('Keys');
  readonly #self: ProcessSelf;
  #problem: string | null = NOT_EXAMINED;
  #stopped = false;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly box: SecretBox,
    private readonly database: Database,
    private readonly readiness: Readiness,
    private readonly permit: WorkPermit,
  ) {
    const { roles, operator } = config;
    // Nobody can open the address of a port that the system chooses.
    const isKnown = !operator.url.endsWith(':0');
    const serves = roles.includes('api') && servesConsole(config);
    const consoleUrl = serves && isKnown ? operator.url : null;
    this.#self = { id: newId(), host: hostname(), pid: process.pid, roles, consoleUrl };
  }

  /** `null` if the keys are right, else a description of the problem with the ids of keys. */
  get problem(): string | null {
    return this.#problem;
  }

  async onModuleInit(): Promise<void> {
    this.readiness.register('keys', () => this.#problem);
    this.permit.require(() => this.#problem);
    await this.tick();
  }

  /** Does not throw. If the database is unavailable, the next tick tries again. */
  async tick(): Promise<void> {
    if (this.#stopped) return;
    try {
      await registerProcess(this.database, this.#self, this.box);
      if (this.#problem !== null) await this.#examine();
    } catch (error) {
      this.#log.warn(
        `could not check or register the keys; trying again in ten seconds: ${String(error)}`,
      );
    }
  }

  async #examine(): Promise<void> {
    const before = this.#problem;
    this.#problem = describeProblems(await adoptKeys(this.database, this.box));
    if (this.#problem === before) return;
    if (this.#problem !== null)
      this.#log.error(`${this.#problem}. This process is not ready and claims nothing.`);
    else if (before !== NOT_EXAMINED)
      this.#log.log('ENCRYPTION_KEYS are right now; this process starts to work');
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#stopped = true;
    try {
      await unregisterProcess(this.database, this.#self.id);
    } catch (error) {
      this.#log.warn(
        `could not remove the record of this process; it expires by itself: ${String(error)}`,
      );
    }
  }
}
