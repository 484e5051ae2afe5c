import { Injectable } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import type { OutgoingMessage, SendControl, SendReceipt } from '../../providers/port/connector.ts';
import { SenderRefusedError } from '../../providers/port/mail/relay.ts';
import { type OpenRelay, RelayAccess } from './relay-access.ts';
import { type RelayRoute, RelayRoutes, type RoutedAccount } from './relay-routes.ts';
import { RelayRepository } from './relay.repository.ts';

/**
 * A service that did not take mail from an account is asked again after this time at the earliest.
 */
export const RECHECK_MS = 60_000;

/** Routes to mailing services. Each call reads the current settings, in one query. */
@Injectable()
export class RelayRoutesService extends RelayRoutes {
  constructor(
    private readonly access: RelayAccess,
    private readonly relays: RelayRepository,
    private readonly clock: Clock,
  ) {
    super();
  }

  async find(account: RoutedAccount): Promise<RelayRoute | null> {
    const relay = await this.access.open(account);
    if (!relay?.proven) return null;
    if (!relay.confirmed && !(await this.#enrol(account, relay))) return null;
    return {
      kind: relay.transport.kind,
      send: (message, control) => this.#send(relay, message, control),
      findSent: (messageIdHeader) =>
        this.access.ask(relay, (transport, settings) =>
          transport.findSent(settings, messageIdHeader),
        ),
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
    const status = await this.access.ask(relay, (transport, settings) =>
      transport.enrol(settings, { email, name }),
    );
    await this.access.keep(relay, status);
    return status.domainVerified || status.senderVerified;
  }

  async #send(
    relay: OpenRelay,
    message: OutgoingMessage,
    control: SendControl,
  ): Promise<SendReceipt> {
    try {
      const receipt = await this.access.ask(relay, (transport, settings) =>
        transport.send(settings, message, control),
      );
      if (relay.lastError !== null) await this.access.note(() => this.relays.forgetTrouble(relay));
      return receipt;
    } catch (error) {
      if (error instanceof SenderRefusedError) {
        const refused = { domainVerified: false, senderVerified: false, detail: error.message };
        await this.access.note(() => this.access.keep(relay, refused));
      }
      throw error;
    }
  }
}
