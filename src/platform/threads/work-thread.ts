import { Worker } from 'node:worker_threads';
import type { Task, WorkReply, WorkRequest } from './task.ts';
import { TaskFailedError, type WorkLimit, WorkLimitError } from './work-errors.ts';

const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? './thread-main.ts' : './thread-main.js',
  import.meta.url,
);
/** Time to start a thread and to load the module of a task, in milliseconds. */
const LOAD_MS = 30_000;
const MB = 2 ** 20;
/**
 * A thread that has used less processor time than its limit ends after this many times the limit.
 */
const MOST_TIMES = 5;
/** Shortest wait before the processor time is read again, in milliseconds. */
const LEAST_WAIT_MS = 20;
/** How often the buffers of a working thread are measured, in milliseconds. */
const MEASURE_MS = 100;

/** Memory of a thread, in megabytes. */
export interface ThreadMemory {
  /** JavaScript heap: text and objects. */
  heapMb: number;
  /** Everything outside the heap that JavaScript can reach: files and pictures. */
  buffersMb: number;
}

export type WorkResult<Output> = { output: Output } | { error: WorkLimitError | TaskFailedError };

/** One input, its size, and the function that receives its result. */
export interface WorkItem {
  task: Task<unknown, unknown>;
  input: unknown;
  bytes: number;
  settle(result: WorkResult<unknown>): void;
}

/** One thread. It works on its items in the order in which they were posted. */
export class WorkThread {
  readonly #worker: Worker;
  readonly #items: { id: number; item: WorkItem }[] = [];
  readonly #buffersMb: number;
  #timer: NodeJS.Timeout | undefined;
  #useTimer: NodeJS.Timeout | undefined;
  #measuring: NodeJS.Timeout | undefined;
  #since = 0;
  #nextId = 0;
  #ending: { limit: WorkLimit; cause: unknown } | null = null;
  alive = true;

