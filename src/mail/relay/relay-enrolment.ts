import { Inject, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { RelayRoutes } from './relay-routes.ts';
import { RECHECK_MS } from './relay-routes.service.ts';
import { RelayRepository, type UnaskedAccount } from './relay.repository.ts';

const EVERY_MS = 10_000;

/**
 * Has mailing services confirm accounts before they are needed: those that were connected, and all of an application that
 * has set up a service. Found in the tables every ten seconds, whoever was killed in between; connecting waits for nothing.
 */
@Injectable()
export class RelayEnrolment {
  readonly #log = new Logger('Relay');
  readonly #enabled: boolean;
  #running = false;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly relays: RelayRepository,
    private readonly routes: RelayRoutes,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {
    this.#enabled = config.roles.includes('worker');
  }

  @Interval('relay enrolment', EVERY_MS)
  async tick(): Promise<void> {
    if (!this.#enabled || this.#running) return;
    this.#running = true;
    try {
      await this.run();
    } catch (error) {
      this.#log.warn(`accounts could not be enrolled: ${messageOf(error)}`);
    } finally {
      this.#running = false;
    }
  }

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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
