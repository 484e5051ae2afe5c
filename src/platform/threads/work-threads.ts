import { Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { sizeOf } from './size-of.ts';
import type { Task, TaskLimits } from './task.ts';
import type { Runner, WorkItem, WorkResult } from './runner.ts';
import { type WorkLimit, WorkLimitError } from './work-errors.ts';
import { type ProcessMemory, type StartProcess, WorkProcess } from './work-process.ts';
import { type ThreadMemory, WorkThread } from './work-thread.ts';

/** How many threads or processes a lane has, and how much work may wait for them. */
export interface LaneLimits {
  runners: number;
  /** Memory of each. With `residentMb` they are processes, otherwise threads. */
  memory: ThreadMemory | ProcessMemory;
  /** Maximum number of waiting requests. Patient work does not count. */
  waiting: number;
  /** Maximum number of requests of one key that wait or run. */
  perKey: number;
}

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
/** A thread without work ends after this. */
const IDLE_MS = 30_000;
/** Other keys get the thread after this, even if more inputs of the same call are left. */
const TIME_SLICE_MS = 500;
/**
 * An input that took this long makes its key slow for a while, as an input that hit a limit does.
 */
const SLOW_MS = 1_000;
const SLOW_FOR_MS = 60_000;
export interface RunOptions {
  /**
   * Whether the call waits as long as it takes. Only for callers that limit how much they ask for
   * at a time. Default: false.
   */
  patient?: boolean;
}

interface Call {
  key: string;
  patient: boolean;
  /** Items that no thread has begun, in order. */
  items: WorkItem[];
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

/** The threads or processes of one lane, and its queue. */
class Lane {
  readonly #queue: Call[] = [];
  readonly #runners = new Set<LaneRunner>();
  /** Number of calls that are not patient, by key. */
  readonly #calls = new KeyedCount();
  #callCount = 0;
  /** When each key last got a thread, as a growing number. */
  readonly #served = new Map<string, number>();
  #servings = 0;
  /** Until when a key is slow, on the clock of `performance`. */
  readonly #slow = new Map<string, number>();
  #closed = false;

  /** @param measured called when `usedMb` of a runner has changed */
  constructor(
    private readonly limits: LaneLimits,
    private readonly measured: () => void,
    private readonly startProcess?: StartProcess,
  ) {}

  get runners(): readonly LaneRunner[] {
    return [...this.#runners];
  }

  /** @returns a function to call when the call is over */
  enter(key: string, patient: boolean): () => void {
    if (this.#closed) throw new WorkLimitError('closed');
    if (patient) return () => undefined;
    const { perKey, runners, waiting } = this.limits;
    if (this.#calls.get(key) >= perKey || this.#callCount >= runners + waiting)
      throw new WorkLimitError('busy');
    this.#calls.add(key, 1);
    this.#callCount += 1;
    return () => {
      this.#callCount -= 1;
      this.#calls.add(key, -1);
    };
  }

  async runAll<Input, Output>(
    task: Task<Input, Output>,
    key: string,
    inputs: readonly Input[],
    patient: boolean,
  ): Promise<WorkResult<Output>[]> {
    const items: WorkItem[] = [];
    const results = inputs.map((input): Promise<WorkResult<Output>> => {
      const bytes = sizeOf(input, task.limits.inputBytes);
      if (bytes > task.limits.inputBytes)
        return Promise.resolve({ error: new WorkLimitError('size') });
      return new Promise<WorkResult<Output>>((resolve) =>
        items.push({
          task: task as Task<unknown, unknown>,
          input,
          bytes,
          settle: (result) => resolve(result as WorkResult<Output>),
        }),
      );
    });
    if (items.length > 0) this.#enqueue({ key, patient, items });
    return Promise.all(results);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const call of this.#queue.splice(0)) refuse(call.items, 'closed');
    await Promise.all(this.runners.map((runner) => runner.end('closed')));
  }

  #enqueue(call: Call): void {
    if (this.#closed) return refuse(call.items, 'closed');
    if (call.items.length > 0) this.#queue.push(call);
    this.#schedule();
  }

  #schedule(): void {
    for (;;) {
      const at = this.#nextCall();
      const call = at === -1 ? undefined : this.#queue[at];
      const runner = call && this.#runnerFor();
      if (!call || !runner) return;
      this.#queue.splice(at, 1);
      this.#served.set(call.key, ++this.#servings);
      runner.begin(call);
    }
  }

  /**
   * Returns an idle or a new runner. If the system has no memory or no process left for one, the
   * call waits for the runners that there are. Without any, all calls are refused as `busy`: none
   * of them would ever be begun.
   */
  #runnerFor(): LaneRunner | undefined {
    try {
      return this.#idleRunner() ?? this.#start();
    } catch (error) {
      if (this.#runners.size === 0)
        for (const { items } of this.#queue.splice(0)) refuse(items, 'busy', error);
      return undefined;
    }
  }

  /**
   * Index of the next call: among the keys that may use a thread, the one that has waited longest.
   * -1 if there is none.
   */
  #nextCall(): number {
    const most = Math.max(1, this.limits.runners - 1);
    const running = this.runners.flatMap(({ call }) => call?.key ?? []);
    const slow = running.filter((key) => this.#isSlow(key)).length;
    let best = -1;
    for (const [index, { key }] of this.#queue.entries()) {
      if (running.filter((other) => other === key).length >= most) continue;
      if (slow >= most && this.#isSlow(key)) continue;
      const other = this.#queue[best];
      if (!other || (this.#served.get(key) ?? 0) < (this.#served.get(other.key) ?? 0)) best = index;
    }
    if (this.#queue.length === 0) this.#served.clear();
    return best;
  }

  #isSlow(key: string): boolean {
    const until = this.#slow.get(key);
    if (until !== undefined && until <= performance.now()) this.#slow.delete(key);
    return this.#slow.has(key);
  }

  #idleRunner(): LaneRunner | undefined {
    return this.runners.find((runner) => runner.idle);
  }

  #start(): LaneRunner | undefined {
    if (this.#runners.size >= this.limits.runners) return undefined;
    const events: LaneEvents = {
      othersWait: () => this.#queue.length > 0,
      slow: (key) => this.#slow.set(key, performance.now() + SLOW_FOR_MS),
      over: (call) => this.#enqueue(call),
      measured: this.measured,
      ended: () => {
        this.#runners.delete(runner);
        this.#schedule();
      },
    };
    const runner: LaneRunner = new LaneRunner(this.limits.memory, events, this.startProcess);
    this.#runners.add(runner);
    return runner;
  }
}

function refuse(items: readonly WorkItem[], limit: 'busy' | 'closed', cause?: unknown): void {
  for (const item of items) item.settle({ error: new WorkLimitError(limit, cause) });
}

/** How a runner reports to its lane. */
interface LaneEvents {
  othersWait(): boolean;
  slow(key: string): void;
  /** The time slice of a call is over. Its remaining items wait for the next slice. */
  over(call: Call): void;
  measured(): void;
  /** The runner has ended. */
  ended(): void;
}

/** A thread or process of a lane, which works on one call at a time. */
class LaneRunner {
  readonly #runner: Runner;
  #since = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  call: Call | null = null;

  constructor(
    memory: ThreadMemory | ProcessMemory,
    private readonly events: LaneEvents,
    start?: StartProcess,
  ) {
    const reports = {
      settled: (ms: number) => this.#settled(ms),
      ended: (unsettled: WorkItem[], limit: WorkLimit, cause: unknown) =>
        this.#ended(unsettled, limit, cause),
      measured: () => this.events.measured(),
    };
    this.#runner =
      'residentMb' in memory
        ? new WorkProcess(memory, reports, start)
        : new WorkThread(memory, reports);
  }

  get idle(): boolean {
    return this.call === null && this.#runner.alive;
  }

  get usedMb(): number {
    return this.#runner.usedMb;
  }

  begin(call: Call): void {
    clearTimeout(this.#idleTimer);
    this.call = call;
    this.#since = performance.now();
    this.#feed(call);
  }

  end(limit: WorkLimit, cause?: unknown): Promise<void> {
    return this.#runner.end(limit, cause);
  }

  #feed(call: Call): void {
    const isOver = performance.now() - this.#since > TIME_SLICE_MS && this.events.othersWait();
    if (!isOver) this.#fill(call);
    if (this.#runner.pending > 0) return;
    this.call = null;
    this.#idleTimer = setTimeout(() => void this.#runner.end('closed'), IDLE_MS).unref();
    this.events.over(call);
  }

  #fill(call: Call): void {
    while (this.#runner.hasCapacity) {
      const item = call.items.shift();
      if (!item) return;
      try {
        this.#runner.post(item);
      } catch {
        // The item cannot be cloned: a mistake of the caller, which must not lose the other items.
        item.settle({ error: new WorkLimitError('crash') });
      }
    }
  }

  #settled(ms: number): void {
    const { call } = this;
    if (!call) return;
    if (ms > SLOW_MS) this.events.slow(call.key);
    this.#feed(call);
  }

  #ended(unsettled: WorkItem[], limit: WorkLimit, cause: unknown): void {
    clearTimeout(this.#idleTimer);
    const { call } = this;
    const [head, ...others] = unsettled;
    this.call = null;
    this.events.ended();
    if (!call) return;
    // `busy`: the process was not started, which is no fault of the input.
    if (limit !== 'busy') this.events.slow(call.key);
    head?.settle({ error: new WorkLimitError(limit, cause) });
    this.events.over({ ...call, items: [...others, ...call.items] });
  }
}
