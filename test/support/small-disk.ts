import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { onTestServer, type TestDatabase } from './test-database.ts';

/** A database on a disk of its own, which a test can fill. */
export interface SmallDisk {
  database: TestDatabase;
  /** Uses up the disk to its last block. */
  fill(): void;
  /** Frees what `fill` used. */
  free(): void;
  remove(): Promise<void>;
}

const MEGABYTES = 128;

/**
 * Moves a test database to a file system in memory of 128 MB.
 * @returns `null` if this user may not mount file systems, or the database server is on another
 *   machine
 */
export async function toSmallDisk(database: TestDatabase): Promise<SmallDisk | null> {
  const owner = await ownerOfServer();
  if (process.getuid?.() !== 0 || owner === null) return null;
  const disk = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${MEGABYTES}m,mode=755`, 'tmpfs', disk]);
  const location = path.join(disk, 'space');
  fs.chmodSync(disk, 0o755);
  fs.mkdirSync(location);
  fs.chownSync(location, owner.uid, owner.gid);
  const name = new URL(database.url).pathname.slice(1);
  const space = `space_${name}`;
  await onTestServer(async (client) => {
    await client.query(`create tablespace ${space} location '${location}'`);
    await client.query(`alter database ${name} set tablespace ${space}`);
  });
  const filler = path.join(disk, 'filler');
  return {
    database,
    fill: () => fillUp(filler),
    free: () => fs.rmSync(filler, { force: true }),
    async remove() {
      await database.drop();
      await onTestServer((client) => client.query(`drop tablespace ${space}`));
      execFileSync('umount', [disk]);
      fs.rmdirSync(disk);
    },
  };
}

/** User of the database server; `null` if it does not run on this machine. */
async function ownerOfServer(): Promise<fs.Stats | null> {
  let stats: fs.Stats | undefined;
  await onTestServer(async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    stats = fs.statSync(`/proc/${rows[0]?.pid}`, { throwIfNoEntry: false });
  });
  return stats ?? null;
}

function fillUp(filler: string): void {
  const block = Buffer.alloc(64 * 1024);
  const file = fs.openSync(filler, 'w');
  try {
    for (;;) fs.writeSync(file, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    fs.closeSync(file);
  }
}
