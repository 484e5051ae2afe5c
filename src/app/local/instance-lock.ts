import fs from 'node:fs';
import path from 'node:path';
import { OperatorError } from '../../platform/base/errors/operator-error.ts';

/** Another process uses the data folder. */
export class InstanceRunningError extends OperatorError {
  constructor(
    readonly pid: number,
    dataDir: string,
  ) {
    super(
      'refused',
      `Another Carillon (process ${pid}) uses ${dataDir}. Stop it, or give this one a folder of its own: DATA_DIR=.carillon-2`,
    );
  }
}

/**
 * When a process started, as the system counts. It distinguishes a process from a later one with
 * the same number.
 */
function startOf(pid: number): string {
  try {
    const fields =
      fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return fields[19] ?? '';
  } catch {
    return ''; // no /proc on this system: compare the number only
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const lockFile = (dataDir: string): string => path.join(dataDir, 'lock');

/** The process that has locked the folder, if it is still alive. */
export function lockHolder(dataDir: string): number | undefined {
  if (!fs.existsSync(lockFile(dataDir))) return undefined;
  const [pid = '', start = ''] = fs.readFileSync(lockFile(dataDir), 'utf8').trim().split(' ');
  const holder = Number(pid);
  const alive =
    Number.isInteger(holder) && holder > 0 && isAlive(holder) && startOf(holder) === start;
  return alive ? holder : undefined;
}

/**
 * Locks the data folder for this process. The lock of a dead process is replaced.
 * @returns a function that unlocks the folder
 * @throws {InstanceRunningError} at once, if a living process has locked it
 */
export function takeInstanceLock(dataDir: string): () => void {
  const file = lockFile(dataDir);
  const mine = `${process.pid} ${startOf(process.pid)}\n`;
  const draft = `${file}.${process.pid}`;
  fs.writeFileSync(draft, mine, { mode: 0o600 });
  try {
    for (;;) {
      try {
        // A hard link appears together with its content, so no process reads a half-written lock.
        fs.linkSync(draft, file);
        return () => fs.rmSync(file, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const holder = lockHolder(dataDir);
      if (holder !== undefined) throw new InstanceRunningError(holder, dataDir);
      fs.rmSync(file, { force: true });
    }
  } finally {
    fs.rmSync(draft, { force: true });
  }
}
