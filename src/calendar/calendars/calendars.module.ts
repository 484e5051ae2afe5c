import { Module } from '@nestjs/common';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { CalendarListeners } from './calendar-listeners.ts';
import { CalendarsOfAccount } from './calendars-of-account.ts';
import { CalendarServers } from './calendar-servers.ts';
import { CalendarWriteHandlers } from './calendar-write-handlers.ts';
import { CalendarsController } from './calendars.controller.ts';
import { CalendarsRepository } from './calendars.repository.ts';
import { CalendarsService } from './calendars.service.ts';
import { RefusedCalendarWrites } from './refused-calendar-writes.ts';

@Module({
  imports: [GrantsModule, ProvidersModule, ProviderWritesModule],
  controllers: [CalendarsController],
  providers: [
    CalendarsRepository,
    CalendarsService,
    CalendarListeners,
    CalendarServers,
    CalendarsOfAccount,
    CalendarWriteHandlers,
    RefusedCalendarWrites,
  ],
  exports: [CalendarListeners, CalendarServers, CalendarsService],
})
export class CalendarsModule {}
