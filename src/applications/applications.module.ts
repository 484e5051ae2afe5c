import { Module } from '@nestjs/common';
import { ApplicationsController } from './applications.controller.ts';
import { ApplicationsService } from './applications.service.ts';
import { PublicAddressesService } from './public-addresses.service.ts';

/** Applications as their owners and the operator see them. */
@Module({
  controllers: [ApplicationsController],
  providers: [ApplicationsService, PublicAddressesService],
  exports: [ApplicationsService],
})
export class ApplicationsModule {}
