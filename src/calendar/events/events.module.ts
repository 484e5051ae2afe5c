import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { CalendarsModule } from '../calendars/calendars.module.ts';
import { ConferencingModule } from '../conferencing/conferencing.module.ts';
import { InvitationsModule } from '../invitations/invitations.module.ts';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { NotificationsModule } from '../notifications/notifications.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { EventIcsController } from './ics/event-ics.controller.ts';
import { EventIcsService } from './ics/event-ics.service.ts';
import { EventWriter } from './event-writer.ts';
import { EventWrites } from './event-writes.ts';
import { EventsOfCalendar } from './events-of-calendar.ts';
import { ExpandedEvents } from './expanded-events.ts';
import { EventsController } from './events.controller.ts';
import { EVENTS_OF_ACCOUNT, EventsRepository } from './events.repository.ts';
import { EventsService } from './events.service.ts';

@Module({
  imports: [
    GrantsModule,
    CalendarsModule,
    ConferencingModule,
    InvitationsModule,
    NotificationsModule,
    ProvidersModule,
    ProviderWritesModule,
  ],
  // `to-ics` before `:id`.
  controllers: [EventIcsController, EventsController],
  providers: [
    EventIcsService,
    EventsRepository,
    EventsService,
    ExpandedEvents,
    EventWriter,
    EventWrites,
    EventsOfCalendar,
  ],
  exports: [EventsService],
})
export class EventsModule {
  constructor(accounts: AccountListeners) {
    accounts.add(EVENTS_OF_ACCOUNT);
  }
}
