import { setTimeout as delay } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  Optional,
  type Type,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { AddressChecks } from '../../accounts/grants/address-checks.ts';
import { AddressLoops } from '../../accounts/grants/address-loops.ts';
import { TokenUses } from '../../accounts/grants/token-uses.ts';
import { MeetingUpkeep } from '../../calendar/conferencing/meeting-upkeep.ts';
import { RelayEnrolment } from '../../mail/relay/relay-enrolment.ts';
import { SearchBacklogRunner } from '../../mail/search/search-backlog.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Engine } from '../../platform/work/engine.ts';
import { KeyGuard } from '../keys/key-guard.ts';
import { Maintenance } from './maintenance.ts';

/** A task that recurs in a process. */
export interface RecurringTask {
  name: string;
  everySeconds: number;
  /** When it first runs after the process has started; default: after `everySeconds`. */
  firstAfterSeconds?: number;
  /** Role of the processes in which it runs; `any`: in all. */
  role: AppConfig['roles'][number] | 'any';
  /** @param stop aborted when the process stops: a long run ends soon after */
  run(modules: ModuleRef, stop: AbortSignal): Promise<unknown>;
}

const calls =
  <T>(service: Type<T>, run: (service: T, stop: AbortSignal) => Promise<unknown>) =>
  (modules: ModuleRef, stop: AbortSignal): Promise<unknown> =>
    run(modules.get(service, { strict: false }), stop);

/**
 * All recurring work of the application: what, how often, and in processes of which role. Workers share the work of a task
 * through its tables. Not listed are timers that belong to something that is open: the engine's heartbeat while it stops, the
 * connections that wait for changes of mailboxes (`sync/mailbox-watches.ts`, at a pace that depends on what is open), and
 * clients that wait for changes (`deltas/change-watch.ts`).
 */
const RECURRING_WORK: readonly RecurringTask[] = [
  { name: 'engine', everySeconds: 1, role: 'worker', run: calls(Engine, (engine) => engine.tick()) },
  { name: 'keys', everySeconds: 10, role: 'any', run: calls(KeyGuard, (keys) => keys.tick()) },
  { name: 'uses of access tokens', everySeconds: 60, role: 'any', run: calls(TokenUses, (uses) => uses.store()) },
  { name: 'address checks', everySeconds: 10, role: 'worker', run: calls(AddressChecks, (checks) => checks.runAll()) },
  { name: 'address loops', everySeconds: 10, role: 'worker', run: calls(AddressLoops, (loops) => loops.run()) },
  { name: 'relay enrolment', everySeconds: 10, role: 'worker', run: calls(RelayEnrolment, (relays) => relays.run()) },
  { name: 'meetings', everySeconds: 10, role: 'worker', run: calls(MeetingUpkeep, (meetings) => meetings.run()) },
  { name: 'meetings without events', everySeconds: 300, role: 'worker', run: calls(MeetingUpkeep, (meetings) => meetings.reconcile()) },
  { name: 'search backlog', everySeconds: 60, role: 'worker', run: calls(SearchBacklogRunner, (backlog, stop) => backlog.runBriefly(stop)) },
  // Also in a process that is restarted more often than every ten minutes.
  { name: 'maintenance', everySeconds: 600, firstAfterSeconds: 60, role: 'worker', run: calls(Maintenance, (maintenance, stop) => maintenance.runAll(stop)) },
]; // prettier-ignore

/** What is cut off after that is done again by another process, or after the next start. */
const MOST_STOPPING_MS = 5_000;

/**
 * Runs `RECURRING_WORK`. A task that is still running is not started again; a run that fails is logged, and the next one
 * comes in its time. When the process stops, tasks of workers end; those of all processes go on until the engine has ended.
 */
@Injectable()
export class RecurringWork
  implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown
{
  readonly #log = new Logger(RecurringWork.name);
  readonly #running = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly modules: ModuleRef,
    private readonly registry: SchedulerRegistry,
    @Optional() private readonly tasks: readonly RecurringTask[] = RECURRING_WORK,
  ) {}

  onApplicationBootstrap(): void {
    for (const task of this.tasks) {
      if (task.role !== 'any' && !this.config.roles.includes(task.role)) continue;
      const begin = () => this.#begin(task);
      // Nest clears these before it closes the database.
      this.registry.addInterval(task.name, setInterval(begin, task.everySeconds * 1000));
      if (task.firstAfterSeconds !== undefined)
        this.registry.addTimeout(task.name, setTimeout(begin, task.firstAfterSeconds * 1000));
    }
  }

  onModuleDestroy(): void {
    this.#stop.abort();
  }

  async beforeApplicationShutdown(): Promise<void> {
    const running = Promise.all(this.#running.values());
    await Promise.race([running, delay(MOST_STOPPING_MS, undefined, { ref: false })]);
  }

  #begin(task: RecurringTask): void {
    const isStopping = this.#stop.signal.aborted && task.role !== 'any';
    if (isStopping || this.#running.has(task.name)) return;
    this.#running.set(task.name, this.#run(task));
  }

  async #run({ name, run }: RecurringTask): Promise<void> {
    try {
      await run(this.modules, this.#stop.signal);
    } catch (error) {
      this.#log.warn(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.#running.delete(name);
    }
  }
}
