import { Injectable, Logger } from '@nestjs/common';
import { SecretBox, UnsealError } from '../../platform/base/crypto/secret-box.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import type {
  ConferencingPort,
  ConferencingProvider,
  ConferencingSettings,
} from '../../providers/port/conferencing-port.ts';
import { ConferencingDrivers } from '../../providers/port/conferencing-registry.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { conferencingSettingsContext } from './conferencing-secrets.ts';
import { ConferencingRepository } from './conferencing.repository.ts';

/** A conferencing service with its decrypted settings. */
export interface DecryptedService {
  id: string;
  applicationId: string;
  provider: ConferencingProvider;
  driver: ConferencingPort;
  settings: ConferencingSettings;
  lastError: string | null;
}

/** Sends requests to conferencing services, with their current settings. */
@Injectable()
export class ConferencingAccess {
  readonly #log = new Logger('Conferencing');

  constructor(
    private readonly repository: ConferencingRepository,
    private readonly drivers: ConferencingDrivers,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
  ) {}

  /**
   * Loads a service of an application.
   * @returns `null` if the application has no service of this name
   * @throws {ProviderError} `temporary` if no key of the server can decrypt its settings
   */
  async open(applicationId: string, provider: string): Promise<DecryptedService | null> {
    const stored = await this.repository.find(applicationId, provider);
    if (!stored) return null;
    const { id, kind, settingsSealed, lastError } = stored;
    const driver = this.drivers.require(kind);
    const settings = this.#unseal(id, settingsSealed);
    return { id, applicationId, provider: stored.provider, driver, settings, lastError };
  }

  /** Whether the application has a service of this name. */
  async has(applicationId: string, provider: string): Promise<boolean> {
    return (await this.repository.find(applicationId, provider)) != null;
  }

  /**
   * Runs `work` with the service and records whether its settings work. Refused credentials become
   * `temporary` here: the application's owner has to repair them, and the user's account is not
   * affected.
   * @throws {ProviderError} never `auth-invalid`
   */
  async ask<T>(
    service: DecryptedService,
    work: (driver: ConferencingPort, settings: ConferencingSettings) => Promise<T>,
  ): Promise<T> {
    try {
      const result = await work(service.driver, service.settings);
      if (service.lastError !== null)
        await this.repository.note(service.id, null, this.clock.now());
      return result;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      if (['auth-invalid', 'quota-exhausted'].includes(error.code)) {
        this.#log.warn(
          `${service.provider} of application ${service.applicationId} refused a request and will be asked again later: ${error.code}`,
        );
        await this.repository.note(service.id, error.message, this.clock.now());
      }
      if (error.code !== 'auth-invalid') throw error;
      throw new ProviderError(
        'temporary',
        `the conferencing service refused its credentials: ${error.message}`,
        { cause: error },
      );
    }
  }

  /**
   * A lost encryption key is `temporary`: an operator can restore the key, so no meeting is given
   * up.
   */
  #unseal(id: string, sealed: string): ConferencingSettings {
    try {
      return this.secretBox.openJson(
        sealed,
        conferencingSettingsContext(id),
      ) as ConferencingSettings;
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      this.#log.error(error);
      throw new ProviderError(
        'temporary',
        'the settings of the conferencing service cannot be decrypted',
        {
          cause: error,
        },
      );
    }
  }
}
