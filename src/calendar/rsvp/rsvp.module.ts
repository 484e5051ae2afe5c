import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { EventStoreModule } from '../event-store/event-store.module.ts';
import { InvitationsModule } from '../invitations/invitations.module.ts';
import { NotificationsModule } from '../notifications/notifications.module.ts';
import { MEETINGS_OF_ACCOUNT } from './meetings.sql.ts';
import { RsvpController } from './rsvp.controller.ts';
import { RsvpService } from './rsvp.service.ts';

/** Answers to invitations; what comes in by mail is followed by the mirror (`MailedInvitations`). */
@Module({
  imports: [GrantsModule, EventStoreModule, InvitationsModule, NotificationsModule],
  controllers: [RsvpController],
  providers: [RsvpService],
})
export class RsvpModule {
  constructor(accounts: AccountListeners) {
    accounts.add(MEETINGS_OF_ACCOUNT);
  }
}
