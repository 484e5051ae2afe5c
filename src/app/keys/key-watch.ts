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
import { WorkPermit } from '../../platform/work/workers/work-permit.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { servesConsole } from '../../platform/config/sections/operator-config.ts';
import { clockAhead } from '../../platform/database/health/database-clock.ts';
import { Database } from '../../platform/database/sql.ts';
import { clockAheadSeconds } from '../../platform/metrics/database-metrics.ts';
import { adoptKeys, describeProblems } from './key-check.ts';
import {
  type ProcessSelf,
  registerProcess,
  reportProcess,
  unregisterProcess,
} from './running-processes.ts';

const NOT_EXAMINED = 'ENCRYPTION_KEYS could not be checked yet';

/**
 * Keeps a process with wrong ENCRYPTION_KEYS from working (docs/adr/0061). The process is not ready
 * and claims nothing until its keys decrypt the stored secrets. The keys are checked at start, and
 * every ten seconds until they are right. Until then nothing is encrypted either. The guard also
 * registers this process: its keys for other processes and for `carillon keys reseal`, its failing
 * checks and its clock for operators.
 */
@Injectable()
export class KeyWatch implements OnModuleInit, BeforeApplicationShutdown {
  readonly #log = new Logger('Keys');
  readonly #self: ProcessSelf;
  /** Keys of this process that may encrypt although they are not checked yet. */
  readonly #unchecked: SecretBox;
  #problem: string | null = NOT_EXAMINED;
  #stopped = false;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    box: SecretBox,
    private readonly database: Database,
    private readonly readiness: Readiness,
    private readonly permit: WorkPermit,
  ) {
    box.refuseWhile(() => this.#problem);
    this.#unchecked = new SecretBox(config.encryptionKeys);
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
    await this.#attempt(() => this.#check());
  }

  /** Does not throw. If the database is unavailable, the next tick tries again. */
  async tick(): Promise<void> {
    if (this.#stopped) return;
    await this.#attempt(async () => {
      await this.#check();
      await this.#report();
    });
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#log.warn(
        `could not check the keys or report the state of this process; trying again in ten seconds: ${String(error)}`,
      );
    }
  }

  async #check(): Promise<void> {
    await registerProcess(this.database, this.#self, this.#unchecked);
    if (this.#problem !== null) await this.#examine();
  }

  async #report(): Promise<void> {
    const ahead = await clockAhead(this.database);
    clockAheadSeconds.set(ahead);
    const failing = await this.readiness.failing();
    await reportProcess(this.database, this.#self.id, failing, ahead);
  }

  async #examine(): Promise<void> {
    const before = this.#problem;
    this.#problem = describeProblems(await adoptKeys(this.database, this.#unchecked));
    if (this.#problem === before) return;
    if (this.#problem !== null)
      this.#log.error(
        `${this.#problem}. This process is not ready, claims nothing and encrypts nothing.`,
      );
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
