import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { type TokenSource, withFreshTokens } from './fresh-tokens.ts';
import type { CalendarPort, Connector, ContactsPort, MailboxPort, MailPort, ParticipantMail } from './connector.ts'; // prettier-ignore
import type { ProviderName } from './provider-name.ts';

/**
 * The provider is known, but this version has no connector for it, or the connector lacks the
 * capability.
 */
export class UnsupportedProviderError extends DomainError {
  constructor(provider: string, capability: string) {
    super(
      'provider.unsupported',
      'invalid',
      `provider: "${provider}" does not support ${capability} in this version`,
    );
  }
}

/** The operator has turned this provider off: no account of it may be connected. */
export class TurnedOffProviderError extends DomainError {
  constructor(provider: string) {
    super(
      'provider.turned-off',
      'invalid',
      `provider: ${provider} is turned off on this server (its operator decides with SANDBOX)`,
      { betaType: 'grant.provider_not_supported' },
    );
  }
}

/** Finds the connector of a provider. */
export class ConnectorRegistry {
  readonly #connectors: Map<string, Connector>;
  readonly #tokens = new Map<string, TokenSource>();
  readonly #turnedOff = new Set<string>();

  constructor(connectors: readonly Connector[]) {
    this.#connectors = new Map(connectors.map((connector) => [connector.name, connector]));
  }

  /**
   * Replaces the connector of a provider with a custom one. Call it before the application starts.
   */
  replace(connector: Connector): void {
    const tokens = this.#tokens.get(connector.name);
    this.#connectors.set(connector.name, tokens ? withFreshTokens(connector, tokens) : connector);
  }

  /**
   * Sets the source of fresh access tokens for accounts of this provider that signed in by OAuth.
   * Call it once, before the first call to the connector.
   * @throws {Error} if the provider has a token source already
   */
  useTokens(provider: ProviderName, tokens: TokenSource): void {
    if (this.#tokens.has(provider)) throw new Error(`${provider} has a token source already`);
    this.#tokens.set(provider, tokens);
    const connector = this.#connectors.get(provider);
    if (connector) this.replace(connector);
  }

  /**
   * From now on accounts of this provider cannot be connected or sign in again. Connected accounts
   * keep working.
   */
  turnOff(provider: ProviderName): void {
    this.#turnedOff.add(provider);
  }

  /** Whether there is a connector for this provider, even if the operator has turned it off. */
  has(provider: string): boolean {
    return this.#connectors.has(provider);
  }

  /** Whether accounts of this provider may be connected. */
  isTurnedOn(provider: ProviderName): boolean {
    return this.#connectors.has(provider) && !this.#turnedOff.has(provider);
  }

  /** @throws {TurnedOffProviderError} if accounts of this provider must not be connected */
  assertTurnedOn(provider: string): void {
    if (this.#turnedOff.has(provider)) throw new TurnedOffProviderError(provider);
  }

  /** Connectors of the providers whose accounts may be connected. */
  connectable(): Connector[] {
    return this.all().filter(({ name }) => !this.#turnedOff.has(name));
  }

  all(): Connector[] {
    return [...this.#connectors.values()];
  }

  /** Closes the open connections of all connectors. The application's shutdown calls it. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.all().map(async (connector) => connector.close?.()));
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
  requireMailbox(provider: string): MailboxPort {
    const { mailbox } = this.require(provider);
    if (!mailbox) throw new UnsupportedProviderError(provider, 'changing mailboxes');
    return mailbox;
  }

  /** @throws {UnsupportedProviderError} */
  requireCalendar(provider: string): CalendarPort {
    const { calendar } = this.require(provider);
    if (!calendar) throw new UnsupportedProviderError(provider, 'calendars');
    return calendar;
  }

  /**
   * Who mails participants of events. `never` also for a provider without calendars.
   * @throws {UnsupportedProviderError}
   */
  participantMail(provider: string): ParticipantMail {
    return this.require(provider).calendar?.mailsParticipants ?? 'never';
  }

  /**
   * The address books of a provider, or `null` if it has none and contacts are stored only in
   * Carillon.
   * @throws {UnsupportedProviderError}
   */
  contacts(provider: string): ContactsPort | null {
    return this.require(provider).contacts ?? null;
  }
}
