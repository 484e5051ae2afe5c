import { Module } from '@nestjs/common';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { AvailabilityController } from './availability.controller.ts';
import { AvailabilityService } from './availability.service.ts';
import { BusyPeople } from './busy-people.ts';
import { BusyRepository } from './busy.repository.ts';
import { RemoteBusy } from './remote-busy.ts';

/** Computes when people are available, from the mirror of their calendars. */
@Module({
  controllers: [AvailabilityController],
  imports: [GrantsModule, ProvidersModule],
  providers: [AvailabilityService, BusyPeople, BusyRepository, RemoteBusy],
})
export class AvailabilityModule {}
