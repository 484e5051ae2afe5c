import { Module } from '@nestjs/common';
import { CalendarsModule } from '../calendars/calendars.module.ts';
import { ConferencingModule } from '../conferencing/conferencing.module.ts';
import { EventStoreModule } from './event-store.module.ts';
import { InvitationsModule } from '../invitations/invitations.module.ts';
import { MessageEventsModule } from '../../mail/message-events/message-events.module.ts';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { NotificationsModule } from '../notifications/notifications.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { EventIcsController } from './ics/event-ics.controller.ts';
import { EventIcsService } from './ics/event-ics.service.ts';
import { EventFollowUp } from './writes/event-follow-up.ts';
import { EventRestorer } from './write-back/event-restorer.ts';
import { EventWriteHandlers } from './write-back/event-write-handlers.ts';
import { EventsOfCalendar } from './calendar-changes/events-of-calendar.ts';
import { EventsOfMessages } from './mailed/events-of-messages.ts';
import { EventsController } from './events.controller.ts';
import { EventsService } from './events.service.ts';
import { RefusedEventWrites } from './write-back/refused-event-writes.ts';

@Module({
  imports: [
    CalendarsModule,
    ConferencingModule,
    EventStoreModule,
    InvitationsModule,
    MessageEventsModule,
    NotificationsModule,
    ProvidersModule,
    ProviderWritesModule,
  ],
  // `to-ics` must be registered before the route with `:id`.
  controllers: [EventIcsController, EventsController],
  providers: [
    EventIcsService,
    EventsService,
    EventFollowUp,
    EventRestorer,
    EventWriteHandlers,
    EventsOfCalendar,
    EventsOfMessages,
    RefusedEventWrites,
  ],
  exports: [EventRestorer],
})
export class EventsModule {}
