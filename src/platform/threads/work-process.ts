import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
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
import type { ProcessReply, ProcessRequest } from './task.ts';
import type { WorkLimit } from './work-errors.ts';

const SCRIPT = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? './process-main.ts' : './process-main.js',
    import.meta.url,
  ),
);

/** Memory of a process, in megabytes. */
export interface ProcessMemory {
  /** JavaScript heap of the thread that works. */
  heapMb: number;
  /** Everything: heap, buffers, WebAssembly and the program itself. */
  residentMb: number;
}

/**
 * Starts the program of a `WorkProcess`.
 * @throws {Error} if the system has no memory or no process left. Some of these errors are events
 *   of a process without a `pid` instead
 */
export type StartProcess = () => ChildProcess;

/** Starts the program in which untrusted input is read. */
export const startProcess: StartProcess = () =>
  fork(SCRIPT, {
    // Bytes arrive as bytes.
    serialization: 'advanced',
    // Code that reads untrusted input must not see the keys and passwords of the environment.
    env: {},
    // Options of this process, such as that of a debugger, are not meant for others.
    execArgv: [],
    // Libraries may print what they read, and mail does not belong in the log.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });

/** A process for one item. It ends with the item, so that nothing of the input stays in memory. */
export class WorkProcess implements Runner {
  readonly #child: ChildProcess;
  readonly #ended = Promise.withResolvers<void>();
  #item: WorkItem | null = null;
  #isTaken = false;
  #timer: NodeJS.Timeout | undefined;
  #since = 0;
  #ending: { limit: WorkLimit; cause: unknown } | null = null;
  alive = true;
  usedMb = 0;

  /** @throws {Error} if no process can be started */
  constructor(
    private readonly memory: ProcessMemory,
    private readonly events: RunnerEvents,
    start: StartProcess = startProcess,
  ) {
    this.#child = start();
    // The program may end while a process works.
    this.#child.unref();
    this.#child.channel?.unref();
    this.#child.on('message', (reply) => this.#take(reply as ProcessReply));
    this.#child.once('close', () => this.#close());
    this.#child.on('error', (error) => {
      const started = this.#child.pid !== undefined;
      void this.end(started ? 'crash' : 'busy', error);
      if (!started) this.#close();
    });
  }

  get pending(): number {
    return this.#item === null ? 0 : 1;
  }

  get hasCapacity(): boolean {
    return !this.#isTaken;
  }

  post(item: WorkItem): void {
    const { module, name, limits } = item.task;
    const work = { id: 0, module, name, input: item.input, outputBytes: limits.outputBytes };
    const request: ProcessRequest = { work, ...this.memory, timeMs: timeLimitOf(item) };
    this.#child.send(request);
    this.#item = item;
    this.#isTaken = true;
    this.#watch(LOAD_MS);
  }

  async end(limit: WorkLimit, cause?: unknown): Promise<void> {
    this.alive = false;
    this.#ending ??= { limit, cause };
    clearTimeout(this.#timer);
    this.#child.kill('SIGKILL');
    await this.#ended.promise;
  }

  #take(reply: ProcessReply): void {
    const item = this.#item;
    if (!item || !this.alive) return;
    switch (reply.kind) {
      case 'started':
        return this.#watch(timeLimitOf(item) * MOST_TIMES);
      case 'measured':
        this.usedMb = reply.usedMb;
        return this.events.measured();
      case 'limit':
        return void this.end(reply.limit, reply.cause);
      default:
        this.#item = null;
        void this.end('closed');
        item.settle(resultOf(reply));
        this.events.settled(performance.now() - this.#since);
    }
  }

  #watch(limitMs: number): void {
    clearTimeout(this.#timer);
    this.#since = performance.now();
    this.#timer = setTimeout(() => void this.end('time', moreThan(limitMs)), limitMs);
  }

  #close(): void {
    this.alive = false;
    clearTimeout(this.#timer);
    const unsettled = this.#item ? [this.#item] : [];
    this.#item = null;
    const { limit, cause } = this.#ending ?? { limit: 'crash', cause: 'the process ended' };
    this.#ended.resolve();
    this.events.ended(unsettled, limit, cause);
  }
}
