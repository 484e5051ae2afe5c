import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { type Call, type LaneEvents, LaneRunner } from './lane-runner.ts';
import type { WorkItem, WorkResult } from './runner.ts';
import { sizeOf } from './size-of.ts';
import type { Task } from './task.ts';
import { WorkLimitError } from './work-errors.ts';
import type { ProcessMemory, StartProcess } from './work-process.ts';
import type { ThreadMemory } from './work-thread.ts';

/** How long a key stays slow after an input that was slow or hit a limit. */
const SLOW_FOR_MS = 60_000;

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

/** The threads or processes of one lane, and its queue. */
export class Lane {
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
