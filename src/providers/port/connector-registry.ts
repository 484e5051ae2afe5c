import { allows, SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { DomainError, InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { type TokenSource, withFreshTokens } from './sign-in/fresh-tokens.ts';
import type { IntegrationDescriptor } from './sign-in/integration-descriptor.ts';
import type {
  CalendarPort,
  Connector,
  ContactsPort,
  DetectedProvider,
  MailboxPort,
  MailPort,
  ParticipantMail,
  Provider,
} from './connector.ts';

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
  constructor(provider: string, why: string) {
    super(
      'provider.turned-off',
      'invalid',
      `provider: ${provider} is turned off on this server (${why})`,
      { betaType: 'grant.provider_not_supported' },
    );
  }
}

/** A provider name and settings of a request, as the connector understands them. */
export interface NativeAccount {
  provider: string;
  settings: Readonly<Record<string, unknown>>;
}

/** A provider that can be registered, but whose accounts cannot be connected yet. */
export interface AnnouncedProvider extends Provider {
  readonly announced: true;
}

const isConnector = (provider: Connector | AnnouncedProvider): provider is Connector =>
  !('announced' in provider);

/** Finds the connector of a provider. */
export class ConnectorRegistry {
  readonly #providers: Map<string, Provider>;
  readonly #connectors: Map<string, Connector>;
  #tokens: TokenSource | null = null;

  /**
   * @param providers all providers, in the order in which texts list them
   */
  constructor(providers: readonly (Connector | AnnouncedProvider)[]) {
    this.#providers = new Map(providers.map((provider) => [provider.name, provider]));
    this.#connectors = new Map(
      providers.filter(isConnector).map((connector) => [connector.name, connector]),
    );
  }

  /**
   * Adds a provider that can be registered, but not connected. Call it before the application
   * starts.
   */
  announce(provider: AnnouncedProvider): void {
    this.#providers.set(provider.name, provider);
  }

  /**
   * Adds a connector, or replaces the one of the same provider. Call it before the application
   * starts.
   */
  replace(connector: Connector): void {
    this.#providers.set(connector.name, connector);
    this.#connectors.set(
      connector.name,
      this.#tokens && connector.oauth ? withFreshTokens(connector, this.#tokens) : connector,
    );
  }

  /**
   * Sets the source of fresh access tokens for accounts that signed in by OAuth. Call it once,
   * before the first call to a connector.
   * @throws {Error} if there is a token source already
   */
  useTokens(tokens: TokenSource): void {
    if (this.#tokens) throw new Error('there is a token source already');
    this.#tokens = tokens;
    for (const connector of this.all()) this.replace(connector);
  }

  /** Names of the providers that applications can have an integration for. */
  registrable(): string[] {
    return [...this.#providers.values()].flatMap(({ name, integration }) =>
      integration ? [name] : [],
    );
  }

  /**
   * What applications can register for a provider.
   * @returns `undefined` if the provider is not known, or has no integrations
   */
  integrationOf(provider: string): IntegrationDescriptor | undefined {
    return this.#providers.get(provider)?.integration;
  }

  /** Whether there is a connector for this provider, even if the operator has turned it off. */
  has(provider: string): boolean {
    return this.#connectors.has(provider);
  }

  /**
   * The connector of a provider that may be unknown.
   * @returns `undefined` if there is none
   */
  find(provider: string): Connector | undefined {
    return this.#connectors.get(provider);
  }

  /** @throws {TurnedOffProviderError} if accounts of this provider must not be connected */
  assertTurnedOn(provider: string): void {
    const why = this.#connectors.get(provider)?.turnedOff;
    if (why) throw new TurnedOffProviderError(provider, why);
  }

  /** Connectors of the providers whose accounts may be connected. */
  connectable(): Connector[] {
    return this.all().filter(({ turnedOff }) => !turnedOff);
  }

  /** The provider name that account objects show, such as `gmail`. */
  shownAs(provider: string): string {
    return this.#connectors.get(provider)?.accountProvider ?? provider;
  }

  /**
   * The provider that a filter names, by its own name or by the one that account objects show.
   * Other names of sign-ins, such as `yahoo`, stand for several providers and find none.
   * @throws {InvalidInputError} naming all providers
   */
  filtered(name: string): string {
    if (this.#providers.has(name)) return name;
    const shown = this.all().find(({ accountProvider }) => accountProvider === name);
    if (shown) return shown.name;
    const names = [...this.#providers.keys()].map((own) => {
      const other = this.shownAs(own);
      return other === own ? own : `${own} (or ${other})`;
    });
    throw new InvalidInputError(`provider: must be one of ${names.join(', ')}`);
  }

  /** Names that requests may use instead of a provider's own, such as `gmail`. */
  otherNames(): string[] {
    return [...new Set(this.connectable().flatMap(({ signIn }) => signIn?.names ?? []))];
  }

  /**
   * Connectors that serve a provider name of a request. The connector of that name comes first. The
   * others list it in `signIn.names`; they come in the order of the sign-in pages.
   */
  named(name: string): Connector[] {
    const others = this.connectable()
      .filter((connector) => connector.name !== name && connector.signIn?.names.includes(name))
      .toSorted((a, b) => (a.signIn?.order ?? 0) - (b.signIn?.order ?? 0));
    const own = this.#connectors.get(name);
    return own ? [own, ...others] : others;
  }

  /**
   * The provider of a native sign-in, and its settings. A name that no connector knows is returned
   * unchanged.
   * @throws {InvalidInputError} for settings that no provider can take
   */
  native(name: string, settings: Readonly<Record<string, unknown>>): NativeAccount {
    if (this.#connectors.has(name)) return { provider: name, settings };
    for (const connector of this.named(name)) {
      const taken = connector.nativeSettings?.(name, settings) ?? null;
      if (taken) return { provider: connector.name, settings: taken };
    }
    return { provider: name, settings };
  }

  /**
   * Detects the provider of an address, for ten seconds at most.
   * @returns `null` if it is not known
   */
  async detect(email: string): Promise<DetectedProvider | null> {
    for (const connector of this.connectable()) {
      const detected = await connector.detect?.(email);
      if (detected) return detected;
    }
    return null;
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

  /**
   * The ports of an account whose data can be read: those of its connector, without what its user
   * has not allowed at the provider.
   * @throws {UnsupportedProviderError}
   */
  readablePorts({
    provider,
    providerScopes,
  }: {
    provider: string;
    providerScopes?: readonly string[];
  }): Pick<Connector, 'mail' | 'calendar' | 'contacts'> {
    const { mail, calendar, contacts, oauth } = this.require(provider);
    const covered = (providerScopes && oauth?.covered(providerScopes)) ?? null;
    const { readPeopleOfMail, readCalendar, readContacts } = SCOPES_FOR;
    return {
      ...(mail && allows(covered, readPeopleOfMail) ? { mail } : {}),
      ...(calendar && allows(covered, readCalendar) ? { calendar } : {}),
      ...(contacts && allows(covered, readContacts) ? { contacts } : {}),
    };
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
