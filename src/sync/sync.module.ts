import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/account-management/accounts.module.ts';
import { CompletenessController } from './completeness/completeness.controller.ts';
import { CompletenessService } from './completeness/completeness.service.ts';
import { AccountListeners } from '../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../accounts/grants/grants.module.ts';
import { PushModule } from '../accounts/push/push.module.ts';
import { CalendarsModule } from '../calendar/calendars/calendars.module.ts';
import { EventsModule } from '../calendar/events/events.module.ts';
import { NotificationsModule } from '../calendar/notifications/notifications.module.ts';
import { RsvpModule } from '../calendar/rsvp/rsvp.module.ts';
import { ProvidersModule } from '../providers/providers.module.ts';
import { BodyObjectsModule } from '../mail/messages/objects/body-objects.module.ts';
import { TrackingModule } from '../mail/tracking/tracking.module.ts';
import { ListedContentsModule } from '../mail/listed-contents/listed-contents.module.ts';
import { OutboxModule } from '../mail/outbox/outbox.module.ts';
import { BatchStore } from './messages/batch-store.ts';
import { CalendarSync } from './collections/calendar-sync.ts';
import { CollectionAudit } from './audit/collection-audit.ts';
import { CollectionPasses } from './collections/collection-passes.ts';
import { ContactSync } from './collections/contact-sync.ts';
import { ContentStore } from './messages/content-store.ts';
import { EditedContents } from './messages/edited-contents.ts';
import { EventSync } from './collections/event-sync.ts';
import { FailedMessages } from './failures/failed-messages.ts';
import { FolderMirror } from './folders/folder-mirror.ts';
import { ListedMessages } from './messages/listed-messages.ts';
import { MailboxSyncDispatcher } from './mailbox-sync-dispatcher.ts';
import { MailboxSync } from './mailbox-sync.ts';
import { MessageReader } from './messages/message-reader.ts';
import { ParsingModule } from '../mail/parsing/parsing.module.ts';
import { MirrorRepository, SYNC_OF_ACCOUNT } from './mirror.repository.ts';
import { MirrorAudit } from './audit/mirror-audit.ts';
import { MirrorRepairs } from './audit/mirror-repairs.ts';
import { RequestedContents } from './messages/requested-contents.ts';
import { SentMessages } from './messages/sent-messages.ts';
import { MailboxWatches } from './watches/mailbox-watches.ts';
import { SyncWaker } from './sync-waker.ts';
import { WatchLeases } from './watches/watch-leases.ts';

/** Keeps the mirrors of mailboxes, calendars and address books up to date. */
@Module({
  imports: [
    AccountsModule,
    BodyObjectsModule,
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
  controllers: [CompletenessController],
  providers: [
    CompletenessService,
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
  exports: [CompletenessService, MailboxSyncDispatcher],
})
export class SyncModule {
  constructor(accounts: AccountListeners) {
    accounts.add(SYNC_OF_ACCOUNT);
  }
}
