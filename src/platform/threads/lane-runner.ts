import type { Runner, WorkItem } from './runner.ts';
import { type WorkLimit, WorkLimitError } from './work-errors.ts';
import { type ProcessMemory, type StartProcess, WorkProcess } from './work-process.ts';
import { type ThreadMemory, WorkThread } from './work-thread.ts';

/** A thread without work ends after this. */
const IDLE_MS = 30_000;
/** Other keys get the thread after this, even if more inputs of the same call are left. */
const TIME_SLICE_MS = 500;
/**
 * An input that took this long makes its key slow for a while, as an input that hit a limit does.
 */
const SLOW_MS = 1_000;

/** Inputs of one key that wait for a thread or process. */
export interface Call {
  key: string;
  patient: boolean;
  /** Items that no thread has begun, in order. */
  items: WorkItem[];
}

/** How a runner reports to its lane. */
export interface LaneEvents {
  othersWait(): boolean;
  slow(key: string): void;
  /** The time slice of a call is over. Its remaining items wait for the next slice. */
  over(call: Call): void;
  measured(): void;
  /** The runner has ended. */
  ended(): void;
}

/** A thread or process of a lane, which works on one call at a time. */
export class LaneRunner {
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
