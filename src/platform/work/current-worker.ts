/**
 * This process as a worker, for modules that hold leases of their own which are to end with its heartbeat. The engine
 * says who it is.
 */
export class CurrentWorker {
  #read: () => number = () => 0;

  /** Row of `worker` that this process keeps alive at this moment; 0: none, and what was held under another one is void. */
  get id(): number {
    return this.#read();
  }

  readFrom(read: () => number): void {
    this.#read = read;
  }
}
