import { Module } from '@nestjs/common';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { OutboxModule } from '../../mail/outbox/outbox.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { OutgoingModule } from '../../mail/composing/outgoing.module.ts';
import { EventStoreModule } from '../events/event-store.module.ts';
import { InvitationReleases } from './invitation-releases.ts';
import { InvitationsController } from './invitations.controller.ts';
import { InvitationsRepository } from './invitations.repository.ts';
import { Invitations } from './invitations.service.ts';
import { SchedulingMails } from './scheduling-mails.ts';

/** Mails to the participants of events. */
@Module({
  imports: [EventStoreModule, OutboxModule, OutgoingModule, ProvidersModule, ProviderWritesModule],
  controllers: [InvitationsController],
  providers: [InvitationsRepository, Invitations, InvitationReleases, SchedulingMails],
  exports: [Invitations, SchedulingMails],
})
export class InvitationsModule {}
