import { Module } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import { OperatorInstance } from './operator-instance.ts';

/** Which installation the database belongs to. */
@Module({
  providers: [
    {
      provide: OperatorInstance,
      // Commands use the class without a container.
      useFactory: (database: Database, clock: Clock) => new OperatorInstance(database, clock),
      inject: [Database, Clock],
    },
  ],
  exports: [OperatorInstance],
})
export class OperatorInstanceModule {}
