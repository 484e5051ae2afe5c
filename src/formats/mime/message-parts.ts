import { task } from '../../platform/threads/task.ts';
import type { WorkThreads } from '../../platform/threads/work-threads.ts';
import type { MessageParts } from './take-apart.ts';

export type * from './take-apart.ts';

const MB = 2 ** 20;
const TAKE_APART = task<typeof import('./take-apart.ts')>()(
  import.meta.url,
  './take-apart',
  'takeApart',
  {
    lane: 'short',
    timeMs: 4_000,
    timeMsPerMb: 250,
    inputBytes: 64 * MB,
    outputBytes: 64 * MB,
  },
);

/**
 * Takes a composed message apart, in a worker thread: for services that take large messages only
 * as fields and files.
 * @throws {TaskFailedError} if something of the message would be missing (`takeApart`)
 * @throws {WorkLimitError} if the message costs too much time or memory, or too much other work is
 *   waiting
 */
export function messageParts(
  threads: WorkThreads,
  accountId: string,
  mime: Buffer,
): Promise<MessageParts> {
  return threads.run(TAKE_APART, accountId, { mime });
}
