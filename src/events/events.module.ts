import { Module } from '@nestjs/common';
import { CalendarsModule } from '../calendars/calendars.module.ts';
import { ProviderWritesModule } from '../job-statuses/provider-writes.module.ts';
import { NotificationsModule } from '../notifications/notifications.module.ts';
import { ProvidersModule } from '../providers/providers.module.ts';
import { EventWrites } from './event-writes.ts';
import { EventsOfCalendar } from './events-of-calendar.ts';
import { EventsController } from './events.controller.ts';
import { EventsRepository } from './events.repository.ts';
import { EventsService } from './events.service.ts';

@Module({
  imports: [CalendarsModule, NotificationsModule, ProvidersModule, ProviderWritesModule],
  controllers: [EventsController],
  providers: [EventsRepository, EventsService, EventWrites, EventsOfCalendar],
})
export class EventsModule {}
