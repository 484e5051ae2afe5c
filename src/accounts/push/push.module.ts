import { Inject, Logger, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { AccountListeners } from '../grants/account-listeners.ts';
import { GrantsModule } from '../grants/grants.module.ts';
import { PushAddresses } from './push-address.ts';
import { PushInbox } from './push-inbox.ts';
import { PushIntegrations } from './push-integrations.ts';
import { PushPullRepository } from './push-pulls.repository.ts';
import { PushPulls } from './push-pulls.ts';
import { PushSignals } from './push-signals.ts';
import { PushSubscriptionRepository } from './push-subscriptions.repository.ts';
import { PushUpkeep } from './push-upkeep.ts';
import { PushWants } from './push-wants.ts';
import { PushController } from './push.controller.ts';

/** Providers report changes: subscriptions, their upkeep, and the route for notifications. */
@Module({
  imports: [GrantsModule, ProvidersModule],
  controllers: [PushController],
  providers: [
    PushAddresses,
    PushInbox,
    PushIntegrations,
    PushPullRepository,
    PushPulls,
    PushSignals,
    PushSubscriptionRepository,
    PushUpkeep,
    PushWants,
  ],
  exports: [PushPulls, PushUpkeep, PushWants],
})
export class PushModule implements OnApplicationBootstrap {
  readonly #log = new Logger('Push');

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly connectors: ConnectorRegistry,
    accounts: AccountListeners,
    upkeep: PushUpkeep,
  ) {
    accounts.add({
      mirrorDeletions: ['delete from push_subscription where account_id = $1'],
      leaving: (accountId) => upkeep.leaving(accountId),
    });
  }

  /** Says once that changes are found by polling only, if a provider could report them. */
  onApplicationBootstrap(): void {
    const providers = this.connectors.all().flatMap(({ name, push }) => (push ? [name] : []));
    if (this.config.pushUrl !== null || providers.length === 0) return;
    this.#log.log(
      `${providers.join(', ')} cannot notify this server of changes, because it has no public https address (PUSH_URL, BASE_URL); polling finds the changes`,
    );
  }
}
