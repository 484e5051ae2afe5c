import { task } from '../../../platform/threads/task.ts';
import { TaskFailedError, WorkLimitError } from '../../../platform/threads/work-errors.ts';
import type { WorkThreads } from '../../../platform/threads/work-threads.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { DavAnswerTooLongError } from './dav-allowance.ts';
import { type DavServer, DAV_TEXTS } from './dav-fetch.ts';
import type { DavAnswer, DavHead } from './dav-xml.ts';

const MB = 2 ** 20;
/** A megabyte of an ordinary listing takes some 50 milliseconds. */
const READ = task<typeof import('./dav-xml.ts')>()(import.meta.url, './dav-xml', 'readDavXml', {
  lane: 'short',
  timeMs: 2_000,
  timeMsPerMb: 500,
  inputBytes: 34 * MB,
  outputBytes: 96 * MB,
});

/**
 * Parses the response of a DAV server in a worker thread.
 * @param isPatient true waits for a thread for as long as needed; false fails with `temporary` if
 *   the threads are busy
 * @throws {ProviderError} `rejected` if the XML cannot be read
 * @throws {DavAnswerTooLongError} if parsing takes too much time or memory: request less at a
 *   time
 */
export async function readDavAnswer(
  threads: WorkThreads,
  server: DavServer,
  text: string,
  head: DavHead,
  isPatient: boolean,
): Promise<DavAnswer> {
  const { what, setting } = DAV_TEXTS[server.kind];
  try {
    return await threads.run(
      READ,
      `${server.url} ${server.login.user}`,
      { text, head },
      { patient: isPatient },
    );
  } catch (error) {
    if (error instanceof WorkLimitError) {
      if (error.limit !== 'busy' && error.limit !== 'closed') throw new DavAnswerTooLongError();
      throw new ProviderError('temporary', error.message, { setting, cause: error });
    }
    if (!(error instanceof TaskFailedError) || error.errorName !== 'DavXmlError') throw error;
    const message = `The server of the ${what} sent XML that cannot be read: ${error.message}`;
    throw new ProviderError('rejected', message, { setting, cause: error });
  }
}
