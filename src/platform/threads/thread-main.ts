import { parentPort } from 'node:worker_threads';
import { sizeOf } from './size-of.ts';
import type { WorkReply, WorkRequest } from './task.ts';

/*
 * The program of every thread of `WorkThreads`. Node runs this file directly, in tests too. So this
 * file and the modules of tasks may import only files whose types Node itself can strip.
 */

type Work = (input: unknown) => unknown;
const LONGEST_MESSAGE = 500;
const loaded = new Map<string, Record<string, Work>>();

function post(reply: WorkReply): void {
  parentPort?.postMessage(reply, []);
}

async function load({ module, name }: WorkRequest): Promise<Work> {
  let exported = loaded.get(module);
  if (!exported) {
    exported = (await import(module)) as Record<string, Work>;
    loaded.set(module, exported);
  }
  const work = exported[name];
  if (!work) throw new Error(`${module} exports no ${name}`);
  return work;
}

async function answer(request: WorkRequest): Promise<WorkReply> {
  const { id, input, outputBytes } = request;
  try {
    const work = await load(request);
    const { user, system } = process.threadCpuUsage();
    post({ id, kind: 'started', usedMs: (user + system) / 1000 });
    const output = await work(input);
    return sizeOf(output, outputBytes) > outputBytes
      ? { id, kind: 'tooLarge' }
      : { id, kind: 'done', output };
  } catch (error) {
    const [errorName, message] =
      error instanceof Error ? [error.name, error.message] : ['Error', String(error)];
    return {
      id,
      kind: 'failed',
      errorName,
      message: message.slice(0, LONGEST_MESSAGE).toWellFormed(),
    };
  }
}

let last = Promise.resolve();
parentPort?.on('message', (request: WorkRequest) => {
  // Requests run one after another: the time of each is measured from the result of the one before.
  last = last.then(async () => post(await answer(request)));
});
