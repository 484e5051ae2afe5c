import { Module } from '@nestjs/common';
import { Database } from '../../platform/database/sql.ts';
import { AdminAuditLogController } from './admin-audit-log.controller.ts';
import { AuditLog } from './audit-log.service.ts';

/** The audit log, as operators read it. */
@Module({
  controllers: [AdminAuditLogController],
  providers: [
    // A plain class, because a command uses it without the container.
    {
      provide: AuditLog,
      inject: [Database],
      useFactory: (database: Database) => new AuditLog(database),
    },
  ],
  exports: [AuditLog],
})
export class OperatorAuditModule {}
