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
import { PushPulls } from '../../accounts/push/push-pulls.ts';
import { PushUpkeep } from '../../accounts/push/push-upkeep.ts';
import { MeetingUpkeep } from '../../calendar/conferencing/meeting-upkeep.ts';
import { PausedSends } from '../../mail/outbox/paused-sends.service.ts';
import { RelayEnrolment } from '../../mail/relay/relay-enrolment.ts';
import { TextBacklogRunner } from '../../mail/search/text-backlog.ts';
import { ApplicationDeletions } from '../../operator/applications/application-deletions.service.ts';
import { TableSamples } from '../../operator/capacity/table-samples.service.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { RefusalRecorder } from '../../platform/refusals/refusal-recorder.ts';
import { LogLevels } from '../../platform/log-level/log-levels.ts';
import { Engine } from '../../platform/work/engine.ts';
import { KeyGuard } from '../keys/key-guard.ts';
import { Maintenance } from './maintenance.ts';

/** A task that a process runs regularly. */
export interface RecurringTask {
  name: string;
  everySeconds: number;
  /** Delay of the first run after the process starts, in seconds; default: `everySeconds`. */
  firstAfterSeconds?: number;
  /** Role of the processes that run the task; `any` for all processes. */
  role: AppConfig['roles'][number] | 'any';
  /** @param stop aborted when the process stops; the run must end soon after */
  run(modules: ModuleRef, stop: AbortSignal): Promise<unknown>;
}

const calls =
  <T>(service: Type<T>, run: (service: T, stop: AbortSignal) => Promise<unknown>) =>
  (modules: ModuleRef, stop: AbortSignal): Promise<unknown> =>
    run(modules.get(service, { strict: false }), stop);

/**
 * All recurring work of the application, with its interval and the role of its processes. Workers
 * divide the work of a task among themselves through its tables.
 *
 * Timers that belong to an open resource are not listed here. There are four: the engine's
 * heartbeat while it stops, connections that wait for mailbox changes (`sync/mailbox-watches.ts`),
 * leased integrations whose notifications are pulled (`accounts/push/push-pulls.ts`), and clients
 * that wait for changes (`deltas/change-watch.ts`).
 */
const RECURRING_WORK: readonly RecurringTask[] = [
  { name: 'engine', everySeconds: 1, role: 'worker', run: calls(Engine, (engine) => engine.tick()) },
  { name: 'keys', everySeconds: 10, role: 'any', run: calls(KeyGuard, (keys) => keys.tick()) },
  { name: 'log level', everySeconds: 5, role: 'any', run: calls(LogLevels, (levels) => levels.tick()) },
  { name: 'uses of access tokens', everySeconds: 60, role: 'any', run: calls(TokenUses, (uses) => uses.store()) },
  { name: 'refused requests', everySeconds: 10, role: 'any', run: calls(RefusalRecorder, (recorder) => recorder.store()) },
  { name: 'address checks', everySeconds: 10, role: 'worker', run: calls(AddressChecks, (checks) => checks.runAll()) },
  { name: 'address loops', everySeconds: 10, role: 'worker', run: calls(AddressLoops, (loops) => loops.run()) },
  { name: 'push subscriptions', everySeconds: 10, role: 'worker', run: calls(PushUpkeep, (upkeep, stop) => upkeep.run(stop)) },
  { name: 'pulled notifications', everySeconds: 10, role: 'worker', run: calls(PushPulls, (pulls) => pulls.run()) },
  { name: 'relay enrolment', everySeconds: 10, role: 'worker', run: calls(RelayEnrolment, (relays) => relays.run()) },
  { name: 'meetings', everySeconds: 10, role: 'worker', run: calls(MeetingUpkeep, (meetings) => meetings.run()) },
  { name: 'meetings without events', everySeconds: 300, role: 'worker', run: calls(MeetingUpkeep, (meetings) => meetings.reconcile()) },
  { name: 'resumed messages', everySeconds: 60, role: 'worker', run: calls(PausedSends, (paused, stop) => paused.run(stop)) },
  { name: 'deletions of applications', everySeconds: 10, role: 'worker', run: calls(ApplicationDeletions, (deletions, stop) => deletions.run(stop)) },
  { name: 'sizes of tables', everySeconds: 3_600, firstAfterSeconds: 30, role: 'worker', run: calls(TableSamples, (samples) => samples.run()) },
  { name: 'text backlog', everySeconds: 60, role: 'worker', run: calls(TextBacklogRunner, (backlog, stop) => backlog.runBriefly(stop)) },
  // Runs after a minute too, for processes that restart more often than every ten minutes.
  { name: 'maintenance', everySeconds: 600, firstAfterSeconds: 60, role: 'worker', run: calls(Maintenance, (maintenance, stop) => maintenance.runAll(stop)) },
]; // prettier-ignore

/**
 * Time between the starts of two tasks, in milliseconds. If all tasks with an interval of ten
 * seconds ran at the same moment, each would need a connection to the database.
 */
const APART_MS = 250;

/**
 * How long a stopping process waits for running tasks. Work that is cut off is done by another
 * process, or after the next start.
 */
const MOST_STOPPING_MS = 5_000;

/**
 * Runs `RECURRING_WORK`. A task is not started while it is still running. A failed run is logged,
 * and the task runs again after its interval. When the process stops, tasks of workers end; tasks
 * of all processes continue until the engine has stopped.
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
    const { roles } = this.config;
    const tasks = this.tasks.filter(({ role }) => role === 'any' || roles.includes(role));
    for (const [index, task] of tasks.entries()) {
      const begin = () => this.#begin(task);
      const apart = () => {
        const beginUnlessStopped = () => {
          if (!this.#stop.signal.aborted) begin();
        };
        setTimeout(beginUnlessStopped, index * APART_MS).unref();
      };
      const repeated = index === 0 ? begin : apart;
      // Nest clears these timers before it closes the database.
      this.registry.addInterval(task.name, setInterval(repeated, task.everySeconds * 1000));
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
      this.#log.warn(
        `task "${name}" failed; it runs again after its interval: ${error instanceof Error ? error.message : String(error)}`,
      );
    } finally {
      this.#running.delete(name);
    }
  }
}
