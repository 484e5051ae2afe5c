import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  reachSocket,
  type SocketAccess,
} from '../../platform/database/embedded/embedded-access.ts';
import { EmbeddedPostgresError } from '../../platform/database/embedded/embedded-postgres.ts';

const PATIENCE_MS = 15_000;
const STATUS_LINE = 7;

/**
 * Connection data of the embedded server that another process runs in `folder`. Waits up to 15
 * seconds while that server is starting.
 * @throws {EmbeddedPostgresError} if no server is ready by then
 */
export async function runningServer(folder: string): Promise<SocketAccess> {
  const pidFile = path.join(folder, 'postmaster.pid');
  for (let waited = 0; waited < PATIENCE_MS; waited += 50) {
    const lines = fs.existsSync(pidFile) ? fs.readFileSync(pidFile, 'utf8').split('\n') : [];
    // PostgreSQL writes its state into this file (storage/pid.h of its sources).
    if (lines[STATUS_LINE]?.trim() === 'ready') return reachSocket(folder);
    await delay(50);
  }
  throw new EmbeddedPostgresError(
    `The database in ${folder} did not become ready within 15 seconds.`,
  );
}
