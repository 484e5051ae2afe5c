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
  type ConferencingKind,
  type ConferencingProvider,
  type ConferencingSettings,
} from '../../providers/port/conferencing-port.ts';
import { ConferencingDrivers } from '../../providers/port/conferencing-registry.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { conferencingSettingsContext } from './conferencing-secrets.ts';
import { toSettingsRefusal } from '../../providers/port/sign-in/settings-refusal.ts';
import { ConferencingRepository, type StoredService } from './conferencing.repository.ts';

/** A conferencing service as its owner may see it. */
export interface ServiceDescription extends Omit<StoredService, 'settingsSealed'> {
  /** Settings without secrets. */
  settings: ConferencingSettings;
}

/** Longest settings in characters. */
const MOST_CHARACTERS = 16_000;

/** Manages the conferencing services of applications, for their owners. */
@Injectable()
export class ConferencingServices {
  constructor(
    private readonly repository: ConferencingRepository,
    private readonly drivers: ConferencingDrivers,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
    private readonly checks: ConnectionChecks,
  ) {}

  /**
   * The services of an application, ordered by provider.
   * @throws {DomainError} `unavailable` if no key of the server can decrypt the settings of one
   */
  async list(applicationId: string): Promise<ServiceDescription[]> {
    const stored = await this.repository.list(applicationId);
    return stored.map((service) => this.#describe(service));
  }

  /**
   * @throws {NotFoundError}
   * @throws {DomainError} as `list`
   */
  async get(applicationId: string, id: string): Promise<ServiceDescription> {
    const stored = isId(id) ? await this.repository.get(applicationId, id) : undefined;
    if (!stored) throw new NotFoundError('conferencing service', id);
    return this.#describe(stored);
  }

  /**
   * Creates or replaces a service, after the service has accepted the settings.
   * @throws {InvalidInputError} if the kind does not support the provider, settings are invalid,
   *   or the service refuses them
   * @throws {DomainError} `unavailable` if the service does not respond
   */
  async set(
    applicationId: string,
    provider: ConferencingProvider,
    kind: ConferencingKind,
    given: ConferencingSettings,
  ): Promise<ServiceDescription> {
    const driver = this.drivers.require(kind);
    if (!driver.providers.includes(provider))
      throw new InvalidInputError(`kind: ${kind} supports ${driver.providers.join(', ')} only`);
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

  /**
   * Removes a service. Its existing meetings stay, but are no longer updated.
   * @throws {NotFoundError}
   */
  async remove(applicationId: string, id: string): Promise<void> {
    const removed = isId(id) && (await this.repository.remove(applicationId, id));
    if (!removed) throw new NotFoundError('conferencing service', id);
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
        'The settings of the conferencing service cannot be decrypted: set the service up again, or remove it',
        { cause: error },
      );
    }
  }
}
