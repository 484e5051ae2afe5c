import { Injectable } from '@nestjs/common';
import { LockMode, UniqueConstraintViolationException } from '@mikro-orm/core';
import { EntityManager } from '@mikro-orm/postgresql';
import { Application } from '../applications/application.entity.ts';
import type { Scope } from '../../platform/auth/scopes.ts';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import type { Page } from '../../platform/database/listing.ts';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import { isEmptyChange } from '../../platform/base/empty-change.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { ProviderName } from '../../providers/port/provider-name.ts';
import { sealIntegrationSecrets } from './integration-secrets.ts';
import { ADDRESS_SETTINGS, checkOauthSettings } from './integration-oauth.ts';
import { Integration, type ShownSettings } from './integration.entity.ts';
import { IntegrationExistsError, IntegrationSettingsError } from './integrations.errors.ts';

/** Settings of an integration. Empty strings remove a setting. */
export interface IntegrationSettings {
  clientSecret?: string;
  /** All other settings, with their names in the API. Undefined ones stay as they are. */
  shown: Readonly<Partial<ShownSettings>>;
}

export interface NewIntegration {
  provider: ProviderName;
  name: string;
  settings: IntegrationSettings;
  redirectUris: readonly string[];
  /** Lifetime of a login request in seconds. */
  expiresIn: number;
  /** `null` for all. */
  scope: readonly Scope[] | null;
  /** Whether its accounts may be used only while their address is proven (ADR 0056). */
  requireProvenAddress: boolean;
}

/**
 * The fields that can be changed. Absent fields stay as they are; settings are changed one by one.
 */
export type IntegrationChange = Partial<Omit<NewIntegration, 'provider'>>;

/** Providers whose accounts authenticate through an application that is registered there. */
const OAUTH_PROVIDERS: readonly string[] = ['google', 'microsoft'] satisfies ProviderName[];

/** Settings that decide where the client secret is sent. */
const SECRET_GOES_TO = ['issuer', 'token_endpoint', 'revocation_endpoint'] as const;

/**
 * Integrations: the providers that applications have registered, one of each kind per application.
 */
@Injectable()
export class IntegrationsService {
  constructor(
    private readonly em: EntityManager,
    private readonly secretBox: SecretBox,
    private readonly egress: EgressPolicy,
    private readonly clock: Clock,
    private readonly connectors: ConnectorRegistry,
  ) {}

  /**
   * Integrations of the application, oldest first.
   * @param provider only the integration of this provider
   */
  list(applicationId: string, { limit, offset }: Page, provider?: string): Promise<Integration[]> {
    if (limit === 0) return Promise.resolve([]);
    const where = { application: applicationId, ...(provider ? { provider } : {}) };
    return this.em.fork().find(Integration, where, { orderBy: { id: 'asc' }, limit, offset });
  }

  /**
   * @param key provider name or id
   * @throws {NotFoundError}
   */
  get(applicationId: string, key: string): Promise<Integration> {
    return this.#find(this.em.fork(), applicationId, key);
  }

  /**
   * Registers a provider.
   * @throws {TurnedOffProviderError}
   * @throws {IntegrationExistsError} also if two requests race
   * @throws {InvalidInputError} if settings are missing, do not fit together, or contain a URL
   *   that the egress policy does not allow
   */
  async create(applicationId: string, input: NewIntegration): Promise<Integration> {
    this.connectors.assertTurnedOn(input.provider);
    const { settings, redirectUris, scope, ...columns } = input;
    const now = this.clock.now();
    try {
      return await this.em.transactional(async (em) => {
        const integration = em.create(Integration, {
          id: newId(),
          application: em.getReference(Application, applicationId),
          ...columns,
          settings: {},
          redirectUris: [...new Set(redirectUris)],
          scope: scope && [...scope],
          createdAt: now,
          updatedAt: now,
        });
        this.#applySettings(integration, settings);
        await em.flush();
        return integration;
      });
    } catch (error) {
      if (error instanceof UniqueConstraintViolationException)
        throw new IntegrationExistsError(input.provider);
      throw error;
    }
  }