  /**
   * @param onSettled called when an item has its result, with the milliseconds it took
   * @param onEnd called when the thread has ended and its memory is free. The first item without
   *   a result is the one that hit the limit.
   */
  constructor(
    { heapMb, buffersMb }: ThreadMemory,
    private readonly onSettled: (ms: number) => void,
    private readonly onEnd: (unsettled: WorkItem[], limit: WorkLimit, cause: unknown) => void,
  ) {
    this.#buffersMb = buffersMb;
    this.#worker = new Worker(SCRIPT, {
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 24 },
      // Code that reads untrusted input must not see the keys and passwords of the environment.
      env: {},
      // Libraries may print what they read, and mail does not belong in the log.
      stdout: true,
      stderr: true,
    });
    this.#worker.stdout.resume();
    this.#worker.stderr.resume();
    // The process may end while a thread is idle.
    this.#worker.unref();
    this.#worker.on('message', (reply: WorkReply) => this.#take(reply));
    this.#worker.on('error', (error: NodeJS.ErrnoException) => {
      this.alive = false;
      this.#ending ??= {
        limit: error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'crash',
        cause: error,
      };
    });
    this.#worker.on('exit', () => this.#ended());
  }

  /** Number of items without a result. */
  get pending(): number {
    return this.#items.length;
  }

  /** Bytes of the items without a result. */
  get pendingBytes(): number {
    return this.#items.reduce((sum, { item }) => sum + item.bytes, 0);
  }

  /** Gives the thread another item. */
  post(item: WorkItem): void {
    const id = this.#nextId++;
    const { module, name, limits } = item.task;
    const [input, owned] = transferable(item.input);
    const request: WorkRequest = { id, module, name, input, outputBytes: limits.outputBytes };
    this.#worker.postMessage(request, owned);
    this.#items.push({ id, item });
    if (this.#items.length === 1) this.#watch(LOAD_MS);
  }

  /** Ends the thread, even while it works. */
  async end(limit: WorkLimit, cause?: unknown): Promise<void> {
    this.alive = false;
    this.#ending ??= { limit, cause };
    this.#rest();
    await this.#worker.terminate();
  }

  #take(reply: WorkReply): void {
    const [head] = this.#items;
    if (head?.id !== reply.id || !this.alive) return;
    if (reply.kind === 'started') {
      const { timeMs, timeMsPerMb = 0 } = head.item.task.limits;
      const limitMs = timeMs + (timeMsPerMb * head.item.bytes) / MB;
      this.#watch(limitMs * MOST_TIMES);
      this.#watchUse(limitMs, reply.usedMs);
      return;
    }
    const ms = performance.now() - this.#since;
    this.#items.shift();
    if (this.#items.length > 0) this.#watch(LOAD_MS);
    else this.#rest();
    if (reply.kind === 'done') head.item.settle({ output: reply.output });
    else if (reply.kind === 'tooLarge') head.item.settle({ error: new WorkLimitError('size') });
    else head.item.settle({ error: new TaskFailedError(reply.errorName, reply.message) });
    this.onSettled(ms);
  }

  #watch(limitMs: number): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#useTimer);
    this.#since = performance.now();
    this.#timer = setTimeout(
      () => void this.end('time', `more than ${Math.round(limitMs)} ms`),
      limitMs,
    );
    this.#measuring ??= setInterval(() => void this.#measure(), MEASURE_MS);
  }

  /**
   * Ends the thread when its first item has used this much processor time. A busy machine gives a
   * thread a part of the time that passes, which is no fault of the input.
   */
  #watchUse(limitMs: number, usedBeforeMs: number, waitMs = limitMs): void {
    clearTimeout(this.#useTimer);
    const [watched] = this.#items;
    this.#useTimer = setTimeout(async () => {
      const leftMs = limitMs + usedBeforeMs - (await this.#usedMs());
      if (!this.alive || this.#items[0] !== watched) return;
      if (leftMs > 0) this.#watchUse(limitMs, usedBeforeMs, Math.max(leftMs, LEAST_WAIT_MS));
      else await this.end('time', `more than ${Math.round(limitMs)} ms`);
    }, waitMs);
  }

  /** Processor time of the thread in milliseconds. Works while the thread is busy. */
  async #usedMs(): Promise<number> {
    try {
      const { user, system } = await this.#worker.cpuUsage();
      return (user + system) / 1000;
    } catch {
      // Before Node 24.6 threads do not report it, and the time that passes counts.
      return Infinity;
    }
  }

  /** Stops measuring, because the thread has no work. */
  #rest(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#useTimer);
    clearInterval(this.#measuring);
    this.#measuring = undefined;
  }

  /**
   * V8 limits the heap of a thread, but not its buffers: 1.5 MB of a PDF file became 1.5 GB of
   * them.
   */
  async #measure(): Promise<void> {
    // Works while the thread is busy. If the thread has ended, the call fails and `#ended` handles
    // it.
    const used = await this.#worker.getHeapStatistics().catch(() => null);
    if (used === null || !this.alive || used.external_memory <= this.#buffersMb * MB) return;
    await this.end('memory', `more than ${this.#buffersMb} MB of buffers`);
  }

  #ended(): void {
    this.alive = false;
    this.#rest();
    const unsettled = this.#items.splice(0).map(({ item }) => item);
    const { limit, cause } = this.#ending ?? { limit: 'crash', cause: 'the thread ended' };
    this.onEnd(unsettled, limit, cause);
  }
}

/**
 * Copies bytes once and transfers the copy to the thread. If the thread copied them itself, it
 * would copy all of the memory block they are part of.
 */
function transferable(input: unknown): [input: unknown, owned: ArrayBuffer[]] {
  if (input instanceof Uint8Array) {
    const copy = new Uint8Array(input);
    return [copy, [copy.buffer]];
  }
  if (
    typeof input !== 'object' ||
    input === null ||
    Object.getPrototypeOf(input) !== Object.prototype
  )
    return [input, []];
  const copies = Object.entries(input).map(([name, value]) => [name, value instanceof Uint8Array ? new Uint8Array(value) : value]); // prettier-ignore
  const owned = copies.flatMap(([, value]) => (value instanceof Uint8Array ? [value.buffer] : []));
  return [Object.fromEntries(copies), owned as ArrayBuffer[]];
}
