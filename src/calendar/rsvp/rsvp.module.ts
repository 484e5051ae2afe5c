import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module.ts';
import { InvitationsModule } from '../invitations/invitations.module.ts';
import { NotificationsModule } from '../notifications/notifications.module.ts';
import { RsvpController } from './rsvp.controller.ts';
import { RsvpService } from './rsvp.service.ts';

/** Answers to invitations; what comes in by mail is followed by the mirror (`MailedInvitations`). */
@Module({
  imports: [EventsModule, InvitationsModule, NotificationsModule],
  controllers: [RsvpController],
  providers: [RsvpService],
})
export class RsvpModule {}
