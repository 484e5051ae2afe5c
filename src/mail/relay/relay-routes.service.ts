import { Injectable, Logger } from '@nestjs/common';
import { SecretBox, UnsealError } from '../../platform/base/crypto/secret-box.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import type { OutgoingMessage, SendControl, SendReceipt } from '../../providers/port/connector.ts';
import { RelayTransports } from '../../providers/port/mail/relay-registry.ts';
import {
  type RelaySettings,
  type RelayTransport,
  SenderRefusedError,
  type SenderStatus,
} from '../../providers/port/mail/relay.ts';
import { providerFailure } from '../../providers/port/provider-failure.ts';
import { type RelayRoute, RelayRoutes, type RoutedAccount } from './relay-routes.ts';
import { openRelaySettings } from './relay-secrets.ts';
import { type AccountKey, RelayRepository } from './relay.repository.ts';

/**
 * A service that did not take mail from an account is asked again after this time at the earliest.
 */
export const RECHECK_MS = 60_000;

/** The mailing service of an account's application, with its decrypted settings in one version. */
interface OpenRelay extends AccountKey {
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

/** An account as its own token identifies it. */
export interface SenderAccount extends AccountKey {
  email: string;
}

/**
 * The mailing services of applications, as their accounts use them: routes for messages, and what
 * an account may ask about itself. Each call reads the current settings, in one query.
 */
@Injectable()
export class RelayRoutesService extends RelayRoutes {
  readonly #log = new Logger('Relay');

  constructor(
    private readonly relays: RelayRepository,
    private readonly transports: RelayTransports,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
  ) {
    super();
  }

  async find(account: RoutedAccount): Promise<RelayRoute | null> {
    const relay = await this.#open(account);
    if (!relay?.proven) return null;
    if (!relay.confirmed && !(await this.#enrol(account, relay))) return null;
    return {
      kind: relay.transport.kind,
      send: (message, control) => this.#send(relay, message, control),
      findSent: (messageIdHeader) =>
        this.#ask(relay, (transport, settings) => transport.findSent(settings, messageIdHeader)),
    };
  }

  async isOpen(account: RoutedAccount): Promise<boolean> {
    return (await this.relays.find(account))?.confirmed ?? false;
  }

  /**
   * Asks the service about an account that it has not confirmed.
   * @returns whether the service takes mail from the account now
   */
  async #enrol({ email, name }: RoutedAccount, relay: OpenRelay): Promise<boolean> {
    const now = this.clock.now();
    const before = new Date(now.getTime() - RECHECK_MS);
    if (!(await this.relays.claimCheck(relay, relay.settingsSealed, now, before))) return false;
    const status = await this.#ask(relay, (transport, settings) =>
      transport.enrol(settings, { email, name }),
    );
    await this.#keep(relay, status);
    return status.domainVerified || status.senderVerified;
  }

  async #send(
    relay: OpenRelay,
    message: OutgoingMessage,
    control: SendControl,
  ): Promise<SendReceipt> {
    try {
      const receipt = await this.#ask(relay, (transport, settings) =>
        transport.send(settings, message, control),
      );
      if (relay.lastError !== null) await this.#note(() => this.relays.forgetTrouble(relay));
      return receipt;
    } catch (error) {
      if (error instanceof SenderRefusedError) {
        const refused = { domainVerified: false, senderVerified: false, detail: error.message };
        await this.#note(() => this.#keep(relay, refused));
      }
      throw error;
    }
  }

  /**
   * Asks the service whether it takes mail from the account. Both flags are false without a
   * service. They are also false if the account's address is not proven; then the service is not
   * asked.
   * @throws {DomainError} if the service cannot be asked
   */
  async status(
    account: SenderAccount,
  ): Promise<Pick<SenderStatus, 'domainVerified' | 'senderVerified'>> {
    const relay = await this.#openOrExplain(account);
    if (!relay?.proven) return { domainVerified: false, senderVerified: false };
    const status = await this.#ask(relay, (transport, settings) =>
      transport.senderStatus(settings, account.email),
    ).catch((error: unknown) => explain(error, 'ask the mailing service'));
    await this.#keep(relay, status);
    return status;
  }

  /**
   * Removes the account from the service. Its messages no longer use the service, until the account
   * is connected again or the service is set up again. Repeating the call is harmless. The service
   * is not asked about an unproven address, which may belong to another customer of the service.
   * @param email must be the account's own address
   * @throws {InvalidInputError} for another address
   * @throws {DomainError} if the service cannot be asked; our own record is removed in any case
   */
  async remove(account: SenderAccount, email: string): Promise<void> {
    if (email.toLowerCase() !== account.email) {
      throw new InvalidInputError('email: must be the address of the account');
    }
    const relay = await this.#openOrExplain(account);
    if (!relay) return;
    await this.relays.markRemoved(relay, relay.settingsSealed, this.clock.now());
    if (!relay.proven) return;
    await this.#ask(relay, (transport, settings) =>
      transport.removeSender(settings, account.email),
    ).catch((error: unknown) => explain(error, 'remove the address from the mailing service'));
  }

  #openOrExplain(account: SenderAccount): Promise<OpenRelay | null> {
    return this.#open(account).catch((error: unknown) => explain(error, 'ask the mailing service'));
  }

  /**
   * Reads the service with its current settings.
   * @returns `null` if the application has none, or the account belongs to another application
   * @throws {ProviderError} `temporary` if no key decrypts its settings
   */
  async #open({ applicationId, accountId }: AccountKey): Promise<OpenRelay | null> {
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
  async #ask<T>(
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
        await this.#note(() => this.relays.keepTrouble(relay, reported.message, this.clock.now()));
      }
      throw reported;
    }
  }

  /**
   * Records what the service reported about the account. If the service takes mail from the account
   * now and did not do so before, messages that wait for the account's server may use it at once.
   * Does nothing if its settings were replaced or the account was deleted.
   */
  async #keep(relay: OpenRelay, status: SenderStatus): Promise<void> {
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
  async #note(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#log.error(error);
    }
  }
}

function explain(error: unknown, what: string): never {
  throw error instanceof ProviderError ? providerFailure(error, what) : error;
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