  /**
   * Changes an integration.
   * @throws {NotFoundError}
   * @throws {InvalidInputError} same as `create`, also if a required setting would be removed
   */
  update(applicationId: string, key: string, change: IntegrationChange): Promise<Integration> {
    if (isEmptyChange(change)) return this.get(applicationId, key);
    return this.em.transactional(async (em) => {
      const integration = await this.#find(em, applicationId, key, LockMode.PESSIMISTIC_WRITE);
      const { settings, redirectUris, scope, name, expiresIn, requireProvenAddress } = change;
      if (name !== undefined) integration.name = name;
      if (expiresIn !== undefined) integration.expiresIn = expiresIn;
      if (redirectUris) integration.redirectUris = [...new Set(redirectUris)];
      if (requireProvenAddress !== undefined)
        integration.requireProvenAddress = requireProvenAddress;
      if (scope !== undefined) integration.scope = scope && [...scope];
      if (settings) this.#applySettings(integration, settings);
      integration.updatedAt = this.clock.now();
      await em.flush();
      return integration;
    });
  }

  /**
   * Removes the registration. Its grants stay connected, because they have their own credentials,
   * and they keep the scopes that their users have agreed to. Grants that signed in by OAuth get no
   * fresh tokens. New accounts cannot be connected until the provider is registered again.
   * @throws {NotFoundError}
   */
  remove(applicationId: string, key: string): Promise<void> {
    return this.em.transactional(async (em) => {
      await em.remove(await this.#find(em, applicationId, key)).flush();
    });
  }

  async #find(
    em: EntityManager,
    applicationId: string,
    key: string,
    lockMode?: LockMode.PESSIMISTIC_WRITE,
  ): Promise<Integration> {
    const where = { application: applicationId, ...(isId(key) ? { id: key } : { provider: key }) };
    const integration = key.includes('\0')
      ? null
      : await em.findOne(Integration, where, { lockMode });
    if (!integration) throw new NotFoundError('integration', key);
    return integration;
  }

  /**
   * Normalizes URLs. A URL that the egress policy does not allow is refused here rather than at the
   * first sign-in.
   */
  #checked(name: string, value: ShownSettings[string]): ShownSettings[string] {
    const isAddress = (ADDRESS_SETTINGS as readonly string[]).includes(name);
    return isAddress ? this.egress.normalizeUrl(String(value), `settings.${name}`) : value;
  }

  #applySettings(integration: Integration, { clientSecret, shown }: IntegrationSettings): void {
    const { id, provider } = integration;
    const settings: ShownSettings = { ...integration.settings };
    for (const [name, value] of Object.entries(shown)) {
      if (value === '') delete settings[name];
      else if (value !== undefined) settings[name] = this.#checked(name, value);
    }
    const moved = SECRET_GOES_TO.find(
      (name) => settings[name] && settings[name] !== integration.settings[name],
    );
    // The stored secret must not be sent to another server, so a new server needs the secret again.
    if (moved && clientSecret === undefined && integration.secretSettingsSealed) {
      throw new InvalidInputError(
        `settings.client_secret is required together with another ${moved}`,
        {
          missingFields: ['settings.client_secret'],
        },
      );
    }
    integration.settings = settings;
    checkOauthSettings(provider, integration.settings);
    if (clientSecret !== undefined) {
      integration.secretSettingsSealed = clientSecret
        ? sealIntegrationSecrets(this.secretBox, id, { client_secret: clientSecret })
        : null;
    }
    if (!OAUTH_PROVIDERS.includes(provider)) return;
    const missing = [
      ...(integration.settings['client_id'] ? [] : ['client_id']),
      ...(integration.secretSettingsSealed ? [] : ['client_secret']),
    ];
    if (missing.length > 0) throw new IntegrationSettingsError(provider, missing);
  }
}
