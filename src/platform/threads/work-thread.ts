import { Worker } from 'node:worker_threads';
import {
  LOAD_MS,
  MOST_TIMES,
  moreThan,
  resultOf,
  type Runner,
  type RunnerEvents,
  timeLimitOf,
  type WorkItem,
} from './runner.ts';
import type { WorkReply, WorkRequest } from './task.ts';
import type { WorkLimit } from './work-errors.ts';

const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? './thread-main.ts' : './thread-main.js',
  import.meta.url,
);
const MB = 2 ** 20;
/** Shortest wait before the processor time is read again, in milliseconds. */
const LEAST_WAIT_MS = 20;
/** How often the buffers of a working thread are measured, in milliseconds. */
const MEASURE_MS = 100;
/** How many inputs a thread holds at a time, so that it need not wait for the next one. */
const AHEAD = 16;
const AHEAD_BYTES = 4 * MB;

/** Memory for young objects of a thread, in megabytes, besides its heap. */
const YOUNG_MB = 24;

/** Memory of a thread, in megabytes. */
export interface ThreadMemory {
  /** JavaScript heap: text and objects. */
  heapMb: number;
  /** Everything outside the heap that JavaScript can reach: files and pictures. */
  buffersMb: number;
}

/** One thread. */
export class WorkThread implements Runner {
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
  usedMb = 0;

  constructor(
    { heapMb, buffersMb }: ThreadMemory,
    private readonly events: RunnerEvents,
  ) {
    this.#buffersMb = buffersMb;
    this.#worker = new Worker(SCRIPT, {
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: YOUNG_MB },
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

  get pending(): number {
    return this.#items.length;
  }

  get hasCapacity(): boolean {
    const bytes = this.#items.reduce((sum, { item }) => sum + item.bytes, 0);
    return this.pending === 0 || (this.pending < AHEAD && bytes < AHEAD_BYTES);
  }

  post(item: WorkItem): void {
    const id = this.#nextId++;
    const { module, name, limits } = item.task;
    const [input, owned] = transferable(item.input);
    const request: WorkRequest = { id, module, name, input, outputBytes: limits.outputBytes };
    this.#worker.postMessage(request, owned);
    this.#items.push({ id, item });
    if (this.#items.length === 1) this.#watch(LOAD_MS);
  }

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
      const limitMs = timeLimitOf(head.item);
      this.#watch(limitMs * MOST_TIMES);
      this.#watchUse(limitMs, reply.usedMs);
      return;
    }
    const ms = performance.now() - this.#since;
    this.#items.shift();
    if (this.#items.length > 0) this.#watch(LOAD_MS);
    else this.#rest();
    head.item.settle(resultOf(reply));
    this.events.settled(ms);
  }

  #watch(limitMs: number): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#useTimer);
    this.#since = performance.now();
    this.#timer = setTimeout(() => void this.end('time', moreThan(limitMs)), limitMs);
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
      else await this.end('time', moreThan(limitMs));
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
    if (used === null || !this.alive) return;
    this.usedMb = (used.total_heap_size + used.external_memory) / MB;
    if (used.external_memory > this.#buffersMb * MB)
      return this.end('memory', `more than ${this.#buffersMb} MB of buffers`);
    this.events.measured();
  }

  #ended(): void {
    this.alive = false;
    this.#rest();
    const unsettled = this.#items.splice(0).map(({ item }) => item);
    const { limit, cause } = this.#ending ?? { limit: 'crash', cause: 'the thread ended' };
    this.events.ended(unsettled, limit, cause);
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
  const copies = Object.entries(input).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? new Uint8Array(value) : value,
  ]);
  const owned = copies.flatMap(([, value]) => (value instanceof Uint8Array ? [value.buffer] : []));
  return [Object.fromEntries(copies), owned as ArrayBuffer[]];
}
