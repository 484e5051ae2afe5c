import { Module } from '@nestjs/common';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { CalendarListeners } from './calendar-listeners.ts';
import { CalendarWrites } from './calendar-writes.ts';
import { CalendarsController } from './calendars.controller.ts';
import { CalendarsRepository } from './calendars.repository.ts';
import { CalendarsService } from './calendars.service.ts';

@Module({
  imports: [ProvidersModule, ProviderWritesModule],
  controllers: [CalendarsController],
  providers: [CalendarsRepository, CalendarsService, CalendarListeners, CalendarWrites],
  exports: [CalendarListeners, CalendarsService],
})
export class CalendarsModule {}
