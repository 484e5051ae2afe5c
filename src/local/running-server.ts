import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedPostgresError } from '../database/embedded-postgres.ts';

const PATIENCE_MS = 15_000;
const PORT_LINE = 3;
const STATUS_LINE = 7;

/**
 * Address of the embedded server that another process runs in `folder`. Waits while that one is still starting.
 * @throws {EmbeddedPostgresError} when there is none after a while
 */
export async function runningServerUrl(folder: string): Promise<string> {
  const pidFile = path.join(folder, 'postmaster.pid');
  for (let waited = 0; waited < PATIENCE_MS; waited += 50) {
    const lines = fs.existsSync(pidFile) ? fs.readFileSync(pidFile, 'utf8').split('\n') : [];
    // PostgreSQL writes its port and its state into the file (storage/pid.h of its sources).
    if (lines[STATUS_LINE]?.trim() === 'ready') {
      return `postgresql://postgres@127.0.0.1:${lines[PORT_LINE]}/carillon`;
    }
    await delay(50);
  }
  throw new EmbeddedPostgresError(`The database in ${folder} does not become ready.`);
}
