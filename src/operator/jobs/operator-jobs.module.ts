import { Module } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import { ParsingModule } from '../../mail/parsing/parsing.module.ts';
import { AdminJobsController } from './admin-jobs.controller.ts';
import { JobPreviews } from './job-previews.ts';
import { OperatorJobs } from './operator-jobs.ts';

/** Jobs of all accounts, for operators. */
@Module({
  imports: [ParsingModule],
  controllers: [AdminJobsController],
  providers: [
    JobPreviews,
    {
      provide: OperatorJobs,
      inject: [Database, Clock],
      useFactory: (database: Database, clock: Clock) => new OperatorJobs(database, clock),
    },
  ],
  exports: [OperatorJobs, JobPreviews],
})
export class OperatorJobsModule {}
