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
import { Clock } from '../../platform/base/time/clock.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { ProviderName } from '../../providers/port/provider-name.ts';
import { sealIntegrationSecrets } from './integration-secrets.ts';
import { ADDRESS_SETTINGS, checkOauthSettings } from './integration-oauth.ts';
import { Integration, type ShownSettings } from './integration.entity.ts';
import { IntegrationExistsError, IntegrationSettingsError } from './integrations.errors.ts';

/** Settings of an integration; empty strings count as absent. */
export interface IntegrationSettings {
  clientSecret?: string;
  /** All others, by their names on the wire; those that are undefined stay as they are. */
  shown: Readonly<Partial<ShownSettings>>;
}

export interface NewIntegration {
  provider: ProviderName;
  name: string;
  settings: IntegrationSettings;
  redirectUris: readonly string[];
  /** Seconds. */
  expiresIn: number;
  /** Null: all. */
  scope: readonly Scope[] | null;
  /** Whether its accounts may be used only while their address is proven (ADR 0056). */
  requireProvenAddress: boolean;
}

/** What can be changed; absent: stays as it is. Settings are changed one by one. */
export type IntegrationChange = Partial<Omit<NewIntegration, 'provider'>>;

/** Providers whose accounts authenticate through an application registered there. */
const OAUTH_PROVIDERS: readonly string[] = ['google', 'microsoft'] satisfies ProviderName[];

/** Where the client secret is sent to. */
const SECRET_GOES_TO = ['issuer', 'token_endpoint', 'revocation_endpoint'] as const;

/** Providers registered by applications, one of each kind per application. */
@Injectable()
export class IntegrationsService {
  constructor(
    private readonly em: EntityManager,
    private readonly secretBox: SecretBox,
    private readonly egress: EgressPolicy,
    private readonly clock: Clock,
    private readonly connectors: ConnectorRegistry,
  ) {}

  /** Oldest first. */
  list(applicationId: string, { limit, offset }: Page): Promise<Integration[]> {
    if (limit === 0) return Promise.resolve([]);
    return this.em
      .fork()
      .find(Integration, { application: applicationId }, { orderBy: { id: 'asc' }, limit, offset });
  }

  /**
   * @param key provider name or id
   * @throws {NotFoundError}
   */
  get(applicationId: string, key: string): Promise<Integration> {
    return this.#find(this.em.fork(), applicationId, key);
  }

  /**
   * @throws {TurnedOffProviderError}
   * @throws {IntegrationExistsError} also when two requests race
   * @throws {InvalidInputError} when settings are missing, do not fit together, or name an address that may not be asked
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
   * @throws {NotFoundError}
   * @throws {InvalidInputError} as `create`, also when a setting the provider needs would be emptied
   */
  update(applicationId: string, key: string, change: IntegrationChange): Promise<Integration> {
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
   * Removes the registration. Grants made through it stay connected: their credentials are their own, and they keep
   * the scopes their users have agreed to; those that have signed in by OAuth get no fresh tokens. New ones cannot be made
   * until the provider is registered again.
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

  /** Addresses as they are called: what may not be is refused now and not at the first sign-in. */
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
    // Nobody is shown the secret, so nobody has it sent to themselves either.
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
