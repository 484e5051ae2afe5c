/**
 * This process as a worker. Other modules store its id with their own leases, which end when the
 * worker's heartbeat ends. The engine provides both values.
 */
export class CurrentWorker {
  #id: () => number = () => 0;
  #claims: () => boolean = () => false;

  /**
   * Id of the row in `worker` that this process currently keeps alive. 0 if there is none. Leases
   * under any other id are void.
   */
  get id(): number {
    return this.#id();
  }

  /**
   * Whether this process claims due rows now. False in processes without the role `worker`, and
   * while a worker stops or has no valid heartbeat.
   */
  get claims(): boolean {
    return this.#claims();
  }

  readFrom(id: () => number, claims: () => boolean = () => id() > 0): void {
    this.#id = id;
    this.#claims = claims;
  }
}
