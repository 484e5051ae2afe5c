import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Where Linux keeps files in memory. */
const IN_MEMORY = '/dev/shm';
const NAME = 'carillon-tests-';
/** Bytes that must be free in that file system, and of memory beside the tests. */
const LEAST_FREE = 4 * 2 ** 30;

/**
 * Makes a folder in memory the one for temporary files (`TMPDIR`) of this process and of those that
 * it starts, until it ends. Tests make hundreds of databases with 850 files each, and a disk takes
 * several times the processor time that memory takes. Without Linux, or with less than 4 GiB free,
 * the temporary folder stays the usual one.
 */
export function keepTemporaryFilesInMemory(): void {
  if (!hasRoom()) return;
  removeLeftOver();
  const folder = path.join(IN_MEMORY, `${NAME}${process.pid}`);
  fs.mkdirSync(folder);
  // Servers of other users keep their files here, too, as in /tmp.
  fs.chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  process.on('exit', () =>
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 200 }),
  );
}

function hasRoom(): boolean {
  if (!fs.existsSync(IN_MEMORY)) return false;
  const { bavail, bsize } = fs.statfsSync(IN_MEMORY);
  return Math.min(bavail * bsize, os.freemem()) >= LEAST_FREE;
}

/** Removes the folders of runs that were killed. */
function removeLeftOver(): void {
  for (const name of fs.readdirSync(IN_MEMORY)) {
    const pid = name.startsWith(NAME) ? Number(name.slice(NAME.length)) : 0;
    if (pid > 0 && !fs.existsSync(`/proc/${pid}`))
      fs.rmSync(path.join(IN_MEMORY, name), { recursive: true, force: true });
  }
}
