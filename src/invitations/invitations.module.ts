import { Module } from '@nestjs/common';
import { ProviderWritesModule } from '../job-statuses/provider-writes.module.ts';
import { OutboxModule } from '../outbox/outbox.module.ts';
import { ProvidersModule } from '../providers/providers.module.ts';
import { OutgoingModule } from '../send/outgoing.module.ts';
import { InvitationReleases } from './invitation-releases.ts';
import { InvitationsRepository } from './invitations.repository.ts';
import { Invitations } from './invitations.service.ts';
import { SchedulingMails } from './scheduling-mails.ts';

/** Mails to those who take part in events. */
@Module({
  imports: [OutboxModule, OutgoingModule, ProvidersModule, ProviderWritesModule],
  providers: [InvitationsRepository, Invitations, InvitationReleases, SchedulingMails],
  exports: [Invitations, SchedulingMails],
})
export class InvitationsModule {}
