import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { reachSocket } from '../../src/platform/database/embedded-access.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/database/embedded-postgres.ts';
import { migrate } from '../../src/app/migrate.ts';

/** A database server of its own that can crash and come back, with nothing switched off that keeps data safe. */
export interface CrashingPostgres {
  url: string;
  /** Where it listens. */
  socketPath: string;
  /** Ends it at once, without a checkpoint: it recovers from its log when it comes back. */
  crash(): Promise<void>;
  /** Starts it again, with the same data at the same address. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Starts one with the schema. */
export async function startCrashingPostgres(): Promise<CrashingPostgres> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-crash-'));
  // The server's account has to reach it.
  fs.chmodSync(folder, 0o755);
  const dataDir = path.join(folder, 'data');
  let server: EmbeddedPostgres = await startEmbeddedPostgres({ dataDir });
  const { url } = server;
  await migrate(url);
  return {
    url,
    socketPath: reachSocket(dataDir).path,
    async crash() {
      const [pid] = fs.readFileSync(path.join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
      process.kill(Number(pid), 'SIGQUIT');
      await server.stop();
    },
    async restart() {
      server = await startEmbeddedPostgres({ dataDir });
    },
    async close() {
      await server.stop();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}
