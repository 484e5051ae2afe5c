import { Module } from '@nestjs/common';
import { ConnectModule } from '../../accounts/connect/connect.module.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import { AdminAccountsController } from './admin-accounts.controller.ts';
import { OperatorAccounts } from './operator-accounts.ts';
import { SignInLinks } from './sign-in-links.service.ts';

/** Accounts of all applications, for operators. */
@Module({
  imports: [ConnectModule],
  controllers: [AdminAccountsController],
  providers: [
    {
      provide: OperatorAccounts,
      // Commands use the class without a container.
      useFactory: (database: Database, clock: Clock) => new OperatorAccounts(database, clock),
      inject: [Database, Clock],
    },
    SignInLinks,
  ],
  exports: [OperatorAccounts, SignInLinks],
})
export class OperatorAccountsModule {}
