import { setTimeout as delay } from 'node:timers/promises';
import type { WorkerWorld } from './worker-world.ts';
import type { ServerProcess } from './server-process.ts';

/** Several servers of one world. Some die and are replaced, as a supervisor would do. */
export class Fleet {
  readonly #alive: ServerProcess[] = [];
  readonly #starting = new Set<Promise<void>>();
  #asked = 0;
  #killing: Promise<void> | null = null;
  #stopped = false;
  kills = 0;

  private constructor(
    private readonly world: WorkerWorld,
    private readonly size: number,
    private readonly environment: Record<string, string>,
  ) {}

  /** Starts the servers. Resolves when all of them listen. */
  static async start(
    world: WorkerWorld,
    size: number,
    environment: Record<string, string> = {},
  ): Promise<Fleet> {
    const fleet = new Fleet(world, size, environment);
    await Promise.all(Array.from({ length: size }, () => fleet.#start()));
    return fleet;
  }

  /** The next server that is up, in rotation, or `undefined` if none is. */
  next(): ServerProcess | undefined {
    return this.#alive[this.#asked++ % Math.max(1, this.#alive.length)];
  }

  /**
   * Kills a random server at an interval, like a power cut, and starts a replacement at once. While
   * half of the servers are still starting, the next kill waits. Otherwise a machine that starts
   * servers more slowly than they die would do nothing else.
   */
  beginKilling(everyMs: number): void {
    this.#killing = (async () => {
      while (!this.#stopped) {
        await delay(everyMs);
        if (this.#alive.length * 2 <= this.size) continue;
        await this.killOne();
      }
    })();
  }

  /** Kills a random server, like a power cut, and begins to start a replacement. */
  async killOne(): Promise<void> {
    const [victim] = this.#alive.splice(Math.floor(Math.random() * this.#alive.length), 1);
    await victim?.kill();
    this.kills += 1;
    const started: Promise<void> = this.#start().finally(() => this.#starting.delete(started));
    this.#starting.add(started);
  }

  async endKilling(): Promise<void> {
    this.#stopped = true;
    await this.#killing;
    await this.replaced();
  }

  /** Waits until every server that was killed has a replacement. */
  async replaced(): Promise<void> {
    await Promise.all(this.#starting);
  }

  /** Stops all servers in order. @returns their exit codes */
  async stop(): Promise<(number | null)[]> {
    await this.endKilling();
    return Promise.all(this.#alive.splice(0).map((server) => server.stop()));
  }

  async #start(): Promise<void> {
    this.#alive.push(await this.world.startServer(this.environment));
  }
}
