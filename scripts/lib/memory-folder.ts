import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Where Linux keeps files in memory. */
const IN_MEMORY = '/dev/shm';
const NAME = 'carillon-tests-';
const LEAST_FREE = 4 * 2 ** 30;

/**
 * Makes a folder in memory the one for temporary files (`TMPDIR`) of this process and of those that
 * it starts, until it ends. Tests make hundreds of databases with 850 files each, and a disk takes
 * several times the processor time that memory takes. Without Linux, or with less than 4 GiB free,
 * the temporary folder stays the usual one.
 * @param parent a file system in memory
 * @param leastFree bytes that must be free in it and in memory
 */
export function keepTemporaryFilesInMemory(parent = IN_MEMORY, leastFree = LEAST_FREE): void {
  if (!hasRoom(parent, leastFree)) return;
  removeLeftOver(parent);
  const folder = path.join(parent, `${NAME}${process.pid}`);
  fs.mkdirSync(folder);
  // Servers of other users keep their files here, too, as in /tmp.
  fs.chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  process.on('exit', () =>
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 200 }),
  );
}

function hasRoom(parent: string, leastFree: number): boolean {
  if (!fs.existsSync(parent)) return false;
  const { bavail, bsize } = fs.statfsSync(parent);
  return Math.min(bavail * bsize, os.freemem()) >= leastFree;
}

/** Removes the folders of runs that were killed. */
function removeLeftOver(parent: string): void {
  for (const name of fs.readdirSync(parent)) {
    const pid = name.startsWith(NAME) ? Number(name.slice(NAME.length)) : 0;
    if (pid > 0 && !fs.existsSync(`/proc/${pid}`))
      fs.rmSync(path.join(parent, name), { recursive: true, force: true });
  }
}
