import type { ConferencingKind, ConferencingPort } from './conferencing-port.ts';

/** Finds the driver of a kind of conferencing service. */
export class ConferencingDrivers {
  readonly #drivers: ReadonlyMap<string, ConferencingPort>;

  /** @throws {Error} if two drivers have the same kind */
  constructor(drivers: readonly ConferencingPort[]) {
    this.#drivers = new Map(drivers.map((driver) => [driver.kind, driver]));
    if (this.#drivers.size < drivers.length)
      throw new Error('two conferencing drivers of the same kind');
  }

  /** @throws {Error} if there is no driver of this kind; kinds are a closed list */
  require(kind: ConferencingKind): ConferencingPort {
    const driver = this.#drivers.get(kind);
    if (!driver) throw new Error(`no conferencing driver of the kind ${kind}`);
    return driver;
  }
}
