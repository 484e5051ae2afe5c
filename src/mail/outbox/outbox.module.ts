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
import { DirectSends } from './accept/direct-sends.ts';
import { OutboxIntake } from './accept/outbox-intake.ts';
import { OutboxPlanner } from './accept/outbox-planner.ts';
import { OutboxPreparation } from './accept/outbox-preparation.ts';
import { OutboxController } from './outbox.controller.ts';
import { OutboxRepository } from './outbox.repository.ts';
import { OutboxRequests } from './accept/outbox-requests.ts';
import { OutboxService } from './outbox.service.ts';
import { SendDispatcher } from './send/send-dispatcher.ts';
import { UnknownOutcomes } from './send/unknown-outcomes.ts';
import { MessageSender } from './send/send-message.ts';
import { SendRoutes } from './send/send-routes.ts';
import { SentCopies } from './record/sent-copies.ts';
import { SentMirror } from './record/sent-mirror.ts';
import { SENDS_FOR_RELAY } from './steer/sends-for-relay.ts';
import { SENDS_OF_ACCOUNT } from './steer/sends-of-account.ts';

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
