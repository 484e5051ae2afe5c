import { Injectable } from '@nestjs/common';
import { ConnectionChecks } from '../../platform/egress/connection-checks.ts';
import { SecretBox, UnsealError } from '../../platform/base/crypto/secret-box.ts';
import {
  DomainError,
  InvalidInputError,
  NotFoundError,
} from '../../platform/base/errors/domain-error.ts';
import { parseSettings } from '../../platform/wire/parse-settings.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import {
  CONFERENCING_PROVIDERS,
  type ConferencingKind,
  type ConferencingProvider,
  type ConferencingSettings,
} from '../../providers/port/conferencing-port.ts';
import { ConferencingDrivers } from '../../providers/port/conferencing-registry.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { refusalOf, windowOf } from '../../platform/quotas/quota.ts';
import { Quotas } from '../../platform/quotas/quotas.ts';
import { conferencingSettingsContext } from './conferencing-secrets.ts';
import { isCounted } from './meetings.repository.ts';
import { toSettingsRefusal } from '../../providers/port/settings-refusal.ts';
import { ConferencingRepository, type StoredService } from './conferencing.repository.ts';

/** A conferencing service as its owner may see it again. */
export interface ServiceDescription extends Omit<StoredService, 'settingsSealed'> {
  /** Without the secret ones. */
  settings: ConferencingSettings;
}

export interface ConferencingRequest {
  provider: string;
  autocreate?: { settings: Readonly<Record<string, unknown>> };
}

/** Longer settings than any service has. */
const MOST_CHARACTERS = 16_000;

/** The services that make the meetings of applications' events, as their owners set them up. */
@Injectable()
export class ConferencingServices {
  constructor(
    private readonly repository: ConferencingRepository,
    private readonly drivers: ConferencingDrivers,
    private readonly secretBox: SecretBox,
    private readonly quotas: Quotas,
    private readonly clock: Clock,
    private readonly checks: ConnectionChecks,
  ) {}

  /** By name. @throws {DomainError} `unavailable` when no key of the server opens the settings of one */
  async list(applicationId: string): Promise<ServiceDescription[]> {
    const stored = await this.repository.list(applicationId);
    return stored.map((service) => this.#describe(service));
  }

  /** @throws {NotFoundError} @throws {DomainError} as `list` */
  async get(applicationId: string, id: string): Promise<ServiceDescription> {
    const stored = isId(id) ? await this.repository.get(applicationId, id) : undefined;
    if (!stored) throw new NotFoundError('conferencing service', id);
    return this.#describe(stored);
  }

  /**
   * Sets the service up, or replaces it, once it has accepted the settings.
   * @throws {InvalidInputError} when the kind is not for that name, settings are wrong, or the service refuses them
   * @throws {DomainError} `unavailable` when the service cannot be asked
   */
  async set(
    applicationId: string,
    provider: ConferencingProvider,
    kind: ConferencingKind,
    given: ConferencingSettings,
  ): Promise<ServiceDescription> {
    const driver = this.drivers.require(kind);
    if (!driver.providers.includes(provider))
      throw new InvalidInputError(`kind: ${kind} is for ${driver.providers.join(', ')} only`);
    const settings = parseSettings(driver.settingsSchema, given);
    if (JSON.stringify(settings).length > MOST_CHARACTERS)
      throw new InvalidInputError(`settings must not be longer than ${MOST_CHARACTERS} characters`);
    await this.checks
      .run({ applicationId }, () => driver.verify(settings))
      .catch((error: unknown) => {
        throw error instanceof ProviderError
          ? toSettingsRefusal(error, 'conferencing service', 'conferencing.unavailable')
          : error;
      });
    const seal = (id: string) => this.secretBox.sealJson(settings, conferencingSettingsContext(id));
    const id = await this.repository.put(applicationId, { provider, kind }, seal, this.clock.now());
    return this.get(applicationId, id);
  }

  /** Meetings it has made stay where they are, and are not changed any more. @throws {NotFoundError} */
  async remove(applicationId: string, id: string): Promise<void> {
    const gone = isId(id) && (await this.repository.remove(applicationId, id));
    if (!gone) throw new NotFoundError('conferencing service', id);
  }

  /**
   * Makes sure that a service can make the meeting an event asks for, where it does.
   * @param forNew the account, where the event is new: then there also has to be room in the quota of meetings. A change
   *   may repeat what is stored; there the job says what became of the meeting
   * @throws {InvalidInputError} naming the field: an unknown name, none set up for it, settings it has not
   * @throws {DomainError} `rate-limited` when no more meetings are made today
   */
  async accept(applicationId: string, request: ConferencingRequest | undefined, forNew?: string) {
    if (!request?.autocreate) return;
    const { provider, autocreate } = request;
    const stored = await this.repository.find(applicationId, provider);
    if (!stored) {
      const known = (CONFERENCING_PROVIDERS as readonly string[]).includes(provider);
      throw new InvalidInputError(
        known
          ? `conferencing.provider: no conferencing service is set up for ${provider} in this application: send details instead of autocreate, or set it up (PUT /a/{client_id}/conferencing)`
          : `conferencing.provider: must be one of ${CONFERENCING_PROVIDERS.join(', ')} with autocreate`,
      );
    }
    const parsed = this.drivers.require(stored.kind).meetingSchema.safeParse(autocreate.settings);
    if (parsed.success) {
      if (forNew !== undefined && isCounted(stored.kind))
        await this.#assertRoom(applicationId, forNew);
      return;
    }
    const [issue] = parsed.error.issues;
    const path = ['conferencing.autocreate.settings', ...(issue?.path ?? [])]
      .map(String)
      .join('.')
      .slice(0, 200);
    throw new InvalidInputError(`${path}: ${issue?.message ?? 'is wrong'}`.toWellFormed());
  }

  async #assertRoom(applicationId: string, accountId: string): Promise<void> {
    const full = await this.quotas.usedUp('meetings', accountId, applicationId);
    if (!full) return;
    const now = this.clock.now();
    throw new DomainError(
      'quota.meetings',
      'rate-limited',
      `conferencing.autocreate: ${refusalOf(full)}`,
      {
        limit: full.limit,
        retryAfterSeconds: Math.ceil((windowOf(now).end.getTime() - now.getTime()) / 1000),
      },
    );
  }

  #describe({ id, settingsSealed, ...stored }: StoredService): ServiceDescription {
    const settings = this.#open(id, settingsSealed);
    const { secretSettings } = this.drivers.require(stored.kind);
    const shown = Object.entries(settings).filter(([name]) => !secretSettings.includes(name));
    return { id, ...stored, settings: Object.fromEntries(shown) };
  }

  #open(id: string, sealed: string): ConferencingSettings {
    try {
      return this.secretBox.openJson(
        sealed,
        conferencingSettingsContext(id),
      ) as ConferencingSettings;
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      throw new DomainError(
        'conferencing.sealed',
        'unavailable',
        'The settings of the conferencing service cannot be opened: set it up again, or remove it',
        { cause: error },
      );
    }
  }
}
