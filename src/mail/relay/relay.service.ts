import { Injectable } from '@nestjs/common';
import { ConnectionChecks } from '../../platform/egress/connection-checks.ts';
import { SecretBox, UnsealError } from '../../platform/base/crypto/secret-box.ts';
import {
  DomainError,
  InvalidInputError,
  NotFoundError,
} from '../../platform/base/errors/domain-error.ts';
import { parseSettings } from '../../platform/wire/parse-settings.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { RelayTransports } from '../../providers/port/mail/relay-registry.ts';
import type { RelayKind, RelaySettings, RelayTransport } from '../../providers/port/mail/relay.ts';
import { openRelaySettings, sealRelaySettings } from './relay-secrets.ts';
import { toSettingsRefusal } from '../../providers/port/sign-in/settings-refusal.ts';
import { RelayRepository, type StoredRelay } from './relay.repository.ts';

/** A mailing service as its owner may read it. */
export interface RelayDescription extends Pick<
  StoredRelay,
  'kind' | 'lastError' | 'lastErrorAt' | 'createdAt' | 'updatedAt'
> {
  /** Without secret settings. */
  settings: RelaySettings;
}

/** More than any service's settings need. */
const MOST_CHARACTERS = 16_000;

/** The mailing services of applications, as their owners manage them. */
@Injectable()
export class RelaysService {
  constructor(
    private readonly relays: RelayRepository,
    private readonly transports: RelayTransports,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
    private readonly checks: ConnectionChecks,
  ) {}

  /**
   * @throws {NotFoundError}
   * @throws {DomainError} `unavailable` if no key of the server decrypts its settings
   */
  async get(applicationId: string): Promise<RelayDescription> {
    const stored = await this.relays.get(applicationId);
    if (!stored) throw noRelay();
    const settings = this.#open(applicationId, stored.settingsSealed);
    const { secretSettings } = this.transports.require(stored.kind);
    const shown = Object.entries(settings).filter(([name]) => !secretSettings.includes(name));
    return { ...stored, settings: Object.fromEntries(shown) };
  }

  /**
   * Sets up or replaces the service, once it has accepted the settings. The service has to confirm
   * all accounts again.
   * @throws {InvalidInputError} if settings are wrong, or the service refuses them
   * @throws {DomainError} `unavailable` if the service cannot be asked
   * @throws {TooManyChecksError}
   */
  async set(
    applicationId: string,
    kind: RelayKind,
    given: RelaySettings,
  ): Promise<RelayDescription> {
    const transport = this.transports.require(kind);
    const settings = parse(transport, given);
    await this.checks
      .run({ applicationId }, () => transport.verify(settings))
      .catch((error: unknown) => {
        throw error instanceof ProviderError
          ? toSettingsRefusal(error, 'mailing service', 'relay.unavailable')
          : error;
      });
    const sealed = sealRelaySettings(this.secretBox, applicationId, settings);
    await this.relays.put(applicationId, kind, sealed, this.clock.now());
    return this.get(applicationId);
  }

  /**
   * Removes the service. Messages that were to go over it go over their accounts.
   * @throws {NotFoundError}
   */
  async remove(applicationId: string): Promise<void> {
    if (!(await this.relays.remove(applicationId))) throw noRelay();
  }

  #open(applicationId: string, sealed: string): RelaySettings {
    try {
      return openRelaySettings(this.secretBox, applicationId, sealed);
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      throw new DomainError(
        'relay.sealed',
        'unavailable',
        'The settings of the mailing service cannot be decrypted: set it up again, or remove it',
        { cause: error },
      );
    }
  }
}

const noRelay = () => new NotFoundError('relay', 'of this application');

function parse({ settingsSchema }: RelayTransport, given: RelaySettings): RelaySettings {
  const settings = parseSettings(settingsSchema, given);
  if (JSON.stringify(settings).length > MOST_CHARACTERS) {
    throw new InvalidInputError(`settings must not be longer than ${MOST_CHARACTERS} characters`);
  }
  return settings;
}
