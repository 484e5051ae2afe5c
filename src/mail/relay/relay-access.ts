import { Injectable, Logger } from '@nestjs/common';
import { SecretBox, UnsealError } from '../../platform/base/crypto/secret-box.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { RelayTransports } from '../../providers/port/mail/relay-registry.ts';
import type {
  RelaySettings,
  RelayTransport,
  SenderStatus,
} from '../../providers/port/mail/relay.ts';
import { openRelaySettings } from './relay-secrets.ts';
import { type AccountKey, RelayRepository } from './relay.repository.ts';

/** The mailing service of an account's application, with its decrypted settings in one version. */
export interface OpenRelay extends AccountKey {
  transport: RelayTransport;
  settings: RelaySettings;
  settingsSealed: string;
  /**
   * Whether the service takes mail from the account, and the account has not been removed from it.
   */
  confirmed: boolean;
  /**
   * Whether the account's address is proven. The service is never asked about an unproven address
   * (ADR 0056).
   */
  proven: boolean;
  lastError: string | null;
}

/** Asks mailing services about accounts, and records what they report. */
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
   * Reads the service with its current settings.
   * @returns `null` if the application has none, or the account belongs to another application
   * @throws {ProviderError} `temporary` if no key decrypts its settings
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
   * Asks the service. If the service refuses the application's credentials, the error is
   * `temporary`: the application's owner has to repair them, and the user's account is not
   * concerned.
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
      const reported = toReportedError(error);
      if (['auth-invalid', 'quota-exhausted'].includes(error.code)) {
        this.#log.warn(
          `the mailing service of application ${relay.applicationId} refused a request: ${error.code}`,
        );
        await this.note(() => this.relays.keepTrouble(relay, reported.message, this.clock.now()));
      }
      throw reported;
    }
  }

  /**
   * Records what the service reported about the account. If the service takes mail from the account
   * now and did not do so before, messages that wait for the account's server may use it at once.
   * Does nothing if its settings were replaced or the account was deleted.
   */
  async keep(relay: OpenRelay, status: SenderStatus): Promise<void> {
    const at = this.clock.now();
    const opens = !relay.confirmed && (status.domainVerified || status.senderVerified);
    if (opens) await this.relays.recordOpening(relay, relay.settingsSealed, status, at);
    else await this.relays.record(relay, relay.settingsSealed, status, at);
  }

  /**
   * A lost key of this server must neither end a message nor lose the result of an attempt, so the
   * error is `temporary`.
   */
  #unseal(applicationId: string, sealed: string): RelaySettings {
    try {
      return openRelaySettings(this.secretBox, applicationId, sealed);
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      this.#log.error(error);
      throw new ProviderError(
        'temporary',
        'the settings of the mailing service cannot be decrypted',
        {
          cause: error,
        },
      );
    }
  }

  /** Runs a write that must not change the result of an attempt: an error is only logged. */
  async note(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#log.error(error);
    }
  }
}

function toReportedError(error: ProviderError): ProviderError {
  if (error.code !== 'auth-invalid') return error;
  const details = error.phase ? { phase: error.phase, cause: error } : { cause: error };
  return new ProviderError(
    'temporary',
    `the mailing service refused its credentials: ${error.message}`,
    details,
  );
}
