import { Module } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database } from '../../platform/database/sql.ts';
import { AdminCapacityController } from './admin-capacity.controller.ts';
import { OperatorCapacity } from './operator-capacity.ts';

/** Sizes of tables, their growth, and how long the disk lasts. */
@Module({
  controllers: [AdminCapacityController],
  providers: [
    {
      provide: OperatorCapacity,
      // Commands use the class without a container.
      useFactory: (database: Database, config: AppConfig, clock: Clock) =>
        new OperatorCapacity(database, config, clock),
      inject: [Database, APP_CONFIG, Clock],
    },
  ],
  exports: [OperatorCapacity],
})
export class OperatorCapacityModule {}
