import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnModuleDestroy,
  type Type,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { CommitsWaitError } from '../../platform/database/commit-waits.ts';

/** What a recurring task does with its service. `stop` is aborted when the process stops. */
export type TaskWork<T> = (service: T, stop: AbortSignal) => Promise<unknown>;

/**
 * A process runs its tasks at its own moment within the first half of each second. Otherwise all
 * processes would query the database at the same time. Longer delays would make a task of every
 * second miss the next second.
 */
const MOST_OFFSET_MS = 500;

/**
 * How long a stopping process waits for running tasks. Work that is cut off is done by another
 * process, or after the next start.
 */
const MOST_STOPPING_MS = 5_000;

/**
 * Runs the tasks of `recurring-work.ts`. A failed run is logged, and the task runs again at its
 * next time. When the process stops, running tasks are told to end, and no task of a worker starts.
 */
@Injectable()
export class TaskRuns implements OnModuleDestroy, BeforeApplicationShutdown {
  readonly #log = new Logger('RecurringWork');
  readonly #offsetMs = randomInt(MOST_OFFSET_MS);
  readonly #running = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(private readonly modules: ModuleRef) {}

  /** Runs a task that every process needs until its end, also while its engine still stops. */
  async ofProcess<T>(service: Type<T>, work: TaskWork<T>): Promise<void> {
    if (!this.#stop.signal.aborted) await delay(this.#offsetMs);
    await this.#tracked(service, work);
  }

  /** Runs a task of a worker, unless the process stops. */
  async ofWorker<T>(service: Type<T>, work: TaskWork<T>): Promise<void> {
    if (!this.#stop.signal.aborted) await delay(this.#offsetMs);
    if (!this.#stop.signal.aborted) await this.#tracked(service, work);
  }

  onModuleDestroy(): void {
    this.#stop.abort();
  }

  async beforeApplicationShutdown(): Promise<void> {
    const running = Promise.all(this.#running);
    await Promise.race([running, delay(MOST_STOPPING_MS, undefined, { ref: false })]);
  }

  async #tracked<T>(service: Type<T>, work: TaskWork<T>): Promise<void> {
    const run = this.#run(service, work);
    this.#running.add(run);
    await run;
    this.#running.delete(run);
  }

  async #run<T>(service: Type<T>, work: TaskWork<T>): Promise<void> {
    try {
      await work(this.modules.get(service, { strict: false }), this.#stop.signal);
    } catch (error) {
      // That commits wait was said once, for all tasks.
      if (error instanceof CommitsWaitError) return;
      this.#log.warn(
        `the recurring task of ${service.name} failed and runs again at its next time: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
}
