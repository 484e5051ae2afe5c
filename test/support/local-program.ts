import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { freePorts } from './mail-servers/processes.ts';
import { type RunningScript, startScript } from './npm-script.ts';

const LISTENS = /is listening on/;
/**
 * Time limit of a test that starts several processes one after the other, some of which create a
 * database: more than `until` waits.
 */
export const START_PATIENCE_MS = 300_000;

/** `npm start` in a folder of its own: one server after the other on the same data. */
export class LocalProgram {
  /** The server that was started last, until it has been stopped. */
  running: RunningScript | undefined;

  private constructor(
    /** Folder for data; `DATA_DIR` is `data` in it. */
    readonly folder: string,
    /** `DATA_DIR` and `PORT` of every start. */
    readonly environment: Readonly<Record<string, string>>,
    /** A port that nothing listens on. */
    readonly otherPort: string,
  ) {}

  static async prepare(): Promise<LocalProgram> {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-local-'));
    const [own, other] = await freePorts(2);
    const environment = { DATA_DIR: path.join(folder, 'data'), PORT: String(own) };
    return new LocalProgram(folder, environment, String(other));
  }

  /**
   * Starts the server. Resolves when it listens.
   * @param more variables beside `environment`, or in place of its own
   */
  async start(more: Readonly<Record<string, string>> = {}): Promise<RunningScript> {
    this.running = startScript('start', [], { ...this.environment, ...more });
    await this.running.printed(LISTENS);
    return this.running;
  }

  /** Ends the server. @returns its exit code, or `undefined` if none runs */
  async stop(signal: NodeJS.Signals): Promise<number | null | undefined> {
    this.running?.child.kill(signal);
    const ended = await this.running?.ended;
    this.running = undefined;
    return ended?.code;
  }

  /** Process id of the embedded PostgreSQL server. */
  databasePid(): number {
    const file = path.join(this.folder, 'data/postgres/postmaster.pid');
    return Number(fs.readFileSync(file, 'utf8').split('\n')[0]);
  }

  remove(): void {
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}
