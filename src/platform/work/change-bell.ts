import { Logger } from '@nestjs/common';

/** Accounts whose log has grown; `all`: nobody knows which. */
export type Rung = readonly string[] | 'all';

/**
 * Tells whoever waits for changes of accounts that there are some, after their commit. It carries no changes: those
 * are read from the log. A ring that is lost costs a second, because waiting readers look by themselves.
 */
export class ChangeBell {
  readonly #log = new Logger(ChangeBell.name);
  readonly #listeners = new Set<(rung: Rung, elsewhere: boolean) => void>();

  /**
   * Does not throw.
   * @param elsewhere whether another process has written them, so that nobody else has to be told
   */
  ring(rung: Rung, elsewhere = false): void {
    for (const listener of this.#listeners) {
      try {
        listener(rung, elsewhere);
      } catch (error) {
        this.#log.error(error);
      }
    }
  }

  /** @returns a function that removes the listener */
  onRing(listener: (rung: Rung, elsewhere: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The one of this process: transactions anywhere in it ring it, and they know no injector. */
export const changeBell = new ChangeBell();
