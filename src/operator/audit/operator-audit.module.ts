import { Module } from '@nestjs/common';
import { Database } from '../../platform/database/sql.ts';
import { AdminAuditLogController } from './admin-audit-log.controller.ts';
import { AuditLogService } from './audit-log.service.ts';

/** The audit log, as operators read it. */
@Module({
  controllers: [AdminAuditLogController],
  providers: [
    // A plain class, because a command uses it without the container.
    {
      provide: AuditLogService,
      inject: [Database],
      useFactory: (database: Database) => new AuditLogService(database),
    },
  ],
  exports: [AuditLogService],
})
export class OperatorAuditModule {}
