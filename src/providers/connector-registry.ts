import { DomainError } from '../common/errors/domain-error.ts';
import type { CalendarPort, Connector, MailPort } from './connector.ts';

/** The provider is known, but this version has no connector for it, or the connector lacks the capability. */
export class UnsupportedProviderError extends DomainError {
  constructor(provider: string, capability: string) {
    super(
      'provider.unsupported',
      'invalid',
      `provider: "${provider}" does not support ${capability} in this version`,
    );
  }
}

/** Finds the connector of a provider. */
export class ConnectorRegistry {
  readonly #connectors: Map<string, Connector>;

  constructor(connectors: readonly Connector[]) {
    this.#connectors = new Map(connectors.map((connector) => [connector.name, connector]));
  }

  /**
   * Adds a connector of one's own, before the application starts.
   * @throws {Error} when the provider has one already
   */
  add(connector: Connector): void {
    if (this.#connectors.has(connector.name)) throw new Error(`two connectors for ${connector.name}`);
    this.#connectors.set(connector.name, connector);
  }

  /** Every connector there is. */
  all(): Connector[] {
    return [...this.#connectors.values()];
  }

  /** @throws {UnsupportedProviderError} */
  require(provider: string): Connector {
    const connector = this.#connectors.get(provider);
    if (!connector) throw new UnsupportedProviderError(provider, 'connecting accounts');
    return connector;
  }

  /** @throws {UnsupportedProviderError} */
  requireMail(provider: string): MailPort {
    const { mail } = this.require(provider);
    if (!mail) throw new UnsupportedProviderError(provider, 'mail');
    return mail;
  }

  /** @throws {UnsupportedProviderError} */
  requireCalendar(provider: string): CalendarPort {
    const { calendar } = this.require(provider);
    if (!calendar) throw new UnsupportedProviderError(provider, 'calendars');
    return calendar;
  }
}
