import { Module } from '@nestjs/common';
import { GrantsModule } from '../grants/grants.module.ts';
import { ProvidersModule } from '../providers/providers.module.ts';
import { OutboxController } from './outbox.controller.ts';
import { OutboxRepository } from './outbox.repository.ts';
import { OutboxService } from './outbox.service.ts';
import { SendDispatcher } from './send-dispatcher.ts';

@Module({
  imports: [GrantsModule, ProvidersModule],
  controllers: [OutboxController],
  providers: [OutboxRepository, OutboxService, SendDispatcher],
  exports: [OutboxService, SendDispatcher],
})
export class OutboxModule {}
