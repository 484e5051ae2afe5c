import { Injectable } from '@nestjs/common';
import { LockMode, UniqueConstraintViolationException } from '@mikro-orm/core';
import { EntityManager } from '@mikro-orm/postgresql';
import { Application } from '../applications/application.entity.ts';
import type { Scope } from '../../platform/auth/scopes.ts';
import { changedFields, recordAudit } from '../../platform/audit/record-audit.ts';
import { sqlOf } from '../../platform/database/orm-transactions.ts';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import type { Page } from '../../platform/database/listing.ts';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import { isEmptyChange } from '../../platform/base/empty-change.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { parseSettings } from '../../platform/wire/parse-settings.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import {
  type IntegrationProblem,
  PLAIN_INTEGRATION,
  type ShownSettings,
} from '../../providers/port/sign-in/integration-descriptor.ts';
import {
  type IntegrationSecrets,
  openIntegrationSecrets,
  sealIntegrationSecrets,
} from './integration-secrets.ts';
import { Integration } from './integration.entity.ts';
import { IntegrationExistsError, IntegrationSettingsError } from './integrations.errors.ts';
import { assertRegistrable } from './registrable-providers.ts';

/**
 * Settings of an integration with their names in the API, not validated yet. Empty texts remove a
 * setting; `null` leaves it as it is.
 */
export type GivenSettings = Readonly<Record<string, unknown>>;

export interface NewIntegration {
  provider: string;
  name: string;
  settings: GivenSettings;
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
   * @param name only the integration of this provider
   * @throws {InvalidInputError} for the name of an unknown provider
   */
  async list(
    applicationId: string,
    { limit, offset }: Page,
    name?: string,
  ): Promise<Integration[]> {
    const provider = name && this.connectors.filtered(name);
    if (limit === 0) return [];
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
   * @throws {InvalidInputError} if the provider cannot be registered
   * @throws {TurnedOffProviderError}
   * @throws {IntegrationExistsError} also if two requests race
   * @throws {InvalidInputError} if settings are missing, do not fit together, or contain a URL
   *   that the egress policy does not allow
   */
  async create(applicationId: string, input: NewIntegration): Promise<Integration> {
    assertRegistrable(this.connectors, input.provider);
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
        await record(em, applicationId, integration, 'create');
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
      await record(em, applicationId, integration, 'update', changedFields(change));
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
      const integration = await this.#find(em, applicationId, key);
      await em.remove(integration).flush();
      await record(em, applicationId, integration, 'remove');
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
   * Validates settings by the provider's rules and stores them. A URL that the egress policy does
   * not allow is refused here rather than at the first sign-in.
   */
  #applySettings(integration: Integration, given: GivenSettings): void {
    const { id, provider, secretSettingsSealed: sealed } = integration;
    const descriptor = this.connectors.integrationOf(provider) ?? PLAIN_INTEGRATION;
    const parsed = parseSettings(descriptor.settingsSchema, given);
    const settings: ShownSettings = { ...integration.settings };
    const stored = sealed ? openIntegrationSecrets(this.secretBox, id, sealed) : {};
    const secrets: Record<string, string> = { ...stored };
    for (const [name, value] of Object.entries(parsed)) {
      if (value === undefined || value === null) continue;
      const target: ShownSettings = descriptor.secrets.includes(name) ? secrets : settings;
      if (value === '') delete target[name];
      else if (descriptor.addresses.includes(name))
        target[name] = this.egress.normalizeUrl(String(value), `settings.${name}`);
      else target[name] = value as ShownSettings[string];
    }
    const moved = descriptor.secretsGoTo.find(
      (name) => settings[name] && settings[name] !== integration.settings[name],
    );
    const kept = Object.keys(stored).find((name) => (parsed[name] ?? undefined) === undefined);
    // The stored secret must not be sent to another server, so a new server needs the secret again.
    if (moved && kept) {
      throw new InvalidInputError(`settings.${kept} is required together with another ${moved}`, {
        missingFields: [`settings.${kept}`],
      });
    }
    assertComplete(descriptor.problem({ settings, secrets }));
    integration.settings = settings;
    integration.secretSettingsSealed = isEqual(secrets, stored)
      ? sealed
      : sealIntegrationSecrets(this.secretBox, id, secrets);
  }
}

/** @throws {InvalidInputError} */
function assertComplete(problem: IntegrationProblem | null): void {
  if (!problem) return;
  if ('missing' in problem) throw new IntegrationSettingsError(problem.for, problem.missing);
  throw new InvalidInputError(`settings.${problem.setting}: ${problem.text}`);
}

const isEqual = (a: IntegrationSecrets, b: IntegrationSecrets): boolean =>
  Object.keys({ ...a, ...b }).every((name) => a[name] === b[name]);

function record(
  em: EntityManager,
  applicationId: string,
  { id, provider }: Integration,
  what: 'create' | 'update' | 'remove',
  changed?: readonly string[],
): Promise<void> {
  return recordAudit(sqlOf(em), {
    action: `integration.${what}`,
    target: { type: 'integration', id },
    applicationId,
    details: { provider, ...(changed ? { changed } : {}) },
  });
}
