import { DomainError } from '../../../platform/base/errors/domain-error.ts';
import type { RelayTransport } from './relay.ts';

/** The kind of mailing service is known, but this server has no transport for it. */
export class UnsupportedRelayError extends DomainError {
  constructor(kind: string) {
    super('relay.unsupported', 'invalid', `kind: "${kind}" is not supported in this version`);
  }
}

/** Finds the transport of a kind of mailing service. */
export class RelayTransports {
  readonly #transports: ReadonlyMap<string, RelayTransport>;

  /** @throws {Error} if two transports have the same kind */
  constructor(transports: readonly RelayTransport[]) {
    this.#transports = new Map(transports.map((transport) => [transport.kind, transport]));
    if (this.#transports.size < transports.length)
      throw new Error('two relay transports of the same kind');
  }

  /** @throws {UnsupportedRelayError} */
  require(kind: string): RelayTransport {
    const transport = this.#transports.get(kind);
    if (!transport) throw new UnsupportedRelayError(kind);
    return transport;
  }
}
