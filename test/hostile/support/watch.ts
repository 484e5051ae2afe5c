import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** The results of a watch. */
export interface Watched {
  /** The slowest response of all targets, in milliseconds. */
  longestMs: number;
  /** The slowest response by target name, in milliseconds. */
  longest: Record<string, number>;
  /** Number of responses by target name. */
  answers: Record<string, number>;
  /**
   * The most resident memory of the process and its children together, in MB. 0 on systems without
   * /proc.
   */
  highestRssMb: number;
  /** Responses other than 200, and requests without a response. */
  failures: string[];
}

/**
 * Slowest response that a test allows, in milliseconds. Twice the limit in
 * docs/security/threat-model.md, because tests share two cores.
 */
export const LONGEST_ANSWER_MS = 2_000;
/** Most resident memory that a test allows, in MB. */
export const HIGHEST_RSS_MB = 700;

/** A request that the watch repeats. */
export interface WatchTarget {
  name: string;
  url: string;
  headers?: Record<string, string>;
}

/**
 * Requests each target every 50 ms from its own thread and measures the memory of a process, until
 * the returned function is called. That function waits at most 120 s for responses that are still
 * missing.
 */
export function watch(pid: number, targets: readonly WatchTarget[]): () => Promise<Watched> {
  const thread = new Worker(new URL('./watch-thread.ts', import.meta.url), {
    workerData: { pid, targets: targets.map((target) => ({ headers: {}, ...target })) },
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const result = once(thread, 'message') as Promise<[Watched]>;
  // The function that stops the watch reports the error.
  result.catch(() => undefined);
  return async () => {
    thread.postMessage('stop', []);
    const [watched] = await result;
    await thread.terminate();
    return watched;
  };
}
