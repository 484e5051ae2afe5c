import { Injectable, Logger } from '@nestjs/common';
import { SecretBox } from '../common/crypto/secret-box.ts';
import { Clock } from '../common/time/clock.ts';
import type { OutgoingMessage, SendControl, SendReceipt } from '../providers/connector.ts';
import { ProviderError } from '../providers/provider-error.ts';
import { RelayTransports } from '../providers/relay-registry.ts';
import { type RelaySettings, type RelayTransport, SenderRefusedError } from '../providers/relay.ts';
import { type RelayRoute, RelayRoutes, type RoutedAccount } from './relay-routes.ts';
import { openRelaySettings } from './relay-secrets.ts';
import { type RelayOfAccount, RelayRepository } from './relay.repository.ts';

/** How long a service that did not take mail from an account is not asked again. */
export const RECHECK_MS = 60_000;

/** An account's mailing service, opened for use. */
interface OpenRelay {
  transport: RelayTransport;
  settings: RelaySettings;
  settingsSealed: string;
}

/**
 * The ways to mailing services, as the settings are now: each call reads them, one query. A service that refuses the
 * application's key is `temporary` here: that is the owner's to repair, and says nothing about the user's account.
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
    const relay = await this.relays.find(account);
    if (!relay) return null;
    const open = this.#open(account, relay);
    if (!relay.confirmed && !(await this.#enrol(account, open))) return null;
    return this.#route(account, open);
  }

  async isOpen(account: RoutedAccount): Promise<boolean> {
    return (await this.relays.find(account))?.confirmed ?? false;
  }

  #open({ applicationId }: RoutedAccount, { kind, settingsSealed }: RelayOfAccount): OpenRelay {
    return {
      transport: this.transports.require(kind),
      settings: openRelaySettings(this.secretBox, applicationId, settingsSealed),
      settingsSealed,
    };
  }

  /** Asks the service about an account it has not confirmed. @returns whether it takes mail from it now */
  async #enrol(account: RoutedAccount, { transport, settings, settingsSealed }: OpenRelay): Promise<boolean> {
    const now = this.clock.now();
    const before = new Date(now.getTime() - RECHECK_MS);
    if (!(await this.relays.claimCheck(account, settingsSealed, now, before))) return false;
    const { email, name } = account;
    const status = await this.#ask(account, () => transport.enrol(settings, { email, name }));
    await this.relays.record(account, settingsSealed, status, this.clock.now());
    return status.domainVerified || status.senderVerified;
  }

  #route(account: RoutedAccount, open: OpenRelay): RelayRoute {
    const { transport, settings } = open;
    return {
      kind: transport.kind,
      send: (message, control) => this.#send(account, open, message, control),
      findSent: (messageIdHeader) => this.#ask(account, () => transport.findSent(settings, messageIdHeader)),
    };
  }

  async #send(
    account: RoutedAccount,
    { transport, settings, settingsSealed }: OpenRelay,
    message: OutgoingMessage,
    control: SendControl,
  ): Promise<SendReceipt> {
    try {
      return await this.#ask(account, () => transport.send(settings, message, control));
    } catch (error) {
      if (error instanceof SenderRefusedError) {
        const refused = { domainVerified: false, senderVerified: false, detail: error.message };
        await this.relays.record(account, settingsSealed, refused, this.clock.now());
      }
      throw error;
    }
  }

  /** @throws {ProviderError} never `auth-invalid` */
  async #ask<T>({ applicationId }: RoutedAccount, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ProviderError) || error.code !== 'auth-invalid') throw error;
      this.#log.warn(`the mailing service of application ${applicationId} refuses its credentials`);
      throw new ProviderError(
        'temporary',
        `the mailing service refused its credentials: ${error.message}`,
        error.phase ? { phase: error.phase, cause: error } : { cause: error },
      );
    }
  }
}
