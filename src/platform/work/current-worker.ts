/**
 * The id of this process as a worker. Other modules store it with their own leases, which end when
 * the worker's heartbeat ends. The engine provides the id.
 */
export class CurrentWorker {
  #read: () => number = () => 0;

  /**
   * Id of the row in `worker` that this process currently keeps alive. 0 if there is none. Leases
   * under any other id are void.
   */
  get id(): number {
    return this.#read();
  }

  readFrom(read: () => number): void {
    this.#read = read;
  }
}
