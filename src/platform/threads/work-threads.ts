import { Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { Lane, type LaneLimits } from './lane.ts';
import type { WorkResult } from './runner.ts';
import type { Task, TaskLimits } from './task.ts';
import { WorkLimitError } from './work-errors.ts';
import type { StartProcess } from './work-process.ts';

/** Limits of each lane, and of all lanes together. */
export interface WorkLimits extends Record<TaskLimits['lane'], LaneLimits> {
  /**
   * Memory of all threads and processes together, in megabytes. Above it, the one that uses most is
   * ended.
   */
  togetherMb: number;
}

/** The limits of a process of Carillon. docs/security/limits.md adds them up. */
export const WORK_LIMITS: WorkLimits = {
  // Two, even on small machines: an input that never finishes may block one thread until its time
  // is over.
  short: { runners: 2, memory: { heapMb: 112, buffersMb: 256 }, waiting: 100, perKey: 16 },
  // A colour image of 25 million pixels takes 560 MB.
  long: { runners: 1, memory: { heapMb: 320, residentMb: 640 }, waiting: 7, perKey: 3 },
  togetherMb: 704,
};

/** How a task is run. */
export interface RunOptions {
  /**
   * Whether the call waits as long as it takes. Only for callers that limit how much they ask for
   * at a time. Default: false.
   */
  patient?: boolean;
}

/**
 * Threads and processes in which all untrusted input is read: only a few, with limits of time and
 * memory. Calls with the same key share a part of the threads. Keys whose input was slow share one
 * thread, so that they do not delay other keys.
 */
@Injectable()
export class WorkThreads implements OnApplicationShutdown {
  readonly #lanes: Record<TaskLimits['lane'], Lane>;

  /** @param start starts a process; default: the program that works */
  constructor(
    @Optional() private readonly limits: WorkLimits = WORK_LIMITS,
    @Optional() start?: StartProcess,
  ) {
    const measured = () => this.#compare();
    this.#lanes = {
      short: new Lane(limits.short, measured, start),
      long: new Lane(limits.long, measured, start),
    };
  }

  /**
   * Runs a task for one input.
   * @param key owner of the work: an account, or a client address
   * @param input plain data, or a function that loads it. The function is called once the call is
   *   admitted, so that no large input waits
   * @throws {WorkLimitError}
   * @throws {TaskFailedError} with the error that the task's function threw
   */
  async run<Input, Output>(
    task: Task<Input, Output>,
    key: string,
    input: Input | (() => Promise<Input>),
    { patient = false }: RunOptions = {},
  ): Promise<Output> {
    const lane = this.#lanes[task.limits.lane];
    const leave = lane.enter(key, patient);
    try {
      const loaded = typeof input === 'function' ? await (input as () => Promise<Input>)() : input;
      const [result] = await lane.runAll(task, key, [loaded], patient);
      if (!result) throw new WorkLimitError('closed');
      if ('error' in result) throw result.error;
      return result.output;
    } finally {
      leave();
    }
  }

  /**
   * Runs a task for many inputs. An input that hits a limit does not affect the others.
   * @returns results in the order of the inputs
   * @throws {WorkLimitError} `busy` or `closed`
   */
  async runAll<Input, Output>(
    task: Task<Input, Output>,
    key: string,
    inputs: readonly Input[],
    { patient = false }: RunOptions = {},
  ): Promise<WorkResult<Output>[]> {
    if (inputs.length === 0) return [];
    const lane = this.#lanes[task.limits.lane];
    const leave = lane.enter(key, patient);
    try {
      return await lane.runAll(task, key, inputs, patient);
    } finally {
      leave();
    }
  }

  /** Ends all threads. Work that has no result yet fails with `closed`. */
  async close(): Promise<void> {
    await Promise.all([this.#lanes.short.close(), this.#lanes.long.close()]);
  }

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  /** Ends the runner that uses most if all together use more than they may. */
  #compare(): void {
    const { togetherMb } = this.limits;
    const runners = [...this.#lanes.short.runners, ...this.#lanes.long.runners];
    const usedMb = runners.reduce((sum, runner) => sum + runner.usedMb, 0);
    if (usedMb <= togetherMb) return;
    const [largest] = runners.toSorted((one, other) => other.usedMb - one.usedMb);
    void largest?.end('memory', `all threads together used more than ${togetherMb} MB`);
  }
}
