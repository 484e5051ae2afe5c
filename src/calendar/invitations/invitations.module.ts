import { Global, Module } from '@nestjs/common';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { OutboxModule } from '../../mail/outbox/outbox.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { OutgoingModule } from '../../mail/composing/outgoing.module.ts';
import { EventsModule } from '../events/events.module.ts';
import { EventInvitations } from '../events/ports/event-invitations.ts';
import { InvitationReleases } from './invitation-releases.ts';
import { InvitationsController } from './invitations.controller.ts';
import { InvitationsRepository } from './invitations.repository.ts';
import { InvitationsService } from './invitations.service.ts';
import { SchedulingMails } from './scheduling-mails.ts';

/**
 * Mails to the participants of events. Global, because it imports `EventsModule` and provides
 * `EventInvitations` to it (ADR 0105).
 */
@Global()
@Module({
  imports: [EventsModule, OutboxModule, OutgoingModule, ProvidersModule, ProviderWritesModule],
  controllers: [InvitationsController],
  providers: [
    InvitationsRepository,
    InvitationsService,
    { provide: EventInvitations, useExisting: InvitationsService },
    InvitationReleases,
    SchedulingMails,
  ],
  exports: [EventInvitations, InvitationsService, SchedulingMails],
})
export class InvitationsModule {}
