import { Module } from '@nestjs/common';
import { GrantsModule } from '../grants/grants.module.ts';
import { ProvidersModule } from '../providers/providers.module.ts';
import { CalendarSync } from './calendar-sync.ts';
import { MailboxSyncDispatcher } from './mailbox-sync-dispatcher.ts';
import { MailboxSync } from './mailbox-sync.ts';
import { MirrorRepository } from './mirror.repository.ts';
import { SyncWaker } from './sync-waker.ts';

/** Keeps the mirrors of mailboxes and calendars current. */
@Module({
  imports: [GrantsModule, ProvidersModule],
  providers: [MirrorRepository, MailboxSync, CalendarSync, MailboxSyncDispatcher, SyncWaker],
  exports: [MailboxSyncDispatcher],
})
export class SyncModule {}
