import { Module } from '@nestjs/common';
import { FilesModule } from '../files/files.module.ts';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { IdempotencyModule } from '../../platform/idempotency/idempotency.module.ts';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { RelayListeners } from '../relay/relay-listeners.ts';
import { RelayModule } from '../relay/relay.module.ts';
import { OutgoingModule } from '../composing/outgoing.module.ts';
import { DirectSends } from './direct-sends.ts';
import { OutboxIntake } from './outbox-intake.ts';
import { OutboxPlanner } from './outbox-planner.ts';
import { OutboxPreparation } from './outbox-preparation.ts';
import { OutboxController } from './outbox.controller.ts';
import { OutboxRepository } from './outbox.repository.ts';
import { OutboxRequests } from './outbox-requests.ts';
import { OutboxService } from './outbox.service.ts';
import { PausedSends } from './paused-sends.service.ts';
import { SendDispatcher } from './send-dispatcher.ts';
import { UnknownOutcomes } from './unknown-outcomes.ts';
import { MessageSender } from './send-message.ts';
import { SendRoutes } from './send-routes.ts';
import { SentCopies } from './sent-copies.ts';
import { SentMirror } from './sent-mirror.ts';
import { SENDS_FOR_RELAY } from './sends-for-relay.ts';
import { SENDS_OF_ACCOUNT } from './sends-of-account.ts';

@Module({
  imports: [
    FilesModule,
    GrantsModule,
    IdempotencyModule,
    OutgoingModule,
    ProvidersModule,
    ProviderWritesModule,
    RelayModule,
  ],
  controllers: [OutboxController],
  providers: [
    DirectSends,
    OutboxIntake,
    OutboxPlanner,
    OutboxPreparation,
    OutboxRepository,
    OutboxRequests,
    OutboxService,
    MessageSender,
    PausedSends,
    SendDispatcher,
    UnknownOutcomes,
    SendRoutes,
    SentCopies,
    SentMirror,
  ],
  exports: [DirectSends, OutboxRequests, OutboxService, SendDispatcher, SentMirror],
})
export class OutboxModule {
  constructor(accounts: AccountListeners, relays: RelayListeners) {
    accounts.add(SENDS_OF_ACCOUNT);
    relays.add(SENDS_FOR_RELAY);
  }
}
