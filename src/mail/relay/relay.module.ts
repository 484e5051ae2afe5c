import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { OnboardController } from './onboard.controller.ts';
import { RelayController } from './relay.controller.ts';
import { RelayEnrolment } from './relay-enrolment.ts';
import { RelayListeners } from './relay-listeners.ts';
import { RelayRepository, SENDERS_OF_ACCOUNT } from './relay.repository.ts';
import { RelayRoutes } from './relay-routes.ts';
import { RelayRoutesService } from './relay-routes.service.ts';
import { RelaysService } from './relay.service.ts';

/** The third-party mailing service of an application (ADR 0018). */
@Module({
  imports: [GrantsModule, ProvidersModule],
  controllers: [RelayController, OnboardController],
  providers: [
    RelayEnrolment,
    RelayListeners,
    RelayRepository,
    RelayRoutesService,
    RelaysService,
    { provide: RelayRoutes, useExisting: RelayRoutesService },
  ],
  exports: [RelayListeners, RelayRoutes],
})
export class RelayModule {
  constructor(accounts: AccountListeners) {
    accounts.add(SENDERS_OF_ACCOUNT);
  }
}
