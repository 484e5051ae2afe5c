import { Worker } from 'node:worker_threads';
import { DomainError } from '../../common/errors/domain-error.ts';

/** How a pool works. */
export interface PoolOptions {
  /** What the threads run. */
  script: URL;
  /** Threads at most; they start when there is work. */
  threads: number;
  /** Pieces of work that wait at most. */
  waiting: number;
  /** Places, working and waiting, that one key has at most. */
  perKey: number;
  /** Longest time for one piece, in milliseconds; then its thread is ended. */
  limitMs: number;
  /** JavaScript heap of a thread, in megabytes. */
  heapMb: number;
}

/** A thread that has nothing to do ends after this. */
const IDLE_MS = 60_000;
const RETRY_AFTER_SECONDS = 5;

/** The work took longer than it may, or its thread did not survive it. */
export class WorkFailedError extends DomainError {
  constructor(cause: unknown) {
    super(
      'neural.failed',
      'unavailable',
      'This could not be worked out: it takes more time or memory than there is for one request',
      { cause },
    );
  }
}

/** Threads for heavy work: few, with limits of time and memory, and with a queue that has an end. */
export class ThreadPool<Request, Reply> {
  readonly #options: PoolOptions;
  readonly #idle: PoolThread<Request, Reply>[] = [];
  readonly #all = new Set<PoolThread<Request, Reply>>();
  readonly #queue: (() => void)[] = [];
  readonly #places = new Map<string, number>();
  /** Places that are taken, and threads that work. */
  #taken = 0;
  #busy = 0;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /**
   * Runs a piece of work when a thread is free.
   * @param key whose work it is
   * @param prepare makes the request once there is a place for it, so that nothing large waits outside the bounds;
   *   no thread waits for it
   * @throws {DomainError} `unavailable` when too much waits already
   * @throws {WorkFailedError}
   */
  async run(key: string, prepare: () => Promise<Request> | Request): Promise<Reply> {
    const taken = this.#places.get(key) ?? 0;
    const { perKey, threads, waiting } = this.#options;
    if (this.#closed || taken >= perKey || this.#taken >= threads + waiting)
      throw new DomainError('neural.busy', 'unavailable', 'Too many of these requests are being worked on: try again in a few seconds', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      }); // prettier-ignore
    this.#places.set(key, taken + 1);
    this.#taken += 1;
    try {
      const request = await prepare();
      await this.#enter();
      try {
        return await this.#work(request);
      } finally {
        this.#leave();
      }
    } finally {
      this.#taken -= 1;
      const left = (this.#places.get(key) ?? 1) - 1;
      if (left === 0) this.#places.delete(key);
      else this.#places.set(key, left);
    }
  }

  /** Ends every thread; work that was running fails. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#all].map((thread) => thread.end()));
  }

  async #enter(): Promise<void> {
    if (this.#busy < this.#options.threads) this.#busy += 1;
    // Whoever leaves hands the place on.
    else await new Promise<void>((enter) => this.#queue.push(enter));
  }

  #leave(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#busy -= 1;
  }

  async #work(request: Request): Promise<Reply> {
    if (this.#closed) throw new WorkFailedError('the server is stopping');
    let thread = this.#idle.pop();
    while (thread && !thread.alive) thread = this.#idle.pop();
    thread ??= this.#start();
    try {
      return await thread.ask(request);
    } finally {
      if (thread.alive) this.#idle.push(thread);
    }
  }

  #start(): PoolThread<Request, Reply> {
    const thread = new PoolThread<Request, Reply>(this.#options, () => this.#all.delete(thread));
    this.#all.add(thread);
    return thread;
  }
}

/** One thread; one piece of work at a time. */
class PoolThread<Request, Reply> {
  readonly #worker: Worker;
  readonly #limitMs: number;
  #settle: { resolve(reply: Reply): void; reject(error: Error): void } | null = null;
  #idleTimer: NodeJS.Timeout | undefined;
  alive = true;

  constructor({ script, heapMb, limitMs }: PoolOptions, onEnd: () => void) {
    this.#limitMs = limitMs;
    // What libraries print is not for the log: it may quote mail.
    this.#worker = new Worker(script, {
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
      stdout: true,
      stderr: true,
    });
    this.#worker.stdout.resume();
    this.#worker.stderr.resume();
    // Nobody waits for a thread when the process ends.
    this.#worker.unref();
    this.#worker.on('message', (reply: Reply) => this.#settle?.resolve(reply));
    this.#worker.on('error', (error: Error) => this.#fail(error));
    this.#worker.on('exit', () => {
      this.#fail(new Error('the thread ended'));
      clearTimeout(this.#idleTimer);
      onEnd();
    });
  }

  async ask(request: Request): Promise<Reply> {
    clearTimeout(this.#idleTimer);
    const limit = setTimeout(() => {
      this.#fail(new Error(`it took more than ${this.#limitMs} ms`));
      void this.end();
    }, this.#limitMs);
    try {
      return await new Promise<Reply>((resolve, reject) => {
        this.#settle = { resolve, reject };
        this.#worker.postMessage(request, []);
      });
    } catch (error) {
      throw new WorkFailedError(error);
    } finally {
      clearTimeout(limit);
      this.#settle = null;
      if (this.alive) this.#idleTimer = setTimeout(() => void this.end(), IDLE_MS).unref();
    }
  }

  async end(): Promise<void> {
    this.alive = false;
    clearTimeout(this.#idleTimer);
    await this.#worker.terminate();
  }

  #fail(error: Error): void {
    this.alive = false;
    this.#settle?.reject(error);
  }
}
