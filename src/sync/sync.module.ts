import { Module } from '@nestjs/common';
import { AccountListeners } from '../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../accounts/grants/grants.module.ts';
import { NotificationsModule } from '../calendar/notifications/notifications.module.ts';
import { ProvidersModule } from '../providers/providers.module.ts';
import { MailedInvitations } from '../calendar/rsvp/mailed-invitations.ts';
import { TrackingModule } from '../mail/tracking/tracking.module.ts';
import { BatchStore } from './batch-store.ts';
import { CalendarMirrorRepository } from './calendar-mirror.repository.ts';
import { CalendarSync } from './calendar-sync.ts';
import { ContactMirrorRepository } from './contact-mirror.repository.ts';
import { ContactSync } from './contact-sync.ts';
import { EventMirrorRepository } from './event-mirror.repository.ts';
import { EventSync } from './event-sync.ts';
import { FolderMirror } from './folder-mirror.ts';
import { MailboxSyncDispatcher } from './mailbox-sync-dispatcher.ts';
import { MailboxSync } from './mailbox-sync.ts';
import { ParsingModule } from '../mail/parsing/parsing.module.ts';
import { MirrorRepository, SYNC_OF_ACCOUNT } from './mirror.repository.ts';
import { MailboxWatches } from './mailbox-watches.ts';
import { SyncWaker } from './sync-waker.ts';
import { WatchLeases } from './watch-leases.ts';

/** Keeps the mirrors of mailboxes, calendars and address books current. */
@Module({
  imports: [GrantsModule, NotificationsModule, ParsingModule, ProvidersModule, TrackingModule],
  providers: [
    MirrorRepository,
    FolderMirror,
    BatchStore,
    MailedInvitations,
    MailboxSync,
    CalendarMirrorRepository,
    EventMirrorRepository,
    EventSync,
    CalendarSync,
    ContactMirrorRepository,
    ContactSync,
    MailboxSyncDispatcher,
    SyncWaker,
    WatchLeases,
    MailboxWatches,
  ],
  exports: [MailboxSyncDispatcher],
})
export class SyncModule {
  constructor(accounts: AccountListeners) {
    accounts.add(SYNC_OF_ACCOUNT);
  }
}
