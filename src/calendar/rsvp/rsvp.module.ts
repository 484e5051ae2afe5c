import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { EventsModule } from '../events/events.module.ts';
import { InvitationsModule } from '../invitations/invitations.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { NotificationsModule } from '../notifications/notifications.module.ts';
import { MEETINGS_OF_ACCOUNT } from './meeting-states.sql.ts';
import { MailedInvitations } from './mailed-invitations.ts';
import { RsvpController } from './rsvp.controller.ts';
import { RsvpService } from './rsvp.service.ts';

/** Answers invitations, and applies invitations and answers that arrive by mail. */
@Module({
  imports: [GrantsModule, EventsModule, InvitationsModule, NotificationsModule, ProvidersModule],
  controllers: [RsvpController],
  providers: [MailedInvitations, RsvpService],
  exports: [MailedInvitations],
})
export class RsvpModule {
  constructor(accounts: AccountListeners) {
    accounts.add(MEETINGS_OF_ACCOUNT);
  }
}
