import { writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { ProcessReply, ProcessRequest, WorkReply } from './task.ts';

/*
 * The program of a process of `WorkThreads`. It runs one request in a thread, and watches the
 * memory and the processor time of the whole process from its main thread, which stays free. Node
 * runs this file directly, in tests too, so it may import only files whose types Node itself can
 * strip.
 */

const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './thread-main.ts' : './thread-main.js',
  import.meta.url,
);
const MB = 2 ** 20;
/** Memory may grow by 1 MB in a millisecond. */
const WATCH_MS = 20;
/** Time for the last message to reach the parent, in milliseconds. */
const LAST_MESSAGE_MS = 1_000;

const send = (reply: ProcessReply): boolean => process.send?.(reply) ?? false;

/** Processor time of all threads of this process, in milliseconds. */
function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Makes the kernel end this process before its parent if the container has no memory left. */
function offerToEndFirst(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Only Linux has this file, and some sandboxes forbid to write it. The limits hold without it.
  }
}

function begin({ work, heapMb, residentMb, timeMs }: ProcessRequest): void {
  let startedMs = Infinity;
  const thread = new Worker(THREAD, {
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
    env: {},
  });
  const end = (limit: 'time' | 'memory' | 'crash', cause: string): void => {
    clearInterval(watching);
    send({ kind: 'limit', limit, cause });
    // The thread must not take more memory until the parent ends this process.
    void thread.terminate();
    setTimeout(() => process.exit(1), LAST_MESSAGE_MS);
  };
  const watching = setInterval(() => {
    const usedMb = process.memoryUsage.rss() / MB;
    send({ kind: 'measured', usedMb });
    if (usedMb > residentMb) end('memory', `more than ${residentMb} MB of memory`);
    else if (usedMs() - startedMs > timeMs) end('time', `more than ${Math.round(timeMs)} ms`);
  }, WATCH_MS);
  thread.on('message', (reply: WorkReply) => {
    if (reply.kind === 'started') startedMs = usedMs();
    send(reply);
  });
  thread.on('error', (error: NodeJS.ErrnoException) =>
    end(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'crash', String(error)),
  );
  thread.on('exit', () => end('crash', 'the thread ended'));
  thread.postMessage(work, []);
}

offerToEndFirst();
// The parent has ended, and the result is for the parent only.
process.once('disconnect', () => process.exit(1));
process.once('message', (request: ProcessRequest) => begin(request));
