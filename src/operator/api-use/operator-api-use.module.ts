import { Module } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database } from '../../platform/database/sql.ts';
import { AdminApiUseController } from './admin-api-use.controller.ts';
import { AdminCeilingsController } from './admin-ceilings.controller.ts';
import { ApiUseMetrics } from './api-use-metrics.ts';
import { OperatorApiUse } from './operator-api-use.ts';
import { OperatorCeilings } from './operator-ceilings.ts';

/** What applications use of the APIs of Google and Microsoft, and what it will cost. */
@Module({
  controllers: [AdminApiUseController, AdminCeilingsController],
  providers: [
    ApiUseMetrics,
    {
      provide: OperatorApiUse,
      // Commands use the class without a container.
      useFactory: (database: Database, config: AppConfig, clock: Clock) =>
        new OperatorApiUse(database, config, clock),
      inject: [Database, APP_CONFIG, Clock],
    },
    {
      provide: OperatorCeilings,
      useFactory: (database: Database, config: AppConfig, clock: Clock) =>
        new OperatorCeilings(database, config, clock),
      inject: [Database, APP_CONFIG, Clock],
    },
  ],
  exports: [OperatorApiUse, OperatorCeilings],
})
export class OperatorApiUseModule {}
