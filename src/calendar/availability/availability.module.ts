import { Module } from '@nestjs/common';
import { AvailabilityController } from './availability.controller.ts';
import { AvailabilityService } from './availability.service.ts';
import { BusyPeople } from './busy-people.ts';
import { BusyRepository } from './busy.repository.ts';

/** Computes when people are available, from the mirror of their calendars. */
@Module({
  controllers: [AvailabilityController],
  providers: [AvailabilityService, BusyPeople, BusyRepository],
})
export class AvailabilityModule {}
