import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { EventReader } from './event-reader.ts';
import { EVENTS_OF_ACCOUNT, EventsRepository } from './events.repository.ts';
import { ExpandedEvents } from './instances/expanded-events.ts';

/**
 * Reads and writes the table of events, expands series into instances, and converts events to and
 * from calendar files.
 */
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
