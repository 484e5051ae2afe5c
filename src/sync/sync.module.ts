import { Module } from '@nestjs/common';
import { AccountListeners } from '../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../accounts/grants/grants.module.ts';
import { PushModule } from '../accounts/push/push.module.ts';
import { CalendarsModule } from '../calendar/calendars/calendars.module.ts';
import { EventsModule } from '../calendar/events/events.module.ts';
import { NotificationsModule } from '../calendar/notifications/notifications.module.ts';
import { RsvpModule } from '../calendar/rsvp/rsvp.module.ts';
import { ProvidersModule } from '../providers/providers.module.ts';
import { TrackingModule } from '../mail/tracking/tracking.module.ts';
import { ListedContentsModule } from '../mail/listed-contents/listed-contents.module.ts';
import { OutboxModule } from '../mail/outbox/outbox.module.ts';
import { BatchStore } from './batch-store.ts';
import { CalendarSync } from './calendar-sync.ts';
import { CollectionAudit } from './collection-audit.ts';
import { CollectionPasses } from './collection-passes.ts';
import { ContactSync } from './contact-sync.ts';
import { ContentStore } from './content-store.ts';
import { EditedContents } from './edited-contents.ts';
import { EventSync } from './event-sync.ts';
import { FailedMessages } from './failed-messages.ts';
import { FolderMirror } from './folder-mirror.ts';
import { ListedMessages } from './listed-messages.ts';
import { MailboxSyncDispatcher } from './mailbox-sync-dispatcher.ts';
import { MailboxSync } from './mailbox-sync.ts';
import { MessageReader } from './message-reader.ts';
import { ParsingModule } from '../mail/parsing/parsing.module.ts';
import { MirrorRepository, SYNC_OF_ACCOUNT } from './mirror.repository.ts';
import { MirrorAudit } from './mirror-audit.ts';
import { MirrorRepairs } from './mirror-repairs.ts';
import { RequestedContents } from './requested-contents.ts';
import { SentMessages } from './sent-messages.ts';
import { MailboxWatches } from './mailbox-watches.ts';
import { SyncWaker } from './sync-waker.ts';
import { WatchLeases } from './watch-leases.ts';

/** Keeps the mirrors of mailboxes, calendars and address books up to date. */
@Module({
  imports: [
    CalendarsModule,
    EventsModule,
    GrantsModule,
    ListedContentsModule,
    NotificationsModule,
    OutboxModule,
    ParsingModule,
    ProvidersModule,
    PushModule,
    RsvpModule,
    TrackingModule,
  ],
  providers: [
    MirrorRepository,
    FolderMirror,
    BatchStore,
    MessageReader,
    ContentStore,
    EditedContents,
    FailedMessages,
    ListedMessages,
    RequestedContents,
    SentMessages,
    MailboxSync,
    EventSync,
    CalendarSync,
    CollectionAudit,
    CollectionPasses,
    ContactSync,
    MailboxSyncDispatcher,
    SyncWaker,
    WatchLeases,
    MailboxWatches,
    MirrorAudit,
    MirrorRepairs,
  ],
  exports: [MailboxSyncDispatcher],
})
export class SyncModule {
  constructor(accounts: AccountListeners) {
    accounts.add(SYNC_OF_ACCOUNT);
  }
}
