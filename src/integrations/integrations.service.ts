import { Injectable } from '@nestjs/common';
import { LockMode, UniqueConstraintViolationException } from '@mikro-orm/core';
import { EntityManager } from '@mikro-orm/postgresql';
import { Application } from '../applications/application.entity.ts';
import type { Scope } from '../auth/scopes.ts';
import { SecretBox } from '../common/crypto/secret-box.ts';
import { NotFoundError } from '../common/errors/domain-error.ts';
import type { Page } from '../common/http/pagination.schema.ts';
import { isId, newId } from '../common/ids/ids.ts';
import { Clock } from '../common/time/clock.ts';
import type { ProviderName } from '../providers/provider-name.ts';
import { sealIntegrationSecrets } from './integration-secrets.ts';
import { Integration } from './integration.entity.ts';
import { IntegrationExistsError, IntegrationSettingsError } from './integrations.errors.ts';

/** Settings of the provider application; empty strings count as absent. */
export interface IntegrationSettings {
  clientId?: string;
  clientSecret?: string;
  /** Directory of a microsoft application. */
  tenant?: string;
}

/** A new integration. */
export interface NewIntegration {
  provider: ProviderName;
  name: string;
  settings: IntegrationSettings;
  redirectUris: readonly string[];
  /** Seconds. */
  expiresIn: number;
  /** Null: all. */
  scope: readonly Scope[] | null;
}

/** What can be changed; absent: stays as it is. Settings are changed one by one. */
export type IntegrationChange = Partial<Omit<NewIntegration, 'provider'>>;

/** Providers whose accounts authenticate through an application registered there. */
const OAUTH_PROVIDERS: readonly string[] = ['google', 'microsoft'] satisfies ProviderName[];

/** Providers registered by applications, one of each kind per application. */
@Injectable()
export class IntegrationsService {
  constructor(
    private readonly em: EntityManager,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
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
   * @throws {IntegrationExistsError} also when two requests race
   * @throws {IntegrationSettingsError}
   */
  async create(applicationId: string, input: NewIntegration): Promise<Integration> {
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
   * @throws {IntegrationSettingsError} when a setting the provider needs would be emptied
   */
  update(applicationId: string, key: string, change: IntegrationChange): Promise<Integration> {
    return this.em.transactional(async (em) => {
      const integration = await this.#find(em, applicationId, key, LockMode.PESSIMISTIC_WRITE);
      const { settings, redirectUris, scope, name, expiresIn } = change;
      if (name !== undefined) integration.name = name;
      if (expiresIn !== undefined) integration.expiresIn = expiresIn;
      if (redirectUris) integration.redirectUris = [...new Set(redirectUris)];
      if (scope !== undefined) integration.scope = scope && [...scope];
      if (settings) this.#applySettings(integration, settings);
      integration.updatedAt = this.clock.now();
      await em.flush();
      return integration;
    });
  }

  /**
   * Removes the registration. Grants made through it stay connected: their credentials are their own, and they keep
   * the scopes their users have agreed to. New ones cannot be made until the provider is registered again.
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
    const integration = key.includes('\0') ? null : await em.findOne(Integration, where, { lockMode });
    if (!integration) throw new NotFoundError('integration', key);
    return integration;
  }

  #applySettings(integration: Integration, { clientId, clientSecret, tenant }: IntegrationSettings): void {
    const { id, provider } = integration;
    const shown = { ...integration.settings };
    if (clientId !== undefined) shown['client_id'] = clientId;
    if (tenant !== undefined) shown['tenant'] = tenant;
    integration.settings = Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== ''));
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
