import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { reachSocket } from '../../src/platform/database/embedded/embedded-access.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/database/embedded/embedded-postgres.ts';
import { migrate } from '../../src/app/migrate.ts';

/** A database server that tests can crash and restart. All settings that keep data safe are on. */
export interface CrashingPostgres {
  url: string;
  /** Path of the socket on which the server listens. */
  socketPath: string;
  /**
   * Kills the server without a checkpoint. It recovers from its write-ahead log when it restarts.
   */
  crash(): Promise<void>;
  /** Starts the server again, with the same data at the same address. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a server whose database has the current schema. */
export async function startCrashingPostgres(): Promise<CrashingPostgres> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-crash-'));
  // The operating-system user of the server must be able to enter the folder.
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
