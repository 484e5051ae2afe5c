import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** What a watch has seen. */
export interface Watched {
  /** The slowest answer of all. Milliseconds. */
  longestMs: number;
  /** The slowest answer by name of the target. Milliseconds. */
  longest: Record<string, number>;
  /** How many answers came, by name of the target. */
  answers: Record<string, number>;
  /** The most resident memory of the process and its children together. 0 on systems without /proc. */
  highestRssMb: number;
  /** Answers other than 200, and requests without an answer. */
  failures: string[];
}

/** Slowest answer that a test allows. Twice what docs/security/threat-model.md promises: tests share two cores. */
export const LONGEST_ANSWER_MS = 2_000;
/** Most resident memory that a test allows. */
export const HIGHEST_RSS_MB = 700;

/** What to ask, over and over. */
export interface WatchTarget {
  name: string;
  url: string;
  headers?: Record<string, string>;
}

/**
 * Asks each target every 50 ms, from a thread of its own, and weighs a process, until the returned function is called.
 * That function waits for answers that are still to come (120 s at most).
 */
export function watch(pid: number, targets: readonly WatchTarget[]): () => Promise<Watched> {
  const thread = new Worker(new URL('./watch-thread.ts', import.meta.url), {
    workerData: { pid, targets: targets.map((target) => ({ headers: {}, ...target })) },
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const result = once(thread, 'message') as Promise<[Watched]>;
  // Reported by the one who stops the watch.
  result.catch(() => undefined);
  return async () => {
    thread.postMessage('stop', []);
    const [watched] = await result;
    await thread.terminate();
    return watched;
  };
}
