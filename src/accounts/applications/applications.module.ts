import { Module } from '@nestjs/common';
import { AuthModule } from '../../platform/auth/auth.module.ts';
import { ApplicationsController } from './applications.controller.ts';
import { ApplicationsService } from './applications.service.ts';
import { ApplicationAuditLogController } from './audit-log.controller.ts';
import { ApplicationAuditLogService } from './audit-log.service.ts';
import { PublicAddressesService } from './public-addresses.service.ts';

/** Applications as their owners and the operator see them. */
@Module({
  // Guards of the controllers. The operator's command imports only this module, so it must bring
  // them.
  imports: [AuthModule],
  controllers: [ApplicationsController, ApplicationAuditLogController],
  providers: [ApplicationsService, ApplicationAuditLogService, PublicAddressesService],
  exports: [ApplicationsService],
})
export class ApplicationsModule {}
