import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { EventReader } from './event-reader.ts';
import { EVENTS_OF_ACCOUNT, EventsRepository } from './events.repository.ts';
import { ExpandedEvents } from './expanded-events.ts';

/** The table of events: what is read of it and written to it, series with their instances, and files of events. */
@Module({
  imports: [GrantsModule],
  providers: [EventReader, EventsRepository, ExpandedEvents],
  exports: [EventReader],
})
export class EventStoreModule {
  constructor(accounts: AccountListeners) {
    accounts.add(EVENTS_OF_ACCOUNT);
  }
}
