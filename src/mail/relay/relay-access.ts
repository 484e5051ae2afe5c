import { Injectable, Logger } from '@nestjs/common';
import { SecretBox, UnsealError } from '../../platform/base/crypto/secret-box.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { RelayTransports } from '../../providers/port/relay-registry.ts';
import type { RelaySettings, RelayTransport, SenderStatus } from '../../providers/port/relay.ts';
import { openRelaySettings } from './relay-secrets.ts';
import { type AccountKey, RelayRepository } from './relay.repository.ts';

/** The mailing service of an account's application, opened for use; of one version of its settings. */
export interface OpenRelay extends AccountKey {
  transport: RelayTransport;
  settings: RelaySettings;
  settingsSealed: string;
  /** Whether it takes mail from the account, and the account wants that. */
  confirmed: boolean;
  /** Whether the account's address is proven: the service is never asked about one that is not (ADR 0056). */
  proven: boolean;
  lastError: string | null;
}

/** Asks mailing services for accounts, and keeps what they say. */
@Injectable()
export class RelayAccess {
  readonly #log = new Logger('Relay');

  constructor(
    private readonly relays: RelayRepository,
    private readonly transports: RelayTransports,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
  ) {}

  /**
   * As the settings are now: every call reads them.
   * @returns null: the application has none, or the account is not its own
   * @throws {ProviderError} `temporary` when no key opens its settings
   */
  async open({ applicationId, accountId }: AccountKey): Promise<OpenRelay | null> {
    const stored = await this.relays.find({ applicationId, accountId });
    if (!stored) return null;
    const { kind, settingsSealed, confirmed, proven, lastError } = stored;
    return {
      applicationId,
      accountId,
      transport: this.transports.require(kind),
      settings: this.#unseal(applicationId, settingsSealed),
      settingsSealed,
      confirmed,
      proven,
      lastError,
    };
  }

  /**
   * Asks the service. That it refuses the application's credentials is `temporary` here: the owner has to repair it, and
   * it says nothing about the user's account.
   * @throws {ProviderError} never `auth-invalid`
   */
  async ask<T>(
    relay: OpenRelay,
    work: (transport: RelayTransport, settings: RelaySettings) => Promise<T>,
  ): Promise<T> {
    try {
      return await work(relay.transport, relay.settings);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const told = toldOutside(error);
      if (['auth-invalid', 'quota-exhausted'].includes(error.code)) {
        this.#log.warn(`the mailing service of application ${relay.applicationId}: ${error.code}`);
        await this.note(() => this.relays.keepTrouble(relay, told.message, this.clock.now()));
      }
      throw told;
    }
  }

  /** Keeps what the service said about the account; nothing once its settings were replaced, or the account is gone. */
  async keep(relay: OpenRelay, status: SenderStatus): Promise<void> {
    await this.relays.record(relay, relay.settingsSealed, status, this.clock.now());
  }

  /** A lost key of the server's own is no reason to give a message up, nor to forget what became of it. */
  #unseal(applicationId: string, sealed: string): RelaySettings {
    try {
      return openRelaySettings(this.secretBox, applicationId, sealed);
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      this.#log.error(error);
      throw new ProviderError('temporary', 'the settings of the mailing service cannot be opened', {
        cause: error,
      });
    }
  }

  /** A write that must not change what became of a message: that it fails is logged. */
  async note(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#log.error(error);
    }
  }
}

function toldOutside(error: ProviderError): ProviderError {
  if (error.code !== 'auth-invalid') return error;
  const details = error.phase ? { phase: error.phase, cause: error } : { cause: error };
  return new ProviderError(
    'temporary',
    `the mailing service refused its credentials: ${error.message}`,
    details,
  );
}
