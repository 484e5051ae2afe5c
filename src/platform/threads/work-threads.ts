import { Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { sizeOf } from './size-of.ts';
import type { Task, TaskLimits } from './task.ts';
import { type WorkLimit, WorkLimitError } from './work-errors.ts';
import { type ThreadMemory, type WorkItem, type WorkResult, WorkThread } from './work-thread.ts';

/** How many threads a lane has, and what may wait for them. */
export interface LaneLimits extends ThreadMemory {
  threads: number;
  /** Requests that wait, at most. Patient work is not counted. */
  waiting: number;
  /** Requests of one key that wait or run, at most. */
  perKey: number;
}

/** Limits by lane. Small heaps: all threads and the process itself are to stay below 700 MB. */
const LANES: Record<TaskLimits['lane'], LaneLimits> = {
  // Two, on small machines too: one may be stuck with a bomb until its time is over.
  short: { threads: 2, heapMb: 112, buffersMb: 256, waiting: 100, perKey: 16 },
  long: { threads: 1, heapMb: 320, buffersMb: 384, waiting: 7, perKey: 3 },
};
/** A thread without work ends after this. */
const IDLE_MS = 30_000;
/** Other keys get the thread after this, even if more inputs of the same call are left. */
const TURN_MS = 500;
/** Input that took so long makes its key slow for a while, as input that hit a limit does. */
const SLOW_MS = 1_000;
const SLOW_FOR_MS = 60_000;
/** Inputs a thread holds at a time, so that it need not wait for the next one. */
const AHEAD = 16;
const AHEAD_BYTES = 4 * 2 ** 20;

export interface RunOptions {
  /** True: waits as long as it takes. Only for callers that bound how much they ask for at a time. Default false. */
  patient?: boolean;
}

interface Job {
  key: string;
  patient: boolean;
  /** Items that no thread has started, in order. */
  items: WorkItem[];
}

/**
 * Threads in which everything that strangers wrote is read: few for a process, with limits of time and memory. Calls with
 * the same key share a part of the threads, and keys whose input was slow share one, so that others go on.
 */
@Injectable()
export class WorkThreads implements OnApplicationShutdown {
  readonly #lanes: Record<TaskLimits['lane'], Lane>;

  constructor(@Optional() lanes: Record<TaskLimits['lane'], LaneLimits> = LANES) {
    this.#lanes = { short: new Lane(lanes.short), long: new Lane(lanes.long) };
  }

  /**
   * Does a piece of work.
   * @param key whose work it is: an account, or a client address
   * @param input plain data; a function is called once there is room for it, so that nothing large waits
   * @throws {WorkLimitError}
   * @throws {TaskFailedError} with what the task's function threw
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
   * Does the same work for many inputs. An input that hits a limit does not affect the others.
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
}

/** The threads and the queue of one lane. */
class Lane {
  readonly #queue: Job[] = [];
  readonly #threads = new Set<LaneThread>();
  /** Calls that are not patient, by key. */
  readonly #calls = new KeyedCount();
  #callCount = 0;
  /** When each key was last given a thread, as a number that grows. */
  readonly #served = new Map<string, number>();
  #turns = 0;
  /** Until when a key is slow, on the clock of `performance`. */
  readonly #slow = new Map<string, number>();
  #closed = false;

  constructor(private readonly limits: LaneLimits) {}

  /** @returns what to call when the call is over */
  enter(key: string, patient: boolean): () => void {
    if (this.#closed) throw new WorkLimitError('closed');
    if (patient) return () => undefined;
    const { perKey, threads, waiting } = this.limits;
    if (this.#calls.get(key) >= perKey || this.#callCount >= threads + waiting)
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
    for (const job of this.#queue.splice(0)) fail(job.items);
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  #enqueue(job: Job): void {
    if (this.#closed) return fail(job.items);
    if (job.items.length > 0) this.#queue.push(job);
    this.#schedule();
  }

  #schedule(): void {
    for (;;) {
      const at = this.#nextJob();
      const job = at === -1 ? undefined : this.#queue[at];
      const thread = job && (this.#idleThread() ?? this.#start());
      if (!job || !thread) return;
      this.#queue.splice(at, 1);
      this.#served.set(job.key, ++this.#turns);
      thread.begin(job);
    }
  }

  /** Index of the next job: of the keys that may use a thread, the one that has waited longest. -1 if there is none. */
  #nextJob(): number {
    const most = Math.max(1, this.limits.threads - 1);
    const running = [...this.#threads].flatMap(({ job }) => job?.key ?? []);
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

  #idleThread(): LaneThread | undefined {
    return [...this.#threads].find((thread) => thread.idle);
  }

  #start(): LaneThread | undefined {
    if (this.#threads.size >= this.limits.threads) return undefined;
    const thread: LaneThread = new LaneThread(this.limits, {
      othersWait: () => this.#queue.length > 0,
      slow: (key) => this.#slow.set(key, performance.now() + SLOW_FOR_MS),
      over: (job) => this.#enqueue(job),
      ended: () => {
        this.#threads.delete(thread);
        this.#schedule();
      },
    });
    this.#threads.add(thread);
    return thread;
  }
}

function fail(items: readonly WorkItem[]): void {
  for (const item of items) item.settle({ error: new WorkLimitError('closed') });
}

/** What a thread tells its lane. */
interface LaneEvents {
  othersWait(): boolean;
  slow(key: string): void;
  /** The turn of a job is over; what is left of it waits for the next one. */
  over(job: Job): void;
  /** The thread is gone. */
  ended(): void;
}

/** A thread of a lane, which works on one job at a time. */
class LaneThread {
  readonly #thread: WorkThread;
  #since = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  job: Job | null = null;

  constructor(
    memory: ThreadMemory,
    private readonly events: LaneEvents,
  ) {
    this.#thread = new WorkThread(
      memory,
      (ms) => this.#settled(ms),
      (unsettled, limit, cause) => this.#ended(unsettled, limit, cause),
    );
  }

  get idle(): boolean {
    return this.job === null && this.#thread.alive;
  }

  begin(job: Job): void {
    clearTimeout(this.#idleTimer);
    this.job = job;
    this.#since = performance.now();
    this.#feed(job);
  }

  async end(): Promise<void> {
    await this.#thread.end('closed');
  }

  #feed(job: Job): void {
    const isOver = performance.now() - this.#since > TURN_MS && this.events.othersWait();
    if (!isOver) this.#fill(job);
    if (this.#thread.pending > 0) return;
    this.job = null;
    this.#idleTimer = setTimeout(() => void this.#thread.end('closed'), IDLE_MS).unref();
    this.events.over(job);
  }

  #fill(job: Job): void {
    while (this.#hasRoom()) {
      const item = job.items.shift();
      if (!item) return;
      try {
        this.#thread.post(item);
      } catch {
        // Only what cannot be cloned: a mistake of the caller, and no reason to lose the other items.
        item.settle({ error: new WorkLimitError('crash') });
      }
    }
  }

  #hasRoom(): boolean {
    const { pending, pendingBytes } = this.#thread;
    return pending === 0 || (pending < AHEAD && pendingBytes < AHEAD_BYTES);
  }

  #settled(ms: number): void {
    const { job } = this;
    if (!job) return;
    if (ms > SLOW_MS) this.events.slow(job.key);
    this.#feed(job);
  }

  #ended(unsettled: WorkItem[], limit: WorkLimit, cause: unknown): void {
    clearTimeout(this.#idleTimer);
    const { job } = this;
    const [head, ...others] = unsettled;
    this.job = null;
    this.events.ended();
    if (!job) return;
    this.events.slow(job.key);
    head?.settle({ error: new WorkLimitError(limit, cause) });
    this.events.over({ ...job, items: [...others, ...job.items] });
  }
}
