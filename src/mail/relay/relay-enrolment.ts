import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { RelayRoutes } from './relay-routes.ts';
import { RECHECK_MS } from './relay-routes.service.ts';
import { RelayRepository, type UnaskedAccount } from './relay.repository.ts';

/**
 * Has mailing services confirm accounts before they are needed: those that were connected, and all of an application that
 * has set up a service. Found in the tables, whoever was killed in between; connecting waits for nothing.
 */
@Injectable()
export class RelayEnrolment {
  readonly #log = new Logger('Relay');

  constructor(
    private readonly relays: RelayRepository,
    private readonly routes: RelayRoutes,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  /** Asks about some of the accounts nobody has asked about. */
  async run(): Promise<void> {
    // An account without a mailbox sends nothing: its address is nobody's to confirm.
    const providers = this.connectors.all().flatMap(({ name, mail }) => (mail ? [name] : []));
    const before = new Date(this.clock.now().getTime() - RECHECK_MS);
    const accounts = await this.relays.unasked(before, providers);
    const byApplication = Map.groupBy(accounts, ({ applicationId }) => applicationId);
    await Promise.all([...byApplication.values()].map((group) => this.#enrol(group)));
  }

  /** One after the other; a service that does not answer is left alone until the next time. */
  async #enrol(accounts: readonly UnaskedAccount[]): Promise<void> {
    for (const account of accounts) {
      try {
        await this.routes.find(account);
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        this.#log.warn(`application ${account.applicationId}: ${error.message}`);
        return;
      }
    }
  }
}
