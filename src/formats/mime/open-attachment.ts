import { task } from '../../platform/threads/task.ts';
import type { WorkThreads } from '../../platform/threads/work-threads.ts';

const MB = 2 ** 20;
const READ = task<typeof import('./attachment-at.ts')>()(
  import.meta.url,
  './attachment-at',
  'attachmentAt',
  {
    lane: 'short',
    timeMs: 4_000,
    timeMsPerMb: 250,
    inputBytes: 64 * MB,
    outputBytes: 64 * MB,
  },
);

/**
 * Extracts an attachment from a message, in a worker thread.
 * @param position position of the file, as in `sortParts`
 * @returns `null` if there is no such attachment
 * @throws {WorkLimitError} if the message costs too much time or memory, or too much other work
 *   is waiting
 */
export async function openAttachment(
  threads: WorkThreads,
  accountId: string,
  mime: Buffer,
  position: number,
): Promise<Buffer | null> {
  const content = await threads.run(READ, accountId, { mime, position });
  return content && Buffer.from(content.buffer, content.byteOffset, content.byteLength);
}
