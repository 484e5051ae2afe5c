import type { ConferencingKind, ConferencingPort } from './conferencing-port.ts';

/** Finds the driver of a kind of conferencing service. */
export class ConferencingDrivers {
  readonly #drivers: ReadonlyMap<string, ConferencingPort>;

  /** @throws {Error} when two are of one kind */
  constructor(drivers: readonly ConferencingPort[]) {
    this.#drivers = new Map(drivers.map((driver) => [driver.kind, driver]));
    if (this.#drivers.size < drivers.length) throw new Error('two drivers of one kind');
  }

  /** @throws {Error} for a kind there is none of: kinds are a closed list */
  require(kind: ConferencingKind): ConferencingPort {
    const driver = this.#drivers.get(kind);
    if (!driver) throw new Error(`no driver of the kind ${kind}`);
    return driver;
  }
}
