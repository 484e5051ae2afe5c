import { Module } from '@nestjs/common';
import { ConnectModule } from '../../accounts/connect/connect.module.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { AccountTokensService } from './account-tokens.service.ts';
import { AdminAccountTokensController } from './admin-account-tokens.controller.ts';
import { AdminAccountsController } from './admin-accounts.controller.ts';
import { OperatorAccounts } from './operator-accounts.ts';
import { SignInLinksService } from './sign-in-links.service.ts';

/** Accounts of all applications, for operators. */
@Module({
  imports: [ConnectModule, GrantsModule, ProvidersModule],
  controllers: [AdminAccountsController, AdminAccountTokensController],
  providers: [
    {
      provide: OperatorAccounts,
      // Commands use the class without a container.
      useFactory: (database: Database, clock: Clock, connectors: ConnectorRegistry) =>
        new OperatorAccounts(database, clock, connectors),
      inject: [Database, Clock, ConnectorRegistry],
    },
    AccountTokensService,
    SignInLinksService,
  ],
  exports: [OperatorAccounts, SignInLinksService],
})
export class OperatorAccountsModule {}
