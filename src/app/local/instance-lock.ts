import fs from 'node:fs';
import path from 'node:path';

/** Somebody else uses the data folder. */
export class InstanceRunningError extends Error {
  constructor(
    readonly pid: number,
    dataDir: string,
  ) {
    super(
      `Another Carillon (process ${pid}) uses ${dataDir}. Stop it, or give this one a folder of its own: DATA_DIR=.carillon-2`,
    );
    this.name = 'InstanceRunningError';
  }
}

/** When a process began, as the system counts; tells a process from a later one with the same number. */
function startOf(pid: number): string {
  try {
    const fields =
      fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return fields[19] ?? '';
  } catch {
    return ''; // no /proc here: the number alone has to do
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

/** The process that holds the folder, if it still lives. */
export function lockHolder(dataDir: string): number | undefined {
  if (!fs.existsSync(lockFile(dataDir))) return undefined;
  const [pid = '', start = ''] = fs.readFileSync(lockFile(dataDir), 'utf8').trim().split(' ');
  const holder = Number(pid);
  const alive =
    Number.isInteger(holder) && holder > 0 && isAlive(holder) && startOf(holder) === start;
  return alive ? holder : undefined;
}

/**
 * Takes the data folder for this process. A lock whose process has died counts for nothing.
 * @returns a function that gives it back
 * @throws {InstanceRunningError} at once, when a living process holds it
 */
export function takeInstanceLock(dataDir: string): () => void {
  const file = lockFile(dataDir);
  const mine = `${process.pid} ${startOf(process.pid)}\n`;
  const draft = `${file}.${process.pid}`;
  fs.writeFileSync(draft, mine, { mode: 0o600 });
  try {
    for (;;) {
      try {
        // A link appears with its content: nobody ever reads a lock that is half written.
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
