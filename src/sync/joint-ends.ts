/** Longest time in milliseconds that the end of a pass waits for others. */
const LONGEST_WAIT_MS = 500;

/**
 * Lets passes of one process that have found nothing end together, so that the engine settles them
 * in one transaction. A commit costs PostgreSQL more than everything else that such a pass does.
 */
export class JointEnds {
  #running = 0;
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param most number of passes that end without waiting any longer */
  constructor(private readonly most: number) {}

  /**
   * Runs a pass. If it has found nothing, its end waits for the other passes that are running:
   * until `most` passes wait or no other one is running, for half a second at most.
   */
  async run<T>(pass: () => Promise<T>, hasFoundNothing: (result: T) => boolean): Promise<T> {
    this.#running += 1;
    try {
      const result = await pass();
      if (hasFoundNothing(result)) await this.#wait();
      return result;
    } finally {
      this.#running -= 1;
      this.#endIfReady();
    }
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#timer ??= setTimeout(() => this.#end(), LONGEST_WAIT_MS);
      this.#endIfReady();
    });
  }

  #endIfReady(): void {
    const { length } = this.#waiting;
    if (length >= this.most || length === this.#running) this.#end();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const end of this.#waiting.splice(0)) end();
  }
}
