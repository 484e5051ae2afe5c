import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { CalendarsModule } from '../calendars/calendars.module.ts';
import { MessageEventsModule } from '../../mail/message-events/message-events.module.ts';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { EventIcsController } from './ics/event-ics.controller.ts';
import { EventIcsService } from './ics/event-ics.service.ts';
import { EventFollowUp } from './writes/event-follow-up.ts';
import { EventRestorer } from './write-back/event-restorer.ts';
import { EventWriteHandlers } from './write-back/event-write-handlers.ts';
import { EventsOfCalendar } from './calendar-changes/events-of-calendar.ts';
import { EventsOfMessages } from './mailed/events-of-messages.ts';
import { EventReader } from './event-reader.ts';
import { EventViews } from './event-views.ts';
import { EventsController } from './events.controller.ts';
import { EVENTS_OF_ACCOUNT, EventsRepository } from './events.repository.ts';
import { EventsService } from './events.service.ts';
import { ExpandedEvents } from './instances/expanded-events.ts';
import { RefusedEventWrites } from './write-back/refused-event-writes.ts';

/**
 * Events: the API over them, their table and its mirror of the providers' calendars, their series
 * and calendar files. The modules of reminders, invitations and meetings are above this one and
 * implement its ports (`ports/`, ADR 0105).
 */
@Module({
  imports: [
    CalendarsModule,
    GrantsModule,
    MessageEventsModule,
    ProvidersModule,
    ProviderWritesModule,
  ],
  // `to-ics` must be registered before the route with `:id`.
  controllers: [EventIcsController, EventsController],
  providers: [
    EventIcsService,
    EventReader,
    EventsRepository,
    EventsService,
    ExpandedEvents,
    EventFollowUp,
    EventRestorer,
    EventViews,
    EventWriteHandlers,
    EventsOfCalendar,
    EventsOfMessages,
    RefusedEventWrites,
  ],
  exports: [EventReader, EventRestorer, EventViews],
})
export class EventsModule {
  constructor(accounts: AccountListeners) {
    accounts.add(EVENTS_OF_ACCOUNT);
  }
}
