import { Module } from '@nestjs/common';
import { GrantsModule } from '../grants/grants.module.ts';
import { IdempotencyModule } from '../idempotency/idempotency.module.ts';
import { ProvidersModule } from '../providers/providers.module.ts';
import { RelayModule } from '../relay/relay.module.ts';
import { OutboxIntake } from './outbox-intake.ts';
import { OutboxPlanner } from './outbox-planner.ts';
import { OutboxPreparation } from './outbox-preparation.ts';
import { OutboxController } from './outbox.controller.ts';
import { OutboxRepository } from './outbox.repository.ts';
import { OutboxService } from './outbox.service.ts';
import { SendDispatcher } from './send-dispatcher.ts';
import { SendDoubts } from './send-doubts.ts';
import { SendWays } from './send-ways.ts';
import { StoredMessages } from './stored-messages.ts';

@Module({
  imports: [GrantsModule, IdempotencyModule, ProvidersModule, RelayModule],
  controllers: [OutboxController],
  providers: [
    OutboxIntake,
    OutboxPlanner,
    OutboxPreparation,
    OutboxRepository,
    OutboxService,
    SendDispatcher,
    SendDoubts,
    SendWays,
    StoredMessages,
  ],
  exports: [OutboxService, SendDispatcher],
})
export class OutboxModule {}
