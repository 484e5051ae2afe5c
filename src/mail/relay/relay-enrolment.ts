import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { RelayRoutes } from './relay-routes.ts';
import { RECHECK_MS } from './relay-routes.service.ts';
import { RelayRepository, type UnaskedAccount } from './relay.repository.ts';

/**
 * Has mailing services confirm accounts before they are needed: newly connected accounts, and all
 * accounts of an application that has set up a service. The accounts are found in the tables, so a
 * killed process loses none. Connecting an account does not wait for this.
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

  /** Asks services about some of the accounts that they have not answered for. */
  async run(): Promise<void> {
    // An account without a mailbox sends nothing, so its address needs no confirmation.
    const providers = this.connectors.all().flatMap(({ name, mail }) => (mail ? [name] : []));
    const before = new Date(this.clock.now().getTime() - RECHECK_MS);
    const accounts = await this.relays.unasked(before, providers);
    const byApplication = Map.groupBy(accounts, ({ applicationId }) => applicationId);
    await Promise.all([...byApplication.values()].map((group) => this.#enrol(group)));
  }

  /**
   * Asks about one account at a time. If the service does not answer, the other accounts wait until
   * the next run.
   */
  async #enrol(accounts: readonly UnaskedAccount[]): Promise<void> {
    for (const account of accounts) {
      try {
        await this.routes.find(account);
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        this.#log.warn(
          `the mailing service of application ${account.applicationId} did not answer and is asked again later: ${error.message}`,
        );
        return;
      }
    }
  }
}
