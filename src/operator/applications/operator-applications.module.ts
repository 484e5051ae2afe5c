import { Module } from '@nestjs/common';
import { ApplicationsModule } from '../../accounts/applications/applications.module.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { AdminApplicationsController } from './admin-applications.controller.ts';
import { ApplicationDeletionsService } from './application-deletions.service.ts';
import { OperatorApplications } from './operator-applications.ts';

/** All applications, for operators, and the deletion of applications. */
@Module({
  imports: [ApplicationsModule, GrantsModule, ProvidersModule],
  controllers: [AdminApplicationsController],
  providers: [
    {
      provide: OperatorApplications,
      // Commands use the class without a container.
      useFactory: (database: Database, clock: Clock) => new OperatorApplications(database, clock),
      inject: [Database, Clock],
    },
    ApplicationDeletionsService,
  ],
  exports: [OperatorApplications, ApplicationDeletionsService],
})
export class OperatorApplicationsModule {}
